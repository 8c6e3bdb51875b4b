"""ctx.step and ctx.sleep: what a run has done is not done again by the next."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from test_tasks_context import NOW, Link

from penstock import Context, InvalidOption, LeaseLost, Penstock, Retry, Snooze, State, SyncContext
from penstock.engine import Recovery
from penstock.model.errors import EngineUnavailable, InvalidValue, OutcomeUnknown
from penstock.tasks.errands import Errand
from penstock.tasks.ids import new_id
from penstock.testing import sandbox


class Shop:
    """An app whose steps are counted."""

    def __init__(self) -> None:
        self.app = app = Penstock("sqlite://:memory:")
        self.done: list[str] = []
        self.fails = 0

        @app.task(retry=Retry.fixed(3, 5.0))
        async def order(ctx: Context, number: int) -> list[Any]:
            async def price(of: int) -> dict[str, int]:
                self.done.append("price")
                return {"cents": of * 100}

            first = await ctx.step("price", price, number)
            second = await ctx.step("charge", self.charge, first["cents"], currency="EUR")
            if ctx.attempt <= self.fails:
                raise ConnectionError("away")
            return [first, second]

        @app.task(retry=Retry.fixed(3, 5.0))
        def order_sync(ctx: SyncContext, number: int) -> list[Any]:
            found = ctx.step("charge", self.charge, number, currency="EUR")
            if ctx.attempt <= self.fails:
                raise ConnectionError("away")
            return [found]

        @app.task
        async def course(ctx: Context) -> str:
            await ctx.step("begin", self.mark, "begin")
            await ctx.sleep(timedelta(days=1))
            await ctx.step("middle", self.mark, "middle")
            await ctx.sleep(60)
            await ctx.sleep(0)
            self.mark("end")
            return "done"

        @app.task
        def course_sync(ctx: SyncContext) -> str:
            ctx.step("begin", self.mark, "begin")
            ctx.sleep(60)
            self.mark("end")
            return "done"

        self.order, self.order_sync, self.course, self.course_sync = order, order_sync, course, course_sync

    def charge(self, cents: int, currency: str) -> str:
        self.done.append("charge")
        return f"{cents} {currency}"

    def mark(self, what: str) -> None:
        self.done.append(what)


@pytest.fixture
def shop() -> Shop:
    return Shop()


# -- steps --------------------------------------------------------------------------------------------


async def test_a_step_done_is_not_done_again_by_a_retry(shop: Shop) -> None:
    shop.fails = 2
    async with sandbox(shop.app) as box:
        job = await shop.order.aenqueue(number=7)
        await box.adrain(delayed=True)
        assert shop.done == ["price", "charge"]
        assert await job.aresult() == [{"cents": 700}, "700 EUR"]
        assert (await shop.app.ops.job(job.id)).attempt == 3
        assert await shop.app.engine.steps(job.id) == {"price": '{"cents":700}', "charge": '"700 EUR"'}


def test_sync_handlers_have_steps_too(shop: Shop) -> None:
    shop.fails = 2
    with sandbox(shop.app) as box:
        job = shop.order_sync.enqueue(number=7)
        box.drain(delayed=True)
        assert (shop.done, job.result()) == (["charge"], ["7 EUR"])


async def test_a_recovered_job_goes_on_from_the_steps_of_the_old_one(shop: Shop) -> None:
    shop.fails = 3
    async with sandbox(shop.app) as box:
        job = await shop.order.aenqueue(number=7)
        await box.adrain(delayed=True)
        assert (await job.arefresh()).state is State.FAILED
        shop.fails = 0
        await shop.app.engine.recover([Recovery(job.id, new_id())])
        await box.adrain()
        assert shop.done == ["price", "charge"]


class Kept(Link):
    """A line to an engine that keeps steps in a dict."""

    def __init__(self, **kept: str) -> None:
        super().__init__()
        self.kept = kept
        self.lost = False
        self.accepts = True
        self.errands: list[Errand] = []

    def lease_lost(self) -> bool:
        return self.lost

    async def do(self, errand: Errand) -> Any:
        return self.do_sync(errand)

    def do_sync(self, errand: Errand) -> Any:
        self.errands.append(errand)
        if errand.verb == "steps":
            return dict(self.kept)
        if self.accepts:
            self.kept[errand.name] = errand.value
        return self.accepts


async def test_what_is_kept_is_read_once_for_all_steps_of_a_run() -> None:
    link = Kept(a="1")
    ctx = Context(link)
    assert await ctx.step("a", lambda: 5) == 1
    assert await ctx.step("b", lambda: 2) == 2
    assert [errand.verb for errand in link.errands] == ["steps", "save_step"]


async def test_the_first_run_gets_what_later_ones_will_get() -> None:
    link = Kept()
    value = {"list": [1, 2.5, None], "text": "ä"}
    first = await Context(link).step("a", lambda: value)
    assert first == value == await Context(link).step("a", lambda: None)
    assert first is not value


@pytest.mark.parametrize("value", [{1, 2}, object(), (1, 2), float("nan"), "x" * 300_000])
async def test_a_result_that_is_not_strict_json_fails_the_run_and_is_not_kept(value: Any) -> None:
    link = Kept()
    with pytest.raises(InvalidValue, match="the result of step 'a'"):
        await Context(link).step("a", lambda: value)
    with pytest.raises(InvalidValue, match="the result of step 'a'"):
        SyncContext(link).step("a", lambda: value)
    assert link.kept == {}


async def test_a_name_used_twice_in_a_run_is_refused() -> None:
    ctx, twin = Context(Kept()), SyncContext(Kept())
    await ctx.step("a", lambda: 1)
    with pytest.raises(InvalidOption, match="twice in one run"):
        await ctx.step("a", lambda: 2)
    twin.step("a", lambda: 1)
    with pytest.raises(InvalidOption, match="twice in one run"):
        twin.step("a", lambda: 2)


@pytest.mark.parametrize("name", ["", "x" * 256, "a\x00b", "sleep 1", 7])
async def test_a_name_that_cannot_be_is_refused(name: Any) -> None:
    with pytest.raises(InvalidOption):
        await Context(Kept()).step(name, lambda: 1)


async def test_a_step_that_raises_keeps_nothing_and_its_error_goes_on() -> None:
    link = Kept()

    async def breaks() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Context(link).step("a", breaks)
    assert link.kept == {}


async def test_a_run_that_has_lost_its_job_begins_no_step() -> None:
    link = Kept()
    link.lost = True
    with pytest.raises(LeaseLost, match="passed on"):
        await Context(link).step("a", lambda: pytest.fail("it ran"))
    with pytest.raises(LeaseLost, match="passed on"):
        SyncContext(link).step("a", lambda: pytest.fail("it ran"))


async def test_a_run_whose_step_is_refused_is_told_that_it_lost_its_job() -> None:
    link = Kept()
    link.accepts = False
    with pytest.raises(LeaseLost, match="passed on"):
        await Context(link).step("a", lambda: 1)
    with pytest.raises(LeaseLost, match="passed on"):
        SyncContext(link).sleep(5)


# -- sleep --------------------------------------------------------------------------------------------


async def test_a_sleep_frees_the_slot_and_the_run_goes_on_after_it(shop: Shop) -> None:
    async with sandbox(shop.app) as box:
        job = await shop.course.aenqueue()
        assert await box.adrain() == 1
        found = await shop.app.ops.job(job.id)
        assert (found.state, found.attempt, found.worker) == (State.DELAYED, 0, None)
        assert found.due_at - box.clock.now() == timedelta(days=1)
        assert found.note == "sleeps for 86400 s"
        box.advance(hours=23)
        assert await box.adrain() == 0
        box.advance(hours=2)
        assert await box.adrain() == 1
        assert shop.done == ["begin", "middle"]
        assert await box.adrain(delayed=True) == 1
        assert shop.done == ["begin", "middle", "end"]
        assert (await shop.app.ops.job(job.id)).attempt == 1


def test_sync_handlers_sleep_too(shop: Shop) -> None:
    with sandbox(shop.app) as box:
        job = shop.course_sync.enqueue()
        assert box.drain() == 1
        assert shop.done == ["begin"]
        assert box.drain(delayed=True) == 1
        assert (shop.done, job.result()) == (["begin", "end"], "done")


async def test_a_sleep_that_a_crash_came_before_is_slept_in_full() -> None:
    link = Kept()
    with pytest.raises(Snooze):
        await Context(link).sleep(60)
    with pytest.raises(Snooze) as again:  # the same due time: the snooze was never written
        await Context(link).sleep(60)
    assert again.value.seconds == 60
    link.claim = link.claim._replace(due_at=NOW + timedelta(seconds=60))
    await Context(link).sleep(60)


async def test_somebody_who_makes_a_sleeping_job_due_wakes_it(shop: Shop) -> None:
    async with sandbox(shop.app) as box:
        job = await shop.course.aenqueue()
        await box.adrain()
        box.advance(5)
        assert await shop.app.engine.promote([job.id]) == 1
        await box.adrain()
        assert shop.done == ["begin", "middle"]


@pytest.mark.parametrize("seconds", [-1, float("inf"), "60", None])
async def test_a_time_that_cannot_be_is_refused(seconds: Any) -> None:
    with pytest.raises(InvalidOption, match="sleep"):
        await Context(Kept()).sleep(seconds)


# -- an engine that is away ---------------------------------------------------------------------------


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.errands.FIRST_PAUSE", 0.0)


def failing(app: Penstock, verb: str, *errors: Exception) -> None:
    """The next calls of a verb raise these, after the first has been done where its reply is lost."""
    engine, left = app.engine, list(errors)
    real = getattr(engine, verb)

    async def call(*args: Any) -> Any:
        if left:
            error = left.pop(0)
            if isinstance(error, OutcomeUnknown):
                await real(*args)
            raise error
        return await real(*args)

    setattr(engine, verb, call)


@pytest.mark.usefixtures("no_pauses")
async def test_a_short_outage_does_not_fail_the_run(shop: Shop) -> None:
    async with sandbox(shop.app) as box:
        failing(shop.app, "steps", EngineUnavailable("away"))
        failing(shop.app, "save_step", OutcomeUnknown("lost"), EngineUnavailable("away"))
        job = await shop.order.aenqueue(number=1)
        await box.adrain()
        assert await job.aresult() == [{"cents": 100}, "100 EUR"]
        assert shop.done == ["price", "charge"]


@pytest.mark.usefixtures("no_pauses")
async def test_a_long_outage_fails_the_attempt_and_not_the_job(shop: Shop) -> None:
    async with sandbox(shop.app) as box:
        failing(shop.app, "steps", *[EngineUnavailable("away")] * 6)
        job = await shop.order.aenqueue(number=1)
        await box.adrain()
        found = await shop.app.ops.job(job.id)
        assert (found.state, found.errors[0]["type"]) == (State.DELAYED, "EngineUnavailable")


async def test_steps_at_the_same_time_are_kept_each(shop: Shop) -> None:
    @shop.app.task
    async def both(ctx: Context) -> list[int]:
        return list(await asyncio.gather(*(ctx.step(f"part {n}", lambda n=n: n) for n in range(5))))

    async with sandbox(shop.app) as box:
        job = await both.aenqueue()
        await box.adrain()
        assert await job.aresult() == [0, 1, 2, 3, 4]
        assert len(await shop.app.engine.steps(job.id)) == 5


async def test_names_of_steps_are_kept_without_secrets() -> None:
    app = Penstock("sqlite://:memory:")

    @app.task(secret="card", retry=Retry.fixed(2, 0.0))
    async def pay(ctx: Context, card: str) -> int:
        found = await ctx.step(f"charge {card} token=hunter2", lambda: ctx.attempt)
        if ctx.attempt == 1:
            raise ConnectionError("away")
        with pytest.raises(InvalidOption, match="without secrets"):
            await ctx.step(f"charge {card} token=another", lambda: 0)
        return found

    async with sandbox(app) as box:
        job = await pay.aenqueue("4111 1111")
        await box.adrain(delayed=True)
        assert list(await app.engine.steps(job.id)) == ["charge ••• token=•••"]
        assert await job.aresult() == 1, "the second run finds what the first has kept"
