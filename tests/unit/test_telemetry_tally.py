"""A worker counts each run once: when its end is accepted, and never twice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from pump_kit import ran_one
from runtime_kit import Flaky, expire, make_app, make_worker
from shop_kit import Shop, begin, open_shop  # noqa: F401 - fixtures

from penstock import Context, Penstock, Retry, Snooze, SyncContext
from penstock.engine import Sample
from penstock.model.decide import judge
from penstock.model.errors import EngineUnavailable, OutcomeUnknown
from penstock.model.histogram import BUCKETS
from penstock.model.outcome import COMPLETED, Cancelled, Failed, Outcome, Released, Retried, Snoozed
from penstock.runtime.account import Account
from penstock.telemetry.tally import Tally

NAMES = ("completed", "failed", "retried", "snoozed", "cancelled", "dead", "rescued", "lost", "timed_out")


def counts(samples: list[Sample]) -> dict[str, float]:
    """All that was counted, but for the times."""
    found: dict[str, float] = {}
    for sample in samples:
        for name in NAMES:
            if value := sample.measures.get(name):
                found[name] = found.get(name, 0.0) + value
    return found


# -- the tally ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("outcome", "counted", "timed"),
    [
        (COMPLETED, {"completed": 1}, True),
        (Retried(1.0, None), {"retried": 1}, True),
        (Failed("exhausted", None), {"failed": 1, "dead": 1}, True),
        (Failed("crash-loop", None, rescued=True), {"failed": 1, "dead": 1, "rescued": 1}, True),
        (Snoozed(1.0), {"snoozed": 1}, False),
        (Cancelled(), {"cancelled": 1}, False),
        (Released(), {}, False),
    ],
)
def test_an_outcome_counts_as_what_it_is(outcome: Outcome, counted: dict[str, float], timed: bool) -> None:
    tally = Tally()
    tally.run("q", "t", outcome, 0.3, 0.004)
    found = tally.take(10)
    assert counts(found) == counted
    times = {"wait_sum": 0.3, "run_sum": 0.004, "wait:8": 1, "run:2": 1} if timed else {}
    assert found == [Sample("q", "t", {**counted, **times})]


def test_what_is_taken_is_not_there_any_more() -> None:
    tally = Tally()
    tally.run("q", "a", COMPLETED, 0.0, 0.0)
    tally.add("q", "b", "lost")
    assert len(tally.take(1)) == 1
    assert len(tally.take(10)) == 1
    assert tally.take(10) == []


def test_a_wait_that_clocks_make_negative_counts_as_none() -> None:
    tally = Tally()
    tally.run("q", "t", COMPLETED, -5.0, 5_000.0)
    (sample,) = tally.take(1)
    assert sample.measures == {"completed": 1, "wait:0": 1, "run_sum": 5_000.0, f"run:{BUCKETS - 1}": 1}


# -- a worker -----------------------------------------------------------------------------------------
async def test_what_a_worker_ran_is_told_when_it_ends(shop: Shop) -> None:
    app = shop.app

    @app.task(retry=Retry.immediate(2))
    async def fails() -> None:
        raise ValueError

    @app.task
    async def later() -> None:
        raise Snooze(60)

    @app.task
    def fine() -> None: ...

    await app.aenqueue_many([fails.call(), later.call(), fine.call(), fine.call()])
    await (await begin(shop)).run(burst=True)
    totals = await app.engine.totals()
    assert {sample.task: counts([sample]) for sample in totals} == {
        "fails": {"retried": 1, "failed": 1, "dead": 1},
        "later": {"snoozed": 1},
        "fine": {"completed": 2},
    }


async def test_how_long_a_job_waited_is_from_its_due_time_to_its_start(shop: Shop) -> None:
    @shop.app.task
    async def fine() -> None: ...

    await fine.aenqueue()
    shop.app._clock.advance(42)  # type: ignore[attr-defined]
    await (await begin(shop)).run(burst=True)
    (sample,) = await shop.app.engine.totals()
    assert sample.measures["wait_sum"] == pytest.approx(42, abs=0.5)
    assert sample.measures["wait:15"] == 1  # from 30 to 60 s


async def test_a_run_whose_lease_was_lost_counts_as_lost_and_not_as_completed() -> None:
    app = make_app()

    @app.task
    async def hello(n: int = 0) -> None: ...

    async with app:
        _, worker, _ = await ran_one(app)
        expire(app)
        await app.engine.rescue_worker(worker.id, frozenset(), judge)
        await worker._pump.round()
        await worker.account.tell()
        assert counts(await app.engine.totals()) == {"lost": 1}


async def test_a_run_that_took_too_long_counts_as_timed_out_too(shop: Shop) -> None:
    @shop.app.task(timeout=0.01, retry="none")
    async def slow() -> None:
        await asyncio.Event().wait()

    await slow.aenqueue()
    await (await begin(shop)).run(burst=True)
    assert counts(await shop.app.engine.totals()) == {"failed": 1, "dead": 1, "timed_out": 1}


async def test_a_run_completed_by_its_own_transaction_counts(tmp_path: object) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db")

    @app.task
    async def commits(ctx: Context) -> None:
        async with ctx.transaction():
            pass

    async with app:
        await commits.aenqueue()
        await app.worker().run(burst=True)
        assert counts(await app.engine.totals()) == {"completed": 1}


async def test_jobs_taken_back_from_a_lost_worker_count_as_rescued(shop: Shop) -> None:
    await shop.app.tasks["wait"].aenqueue()
    lost = await begin(shop)
    await lost._pump.round()
    expire(shop.app)
    finder = make_worker(shop.app)
    await finder._sweeper.rescue()
    await finder.account.tell()
    assert counts(await shop.app.engine.totals()) == {"rescued": 1}
    await lost._drop_all()


async def test_a_job_that_must_not_run_twice_is_told_as_failed_when_its_worker_is_lost(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    @shop.app.task(retry="none")
    async def once() -> None:
        await asyncio.Event().wait()

    job = await once.aenqueue()
    lost = await begin(shop)
    await lost._pump.round()
    expire(shop.app)
    finder = make_worker(shop.app)
    await finder._sweeper.rescue()
    await finder.account.tell()
    assert counts(await shop.app.engine.totals()) == {"failed": 1, "dead": 1, "rescued": 1}
    assert f"once:{job.id} - failed" in caplog.text
    assert [r.alert_level for r in caplog.records if r.name == "penstock.jobs"] == ["critical"]  # type: ignore[attr-defined]
    await lost._drop_all()


async def test_nothing_is_counted_where_metrics_are_off() -> None:
    app = make_app(settings=None)
    app.settings = app.settings.model_copy(update={"metrics": False})

    @app.task
    def fine(ctx: SyncContext) -> None: ...

    async with app:
        await fine.aenqueue()
        worker = make_worker(app)
        await app.engine.register(worker.info(), 60.0)
        await worker.run(burst=True)
        assert worker.settled == 1
        assert await app.engine.totals() == []


# -- telling ------------------------------------------------------------------------------------------
async def settled_one(app: Penstock) -> tuple[Account, Flaky]:
    """One run has ended and is settled; it has not been told yet."""
    _, worker, engine = await ran_one(app)
    await worker._pump.round()
    return worker.account, engine


@pytest.fixture(name="app")
async def small() -> AsyncIterator[Penstock]:
    made = make_app()

    @made.task
    async def hello(n: int = 0) -> None: ...

    async with made:
        yield made


async def test_what_could_not_be_told_is_told_later(app: Penstock) -> None:
    account, engine = await settled_one(app)
    engine.before["count"] = [EngineUnavailable("away")]
    await account.tell()
    assert await app.engine.totals() == []
    await account.tell()
    await account.tell()
    assert counts(await app.engine.totals()) == {"completed": 1}


async def test_what_may_have_been_counted_is_not_counted_again(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    account, engine = await settled_one(app)
    engine.after["count"] = [OutcomeUnknown("the reply was lost")]
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await account.tell()
    await account.tell()
    assert counts(await app.engine.totals()) == {"completed": 1}
    assert "metrics of a few seconds are lost" in caplog.text


def test_a_failed_run_is_counted_by_the_class_of_its_failure() -> None:
    tally = Tally()
    tally.run("email", "send", Retried(1.0, '{"class": "rate_limit"}'), 0.0, 1.0)
    tally.run("email", "send", Retried(1.0, '{"class": "rate_limit"}'), 0.0, 1.0)
    tally.run("email", "send", Retried(1.0, '{"type": "KilledWorker"}'), 0.0, 1.0)
    (sample,) = tally.take(10)
    assert {name: n for name, n in sample.measures.items() if name.startswith("failure:")} == {
        "failure:rate_limit": 2
    }
