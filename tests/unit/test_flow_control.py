"""Limits, breakers and events, from the declaration to the run, on an engine in memory."""

from contextlib import nullcontext
from itertools import pairwise

import pytest
from runtime_kit import Flaky

from penstock import (
    CircuitBreaker,
    CircuitOpen,
    Context,
    EngineUnavailable,
    InvalidArguments,
    InvalidOption,
    InvalidValue,
    Penstock,
    RateLimited,
    Retry,
    SyncContext,
    Unrecoverable,
)
from penstock.engine import Group
from penstock.model.breaker import Breaker, Circuit
from penstock.model.job import NewJob
from penstock.model.limits import Limit
from penstock.model.states import State
from penstock.runtime.announce import announce, declare_again
from penstock.tasks.ids import new_id
from penstock.testing import sandbox


@pytest.fixture
def app():
    return Penstock("sqlite://:memory:")


# -- limits -------------------------------------------------------------------------------------------------
async def test_a_rate_is_kept_by_the_engines_clock(app):
    started = []
    app.queue("paced", rate="1/2s")

    @app.task(queue="paced")
    async def paced(n: int) -> None:
        started.append(box.clock.now())

    async with sandbox(app) as box:
        for n in range(4):
            await paced.aenqueue(n=n)
        assert await box.adrain() == 1
        assert await box.adrain(delayed=True) == 3
    gaps = [(b - a).total_seconds() for a, b in pairwise(started)]
    assert all(gap > 2 - 1e-5 for gap in gaps)
    assert sum(gaps) < 7


async def test_no_more_of_a_key_run_at_once_than_declared(app):
    running: dict[int, int] = {}
    most: dict[int, int] = {}

    @app.task(concurrency=2, rate_key="{tenant}")
    async def work(tenant: int) -> None:
        running[tenant] = running.get(tenant, 0) + 1
        most[tenant] = max(most.get(tenant, 0), running[tenant])
        await app.engine.queues()  # others get their turn
        running[tenant] -= 1

    async with sandbox(app) as box:
        await app.aenqueue_many([work.call(tenant=n % 3) for n in range(30)])
        assert await box.adrain() == 30
    assert most == {0: 2, 1: 2, 2: 2}


async def test_a_job_that_waits_already_and_makes_no_key_for_a_new_limit_is_parked(app):
    @app.task(concurrency=1, rate_key="{tenant}")
    async def work(tenant: str) -> None: ...

    async with sandbox(app) as box:
        await app.engine.enqueue([NewJob(new_id(), "default", "work", '{"tenant": ""}')])
        await box.adrain()
        [job] = await box.ajobs(work)
    assert job.state is State.WAITING
    assert "tenant: makes no rate_key" in job.note


async def test_a_job_that_waits_already_comes_under_a_new_limit(app):
    @app.task(concurrency=1)
    async def work(n: int) -> None: ...

    async with sandbox(app) as box:
        before = NewJob(new_id(), "default", "work", '{"n": 1}')
        await app.engine.enqueue([before])
        assert await box.adrain() == 2  # moved to its lane, then run
        [job] = await box.ajobs(work)
    assert (job.lane, job.state, job.attempt) == ("default>work", State.COMPLETED, 1)


async def test_limits_that_are_not_declared_any_more_are_let_go(app):
    app.queue("paced", rate="1/2s")

    @app.task
    def plain() -> None: ...

    async with sandbox(app):
        stranger = Group("default>strangers-task", limit=Limit(concurrency=1))
        await app.engine.put_groups([stranger, Group("default>plain", limit=Limit(concurrency=1))])
        await announce(app.engine, app.registry)
        assert {s.group.name: s.group.limit for s in await app.engine.groups()} == {
            "default>strangers-task": Limit(concurrency=1),
            "paced": Limit(0.5, 1, said="1/2s"),
        }


async def test_what_is_still_wanted_is_declared_again_but_not_what_another_release_has_changed(app):
    app.breaker("mail")
    app.breaker("sms")
    app.queue("paced", rate="1/2s")

    @app.task(needs="mail", concurrency=3)
    def send() -> None: ...

    async with sandbox(app) as box:
        await announce(app.engine, app.registry)
        newer = Group("default>send", limit=Limit(concurrency=9), needs=("mail",))
        await app.engine.put_groups([newer])
        await app.engine.put_breakers([Breaker(name="sms", threshold=9)])
        box.advance(days=6)
        await declare_again(app.engine, app.registry)
        box.advance(days=2)
        await app.engine.tidy()
        assert [state.group.name for state in await app.engine.groups()] == ["paced"]
        assert [state.breaker.name for state in await app.engine.breakers()] == ["mail"]


async def test_a_service_that_asks_to_slow_down_cools_the_whole_key(app):
    runs = []

    @app.task(concurrency=5, rate_key="{provider}", retry=Retry.immediate(3))
    async def ask(ctx: Context, provider: str) -> None:
        runs.append(provider)
        if provider == "busy" and runs.count("busy") == 1:
            raise RateLimited(retry_after=30)

    async with sandbox(app) as box:
        await ask.aenqueue(provider="busy")
        await box.adrain()
        await app.aenqueue_many([ask.call(provider=p) for p in ("busy", "busy", "well")])
        assert await box.adrain() == 1
        assert runs == ["busy", "well"]
        box.advance(40)
        assert await box.adrain() == 3


