"""Redis comes back without its last moments: what the ledger knows to be over does not stay active there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from conformance.kit import (
    WORKER,
    blocked,
    claim,
    failed,
    gone,
    put,
    read,
    register,
    retried,
    settle,
    snoozed,
    state,
    take,
)
from engines.ledger_kit import LONG, database_of_the_ledger, engine_with_ledger, row
from penstock.engine import Group
from penstock.ledger.engine import LedgeredEngine
from penstock.ledger.lost_ends import GIVEN_OUT
from penstock.ledger.reconcile import GRACE
from penstock.model.clock import FakeClock
from penstock.model.job import Claim
from penstock.model.limits import Limit
from penstock.model.outcome import Completed, Outcome, Released
from penstock.model.states import State
from servers import RedisServer

__all__ = ["database_of_the_ledger", "engine_with_ledger"]

pytestmark = pytest.mark.usefixtures("hurried")


@pytest.fixture(scope="module", name="redis")
def redis_with_snapshots() -> Iterator[RedisServer]:
    with RedisServer(dbfilename="dump.rdb") as server:
        yield server


class Past:
    """What Redis held when it was last written to disk, and will hold again."""

    def __init__(self, redis: RedisServer, clock: FakeClock) -> None:
        self._redis, self._clock = redis, clock

    def note(self) -> None:
        self._redis.ask("SAVE")

    def comes_back(self) -> None:
        self._redis.crash()
        self._clock.advance(GRACE)


@pytest.fixture
def past(redis: RedisServer, clock: FakeClock) -> Past:
    return Past(redis, clock)


async def lost(engine: LedgeredEngine, past: Past, held: Claim, outcome: Outcome) -> None:
    """The run ends so, and Redis forgets it; its worker lives on."""
    past.note()
    assert await settle(engine, held, outcome)
    past.comes_back()
    assert await state(engine._inner, held.id) is State.ACTIVE


async def test_a_completed_job_is_completed_there_too_and_who_waited_for_it_runs(
    engine: LedgeredEngine, past: Past
) -> None:
    held = await take(engine)
    waits = await blocked(engine, held.id)
    await lost(engine, past, held, Completed('"done"'))
    assert (await engine.reconcile(100)).ended == 1
    found = await read(engine._inner, held.id)
    assert (found.state, found.result_json) == (State.COMPLETED, '"done"')
    assert [each.id for each in await claim(engine)] == [waits]
    assert (await engine.reconcile(100)).repairs == 0


async def test_a_failed_job_fails_there_too_and_has_its_dead_letter(
    engine: LedgeredEngine, past: Past
) -> None:
    held = await take(engine)
    await lost(engine, past, held, failed(message="bad"))
    await engine.reconcile(100)
    letter = await engine._inner.dead_letter(held.id)
    assert letter is not None
    assert letter.error is not None
    assert (letter.reason, letter.error["message"]) == ("exhausted", "bad")


async def test_a_place_under_a_limit_is_free_again(engine: LedgeredEngine, past: Past) -> None:
    await engine.put_groups([Group("default", limit=Limit(concurrency=1))])
    held = await take(engine)
    other = await put(engine)
    await lost(engine, past, held, Completed())
    assert await claim(engine) == []
    await engine.reconcile(100)
    assert [each.id for each in await claim(engine)] == [other]


@pytest.mark.parametrize(
    ("outcome", "attempt"), [(retried(60.0), 2), (snoozed(60.0), 1)], ids=["retried", "snoozed"]
)
async def test_what_is_to_run_again_does_when_it_is_due_with_the_attempts_it_has(
    engine: LedgeredEngine, past: Past, clock: FakeClock, outcome: Outcome, attempt: int
) -> None:
    held = await take(engine)
    ended_at = clock.now()
    assert ended_at is not None
    await lost(engine, past, held, outcome)
    assert (await engine.reconcile(100)).restored == 1
    found = await read(engine._inner, held.id)
    assert (found.state, found.due_at) == (State.DELAYED, ended_at + timedelta(seconds=60))
    clock.advance(60)
    await engine.stage(10)
    assert [(each.id, each.attempt) for each in await claim(engine)] == [(held.id, attempt)]


async def test_what_was_handed_back_is_first_in_line_again(engine: LedgeredEngine, past: Past) -> None:
    held = await take(engine)
    later = await put(engine)
    await lost(engine, past, held, Released())
    await engine.reconcile(100)
    assert [(each.id, each.attempt) for each in await claim(engine)] == [(held.id, 1), (later, 1)]


async def test_an_end_that_is_just_being_written_is_left_to_its_worker(engine: LedgeredEngine) -> None:
    held = await take(engine)
    inner = engine._inner.settle
    seen = []

    async def slow(*ends: object, **more: object) -> object:
        seen.append((await engine.reconcile(100)).repairs)
        return await inner(*ends, **more)  # type: ignore[arg-type]

    engine._inner.settle = slow  # type: ignore[method-assign, assignment]
    assert await settle(engine, held, retried(5.0))
    assert seen == [0]


async def test_a_run_that_goes_on_is_left_alone(engine: LedgeredEngine, past: Past, clock: FakeClock) -> None:
    held = await take(engine)
    past.note()
    past.comes_back()
    clock.advance(GIVEN_OUT)
    assert (await engine.reconcile(100)).repairs == 0
    assert await settle(engine, held)


async def test_a_later_run_that_redis_forgot_goes_on_and_its_end_is_told(
    engine: LedgeredEngine, past: Past, clock: FakeClock
) -> None:
    held = await take(engine)
    past.note()
    assert await settle(engine, held, retried(0.0))
    [second] = await claim(engine)
    past.comes_back()
    clock.advance(GIVEN_OUT)
    assert (await engine.reconcile(100)).repairs == 0
    assert await settle(engine, second)
    clock.advance(GRACE)
    assert (await engine.reconcile(100)).ended == 1
    assert await state(engine._inner, held.id) is State.COMPLETED


async def test_a_later_run_that_redis_forgot_whose_worker_is_gone_begins_anew(
    engine: LedgeredEngine, past: Past, clock: FakeClock
) -> None:
    held = await take(engine)
    past.note()
    assert await settle(engine, held, retried(0.0))
    await register(engine, "another", ttl=10.0)
    [second] = await claim(engine, worker="another")
    past.comes_back()
    await register(engine, WORKER, ttl=LONG)
    clock.advance(GIVEN_OUT)
    await engine.rescue(100, gone)
    assert (await engine.reconcile(100)).restored == 1
    [third] = await claim(engine)
    assert (third.id, third.attempt) == (held.id, 2)
    assert not await settle(engine, second)
    assert await settle(engine, third)
    assert await row(engine, held.id) == ("completed", 2, True)


async def test_an_operator_repairs_what_any_worker_holds(engine: LedgeredEngine, past: Past) -> None:
    held = await take(engine)
    await lost(engine, past, held, Completed())
    engine._claims_for.clear()  # as one who never claimed
    assert (await engine.reconcile(100)).ended == 1
    assert await state(engine._inner, held.id) is State.COMPLETED
