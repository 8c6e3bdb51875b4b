"""Each built-in rule fires when its condition really comes to be, and is over when it is not so any more."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from alerts_kit import Looking, sink
from penstock import Context, Penstock, Retry, Unrecoverable
from penstock.alerts.rules import BUILT_IN
from penstock.engine import DeadFilter, ScheduleRow, Settlement, Want, WorkerInfo
from penstock.model.breaker import Breaker, Circuit
from penstock.model.clock import FakeClock
from penstock.model.decide import judge
from penstock.model.failure import BY_CODE
from penstock.model.job import Edge, NewJob, Ties
from penstock.model.outcome import COMPLETED
from penstock.runtime.account import Account
from penstock.runtime.announce import announce
from penstock.runtime.sweeper import Sweeper
from penstock.tasks.ids import new_id


class Broken(Exception):
    code = "SYSTEM_FAILURE"


class Stumble(Exception):
    @property
    def code(self) -> str:
        return str(self.args[0])


@pytest.fixture
async def looking(tmp_path: Path) -> AsyncIterator[Looking]:
    clock = FakeClock()
    app = Penstock("sqlite://:memory:", clock=clock, outbox=f"sqlite:///{tmp_path / 'shop.db'}")
    app.queue("email")

    @app.task(queue="email", timeout=100)
    async def send() -> None: ...

    @app.task(queue="email")
    async def fail(how: str) -> None:
        raise Broken("no disk") if how == "badly" else Unrecoverable("no order")

    @app.task(queue="email", retry=Retry.fixed(3, 60))
    async def stumble(failure_class: str) -> None:
        raise Stumble(failure_class)

    @app.task(queue="email", timeout=0.01, retry=Retry.none())
    async def overrun() -> None:
        await asyncio.sleep(60)

    @app.task
    async def nightly(ctx: Context) -> None: ...

    async with app, sink() as place:
        yield Looking(app, place, clock)


async def worker(looking: Looking, name: str, ttl: float = 30.0) -> None:
    await looking.app.engine.register(WorkerInfo(id=name, name=name, queues=("email",), slots=5), ttl)


async def claim(looking: Looking, name: str) -> Settlement:
    known = looking.app.registry.fingerprints()
    want = Want(name, new_id(), {"email": 1}, 1, known, 1)
    (claimed,) = (await looking.app.engine.claim(want)).claims
    return Settlement(claimed.id, claimed.token, COMPLETED)


async def drain(looking: Looking) -> None:
    await looking.app.worker().run(burst=True)


async def test_a_flooded_queue(looking: Looking) -> None:
    send = looking.app.tasks["send"]
    await worker(looking, "w", 10**6)
    await looking.app.aenqueue_many([send.call() for _ in range(1_000)])
    assert await looking.look() == []  # thresholds mean "greater than"
    await send.aenqueue()
    assert await looking.look(15) == [
        "[warning] Queue email depth high: 1001 jobs waiting (queue_depth_high)"
    ]
    assert await looking.look(15) == []
    await drain(looking)
    (over,) = await looking.until_over()
    assert over.startswith(
        "[resolved] Queue email depth high: 1001 jobs waiting (queue_depth_high, since 2026"
    )


async def test_an_error_rate(looking: Looking) -> None:
    looking.over("alerts: {job_failures: off}")
    send, fail = looking.app.tasks["send"], looking.app.tasks["fail"]
    await looking.app.aenqueue_many([send.call() for _ in range(19)] + [fail.call(how="plainly")])
    await drain(looking)
    assert await looking.look() == []  # 5 % are not more than 5 %
    await fail.aenqueue(how="plainly")
    await drain(looking)
    assert await looking.look(5) == ["[critical] Queue email error rate: 9.52% (error_rate_high)"]
    assert [line[:10] for line in await looking.until_over()] == ["[resolved]"]


async def test_many_dead_letters(looking: Looking) -> None:
    fail = looking.app.tasks["fail"]
    await looking.app.aenqueue_many([fail.call(how="badly") for _ in range(101)])
    await drain(looking)
    assert await looking.look() == [
        "[critical] Queue email error rate: 100% (error_rate_high)",
        "[critical] Runs of fail in email failed: 101 in the last minute (system_failure) (job_failures)",
        "[warning] Dead letter queue size: 101 (dlq_threshold)",
    ]
    assert len(looking.sink.calls) == 1  # together
    async for _ in looking.app.ops.recover_all(DeadFilter(), rate=1_000):
        pass
    over = await looking.until_over()
    assert any(line.startswith("[resolved] Dead letter queue size") for line in over)


async def test_a_worker_that_is_gone(looking: Looking) -> None:
    await looking.app.tasks["send"].aenqueue()
    await worker(looking, "first")
    assert await looking.look() == []
    assert await looking.look(31) == ["[critical] Worker down: email (0/1) (worker_down)"]
    await worker(looking, "second", 10**6)
    assert [line[:34] for line in await looking.until_over()] == ["[resolved] Worker down: email (0/1"]


async def test_fewer_workers_than_are_expected(looking: Looking) -> None:
    looking.over("queues: {email: {expected_workers: 2}}")
    await worker(looking, "first", 10**6)
    assert await looking.look() == ["[critical] Worker down: email (1/2) (worker_down)"]


async def test_a_job_whose_worker_is_gone_is_stalled_after_five_minutes(looking: Looking) -> None:
    looking.over("group_every: 0")
    await looking.app.tasks["send"].aenqueue()
    await worker(looking, "first", 40)
    await claim(looking, "first")
    assert await looking.look(39) == []
    await looking.look(10)
    assert not any("Stalled" in line for line in await looking.look(299))
    assert "[warning] Stalled jobs detected in email: 1 (stalled_jobs)" in await looking.look(2)
    assert await looking.app.engine.rescue(10, judge)
    assert any("[resolved] Stalled" in line for line in await looking.until_over())


async def test_a_job_that_nears_its_timeout(looking: Looking) -> None:
    job = await looking.app.tasks["send"].aenqueue()
    await worker(looking, "first", 10**6)
    end = await claim(looking, "first")
    assert await looking.look(80) == []
    assert await looking.look(2) == ["[warning] Job send running for 82s (timeout: 100s) (job_timeout)"]
    assert looking.sink.calls[-1].json["alerts"][0]["subject"] == job.id
    await looking.app.engine.settle([end])
    assert [line[:10] for line in await looking.until_over()] == ["[resolved]"]


async def test_a_timeout_that_was_enforced(looking: Looking) -> None:
    looking.over("alerts: {job_failures: off, error_rate_high: off}")
    await looking.app.tasks["overrun"].aenqueue()
    await drain(looking)
    assert await looking.look() == [
        "[warning] Job overrun in email was stopped by its timeout: 1 in the last minute (job_timed_out)"
    ]
    assert [line[:10] for line in await looking.until_over()] == ["[resolved]"]


async def test_a_failure_is_told_as_loud_as_its_class_and_louder_when_a_worse_one_comes(
    looking: Looking,
) -> None:
    looking.over("alerts: {error_rate_high: off}")
    fail = looking.app.tasks["fail"]
    await fail.aenqueue(how="plainly")
    await drain(looking)
    assert await looking.look() == [
        "[error] Runs of fail in email failed: 1 in the last minute (logic_error) (job_failures)"
    ]
    await fail.aenqueue(how="badly")
    await drain(looking)
    assert await looking.look(31) == [
        "[critical] Runs of fail in email failed: 2 in the last minute (system_failure) (job_failures)"
    ]
    assert [line[:10] for line in await looking.until_over()] == ["[resolved]"]


@pytest.mark.parametrize(
    ("code", "told"),
    [("RATE_LIMITED", "[warning] "), ("RESOURCE_UNAVAILABLE", "[critical] "), ("ECONNRESET", None)],
)
async def test_a_failed_run_that_is_tried_again_is_told_by_its_class(
    looking: Looking, code: str, told: str | None
) -> None:
    await looking.app.tasks["stumble"].aenqueue(failure_class=code)
    await drain(looking)
    lines = await looking.look()
    expected = f"Runs of stumble in email failed: 1 in the last minute ({BY_CODE[code]}) (job_failures)"
    assert lines == ([] if told is None else [told + expected])


async def test_what_failed_while_nobody_watched_is_told_all_the_same(looking: Looking) -> None:
    await looking.look()
    await looking.app.tasks["fail"].aenqueue(how="plainly")
    await drain(looking)
    assert any("logic_error" in line for line in await looking.look(600))


async def test_a_schedule_that_does_not_fire(looking: Looking) -> None:
    app = looking.app
    app.schedule("nightly", app.tasks["nightly"], every=3_600)
    await announce(app.engine, app.registry)
    (row,) = await app.engine.schedules()
    assert isinstance(row, ScheduleRow)
    assert row.next_at is not None
    await looking.look((row.next_at - looking.clock.now()).total_seconds() + 60)
    assert looking.sink.calls == []
    assert await looking.look(1) == [
        "[critical] Schedule nightly did not fire: its tick is 61s late (schedule_not_fired)"
    ]
    await drain(looking)
    assert any("[resolved] Schedule nightly" in line for line in await looking.until_over())


async def test_a_task_that_no_worker_knows(looking: Looking) -> None:
    job = NewJob(new_id(), "email", "old.task")
    await looking.app.engine.enqueue([job._replace(key=job.id)])
    await drain(looking)
    await worker(looking, "w", 10**6)
    assert await looking.look() == [
        "[error] No worker knows task old.task of email, or not so: 1 jobs set aside (task_unknown)"
    ]
    await looking.app.engine.cancel([job.id], "not wanted")
    assert [line[:10] for line in await looking.until_over()] == ["[resolved]"]


async def test_an_outbox_that_nobody_empties(looking: Looking, tmp_path: Path) -> None:
    app = looking.app
    await app.outbox.apply()
    assert app.alerting is not None
    looking.alerting = type(looking.alerting)(
        channels=looking.alerting.channels, relay_lag=app.alerting.relay_lag
    )
    with sqlite3.connect(tmp_path / "shop.db") as database:
        app.tasks["send"].using(connection=database).enqueue()
    database.close()
    assert await looking.look(60) == []
    assert await looking.look(1) == [
        "[critical] Outbox: the oldest row has waited 61s for a relay (relay_lag_high)"
    ]
    await app.relay().run(burst=True)
    await worker(looking, "w", 10**6)
    assert any("[resolved] Outbox" in line for line in await looking.until_over())


async def test_a_job_that_was_skipped_since_what_it_waits_for_was_not_done_in_time(looking: Looking) -> None:
    engine, job_id = looking.app.engine, new_id()
    ties = Ties(after=(Edge(new_id(), "wait"),), deadline=10, at_deadline="skip")
    await engine.enqueue([NewJob(job_id, "email", "send", key=job_id, ties=ties)])
    looking.clock.advance(11)
    account = Account(engine)
    await Sweeper(engine, looking.app.worker_host().options, account).expire()
    await account.tell()
    assert await looking.look() == [
        "[error] Job send in email waited for others past its deadline: 1 lately (dependency_missed)"
    ]
    assert any("[resolved] Job send in email waited" in line for line in await looking.until_over())
    totals = {measure for sample in await engine.totals() for measure in sample.measures}
    assert "missed" in totals


async def test_a_breaker_that_is_open(looking: Looking) -> None:
    app = looking.app
    await app.engine.put_breakers([Breaker(name="smtp"), Breaker(name="maps")])
    await app.engine.set_breaker("smtp", Circuit.OPEN)
    assert await looking.look() == [
        "[error] Circuit breaker open, its jobs wait: smtp (breaker_open)",
    ]
    await app.engine.set_breaker("smtp", Circuit.CLOSED)
    assert any("[resolved] Circuit breaker open" in line for line in await looking.until_over())


def test_there_is_a_test_of_each() -> None:
    text = Path(__file__).read_text()
    assert [name for name in BUILT_IN if f"({name}" not in text] == []


async def test_a_job_that_the_engine_itself_ended_is_told_of(looking: Looking) -> None:
    """What waited for another beyond its deadline has no run that a worker could count."""
    engine, first, second = looking.app.engine, new_id(), new_id()
    ties = Ties(after=(Edge(first, "wait", has_come=False),), deadline=10, at_deadline="fail")
    await engine.enqueue([NewJob(second, "email", "send", key=second, ties=ties)])
    looking.clock.advance(11)
    assert len(await engine.expire(10)) == 1
    assert await looking.look() == [
        "[error] Runs of send in email failed: 1 in the last minute (upstream-missing) (job_failures)"
    ]


async def test_a_job_that_used_up_its_attempts_on_passing_errors_is_told_of(looking: Looking) -> None:
    looking.over("alerts: {error_rate_high: off}")
    await looking.app.tasks["stumble"].using(retry=Retry.none()).aenqueue(failure_class="ECONNRESET")
    await drain(looking)
    assert await looking.look() == [
        "[error] Runs of stumble in email failed: 1 in the last minute (transient) (job_failures)"
    ]