# -- breakers -----------------------------------------------------------------------------------------------
async def test_while_a_service_is_down_its_jobs_wait_and_spend_nothing(app):
    down = True
    runs = []
    app.breaker("service", threshold=3, reset=60)

    @app.task(needs="service", retry=Retry.immediate(2))
    async def use(n: int) -> None:
        runs.append(n)
        if down:
            raise ConnectionError("refused")

    @app.task
    async def beside() -> None: ...

    async with sandbox(app) as box:
        await app.aenqueue_many([use.call(n=n) for n in range(20)])
        await box.adrain()
        tried = len(runs)
        assert 3 <= tried <= 3 + app.settings.concurrency
        waiting = await box.ajobs(use, State.WAITING)
        assert all(job.attempt == 0 for job in waiting if job.started_at is None)
        await beside.aenqueue()
        assert await box.adrain() == 1
        box.advance(60)
        await box.adrain()
        assert len(runs) == tried + 1  # one probe, which failed
        down = False
        await box.adrain(delayed=True)
        left = [job for job in await box.ajobs(use) if job.state is State.WAITING]
    assert left == []


async def test_what_is_wrong_with_the_job_says_nothing_about_the_service(app):
    breaker = app.breaker("service", threshold=2, reset=60)

    @app.task(needs="service")
    async def use(n: int) -> None:
        raise Unrecoverable("no such order")

    async with sandbox(app) as box:
        await app.aenqueue_many([use.call(n=n) for n in range(5)])
        assert await box.adrain() == 5
        assert (await breaker.astate()).failures == 0


async def test_around_a_piece_of_a_handler_it_opens_and_snoozes(app):
    service = app.breaker("service", threshold=2, reset=30)
    answers = ["refused", "refused", "well", "well", "well"]

    @app.task(retry=Retry.none())
    async def use(n: int) -> str:
        async with service:
            if answers.pop(0) == "refused":
                raise ConnectionError("refused")
            return "done"

    async with sandbox(app) as box:
        for n in range(2):
            await use.aenqueue(n=n)
            await box.adrain()
        assert (await service.astate()).circuit is Circuit.OPEN
        await use.aenqueue(n=2)
        await box.adrain()
        [waiting] = await box.ajobs(use, State.DELAYED)
        assert waiting.attempt == 0
        assert waiting.note == "breaker 'service' is open"
        await box.adrain(delayed=True)
        assert (await service.astate()).circuit is Circuit.CLOSED
    assert len(answers) == 2


def test_in_a_sync_program_it_works_with_plain_with(app):
    service = app.breaker("service", threshold=1, reset=30)
    with sandbox(app):
        with service:
            pass
        with pytest.raises(ConnectionError), service:
            raise ConnectionError("refused")
        with pytest.raises(CircuitOpen, match="service"), service:
            pytest.fail("the block must not be entered")
        assert service.state().circuit is Circuit.OPEN
        service.reset()
        with service:
            pass


async def test_a_signal_that_leaves_the_block_is_no_failure_of_the_service(app):
    service = app.breaker("service", threshold=1, reset=30)
    async with sandbox(app):
        with pytest.raises(Unrecoverable):
            async with service:
                raise Unrecoverable("no such order")
        assert (await service.astate()).failures == 0


class Through:
    """The way of a breaker to its engine."""

    def __init__(self, engine):
        self.engine = engine

    async def arun(self, work):
        return await work(self, False)


@pytest.mark.parametrize("error", [None, ConnectionError("refused")])
async def test_what_was_done_in_the_block_stands_though_the_engine_is_away_at_its_end(app, error, caplog):
    declared = app.breaker("service").declared
    async with sandbox(app):
        engine = Flaky(app.engine)
        engine.before["report_breaker"] = [EngineUnavailable("away")]
        with nullcontext() if error is None else pytest.raises(ConnectionError):
            async with CircuitBreaker(declared, Through(engine)):
                if error is not None:
                    raise error
    assert "breaker 'service' could not be told" in caplog.text


# -- events -------------------------------------------------------------------------------------------------
async def test_an_event_makes_a_job_of_every_task_that_is_triggered_by_it(app):
    seen = []

    @app.task(on="order.paid")
    async def pack(order_id: int) -> None:
        seen.append(("pack", order_id))

    @app.task(on="order.paid")
    def thank(ctx: SyncContext, order_id: int, to: str = "nobody") -> None:
        seen.append(("thank", to))

    @app.task(on="order.sent")
    async def other(order_id: int) -> None: ...

    async with sandbox(app) as box:
        jobs = await app.aemit("order.paid", {"order_id": 7, "to": "ana", "total": 12})
        assert [job.task for job in jobs] == ["pack", "thank"]
        assert await box.adrain() == 2
    assert sorted(seen) == [("pack", 7), ("thank", "ana")]


async def test_an_event_that_does_not_fit_one_task_makes_no_job_at_all(app):
    @app.task(on="order.paid")
    async def pack(order_id: int) -> None: ...

    @app.task(on="order.paid")
    async def thank(to: str) -> None: ...

    async with sandbox(app) as box:
        with pytest.raises(InvalidArguments, match="thank"):
            await app.aemit("order.paid", {"order_id": 7})
        assert await box.ajobs() == []


def test_an_event_nobody_waits_for_makes_nothing(app):
    with sandbox(app):
        assert app.emit("nothing.happened") == []


def test_an_event_with_a_wrong_name_or_payload_is_refused(app):
    with sandbox(app):
        with pytest.raises(InvalidOption, match="event"):
            app.emit("no such thing?")
        with pytest.raises(InvalidValue, match="mapping"):
            app.emit("order.paid", [1, 2])
