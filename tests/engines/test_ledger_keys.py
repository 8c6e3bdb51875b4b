"""With a ledger, newcomers whose key is held: nothing of what was accepted is lost, whoever holds it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from conformance.kit import (
    after,
    claim,
    end,
    failed,
    finish,
    new,
    put,
    read,
    register,
    retried,
    settle,
    state,
    take,
    want,
)
from engines.ledger_kit import (
    LONG,
    database_of_the_ledger,
    engine_with_ledger,
    flush,
    redis_that_may_be_lost,
    row,
)
from penstock.ledger.engine import LedgeredEngine
from penstock.ledger.reconcile import GRACE
from penstock.model.clock import FakeClock
from penstock.model.job import Window
from penstock.model.outcome import UPSTREAM_FAILED
from penstock.model.states import State
from servers import RedisServer

__all__ = ["database_of_the_ledger", "engine_with_ledger", "redis_that_may_be_lost"]

pytestmark = pytest.mark.usefixtures("hurried")

QUIET = Window("debounce", 60.0)
FIRST, LATER = '{"v": 1}', '{"v": 2}'


# -- jobs that follow -------------------------------------------------------------------------------------


async def test_a_debounced_follower_replaces_what_the_holder_brought_and_puts_it_off(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    held = await take(engine)
    job = await put(engine, key="k", window=QUIET, args=FIRST)
    clock.advance(30)
    follower = new(key="k", window=QUIET, args=LATER)
    assert await settle(engine, held, then=[follower])
    due = clock.now() + timedelta(seconds=60)  # type: ignore[operator]
    found = await read(engine, job)
    assert (found.args_json, found.due_at) == (LATER, due)
    await flush(engine, redis)
    await engine.reconcile(100)
    found = await read(engine, job)
    assert (found.args_json, found.due_at) == (LATER, due)
    assert await state(engine, follower.id) is None


async def test_a_debounced_follower_is_saved_with_the_end_of_its_run(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    """Nothing more is done by the process that ran it."""
    held = await take(engine)
    job = await put(engine, key="k", window=QUIET, args=FIRST)
    await engine._books.save([end(held, then=[new(key="k", window=QUIET, args=LATER)])])
    clock.advance(GRACE)
    await engine.reconcile(100)
    assert (await read(engine._inner, job)).args_json == LATER


async def test_a_follower_of_a_run_that_does_not_complete_replaces_nothing(engine: LedgeredEngine) -> None:
    held = await take(engine)
    job = await put(engine, key="k", window=QUIET, args=FIRST)
    assert await settle(engine, held, retried(60.0), then=[new(key="k", window=QUIET, args=LATER)])
    assert (await read(engine, job)).args_json == FIRST
    assert (await engine._books.lines([job]))[job].args == FIRST


async def test_a_follower_is_made_where_the_holder_has_ended_in_redis_unknown_to_its_row(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    held = await take(engine)
    window = Window("unfinished")
    await put(engine, key="k", window=window, expire_after=5.0)
    clock.advance(6)
    assert len(await engine.expire(10)) == 1
    follower = new(key="k", window=window)
    assert await settle(engine, held, then=[follower])
    assert await state(engine._inner, follower.id) is State.WAITING
    assert await row(engine, follower.id) == ("pending", 0, True)


# -- debounced newcomers --------------------------------------------------------------------------------


async def test_a_newcomer_is_run_by_the_holder_that_was_given_out_and_has_not_begun(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    job = await put(engine, key="k", window=QUIET, args=FIRST)
    clock.advance(61)
    await engine.stage(10)
    asked = want()
    given = await engine._inner.claim(asked)
    newcomer = new(key="k", window=QUIET, args=LATER)
    [answer] = await engine.enqueue([newcomer])
    assert (answer.id, answer.duplicate) == (job, True)
    assert await state(engine._inner, newcomer.id) is None
    [held] = await engine._begin(asked, given.claims, given.fence)
    assert (held.id, held.args) == (job, LATER)
    assert await settle(engine, held)
    await flush(engine, redis)
    assert (await engine.reconcile(100)).repairs == 0


async def test_a_newcomer_to_a_holder_that_has_begun_is_a_job_of_its_own(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    job = await put(engine, key="k", window=QUIET, args=FIRST)
    clock.advance(61)
    await engine.stage(10)
    [held] = await claim(engine)
    newcomer = new(key="k", window=QUIET, args=LATER)
    assert [answer.id for answer in await engine.enqueue([newcomer])] == [newcomer.id]
    assert (held.id, held.args) == (job, FIRST)
    assert (await engine._books.lines([job]))[job].args == FIRST


@pytest.mark.parametrize("dispatched", [True, False], ids=["dispatched", "not dispatched"])
async def test_a_newcomer_is_accepted_while_redis_is_away_and_redis_is_told_later(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock, dispatched: bool
) -> None:
    if dispatched:
        job = await put(engine, key="k", window=QUIET, args=FIRST)
    redis.ask("SAVE")
    redis.stop("KILL")
    if not dispatched:
        [accepted] = await engine.enqueue([new(key="k", window=QUIET, args=FIRST)])
        assert accepted.state is State.DELAYED
        job = accepted.id
    clock.advance(30)
    other = new()
    told = await engine.enqueue([other, new(key="k", window=QUIET, args=LATER)])
    assert [(answer.id, answer.duplicate) for answer in told] == [(other.id, False), (job, True)]
    redis.start()
    await register(engine, ttl=LONG)
    clock.advance(10)
    await engine.reconcile(100)
    found = await read(engine._inner, job)
    assert (found.args_json, found.state) == (LATER, State.DELAYED)
    assert found.due_at == clock.now() + timedelta(seconds=50)  # type: ignore[operator]


async def test_of_several_newcomers_in_one_call_the_last_counts(engine: LedgeredEngine) -> None:
    jobs = [new(key="k", window=QUIET, args=f'{{"v": {n}}}') for n in range(4)]
    told = await engine.enqueue(jobs)
    assert {answer.id for answer in told} == {jobs[0].id}
    assert (await read(engine, jobs[0].id)).args_json == '{"v": 3}'
    assert (await engine._books.lines([jobs[0].id]))[jobs[0].id].args == '{"v": 3}'


# -- flows ------------------------------------------------------------------------------------------------


async def test_who_is_led_to_a_holder_that_has_failed_is_cancelled_and_told_so(
    engine: LedgeredEngine,
) -> None:
    dead = await finish(engine, key="k", outcome=failed())
    first = new(key="k")
    second = new(ties=after(first.id))
    told = await engine.enqueue([first, second])
    assert [(answer.id, answer.state, answer.duplicate) for answer in told] == [
        (dead.id, State.FAILED, True),
        (second.id, State.CANCELLED, False),
    ]
    told_of = await engine.history(second.id)
    assert told_of is not None
    assert told_of.error_message == UPSTREAM_FAILED.format(id=dead.id)
