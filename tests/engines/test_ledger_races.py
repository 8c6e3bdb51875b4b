"""Two do something to one job at once, one by the ledger and one by Redis: in the end both say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.kit import WORKER, claim, failed, new, put, retried, settle, state, take
from engines.ledger_kit import (
    database_of_the_ledger,
    engine_with_ledger,
    flush,
    redis_that_may_be_lost,
    row,
)
from penstock.ledger.engine import LedgeredEngine
from penstock.ledger.reconcile import Reconciler
from penstock.ledger.rows import Line
from penstock.model.clock import FakeClock
from penstock.model.job import Claim
from penstock.model.outcome import Cancelled, Completed
from penstock.model.states import State
from servers import RedisServer

__all__ = ["database_of_the_ledger", "engine_with_ledger", "redis_that_may_be_lost"]


async def cancelled_while_it_begins(engine: LedgeredEngine, job_id: str) -> tuple[list[State | None], Claim]:
    """Redis does not know it when it is asked; then it is dispatched, and begins."""
    inner = engine._inner.cancel
    held: list[Claim] = []

    async def slow(ids: Sequence[str], reason: str) -> list[State | None]:
        told = await inner(ids, reason)
        engine._inner.cancel = inner  # type: ignore[method-assign]
        await Reconciler(engine._books, engine._inner).bring([job_id])
        held.extend(await claim(engine))
        return told

    engine._inner.cancel = slow  # type: ignore[method-assign]
    return await engine.cancel([job_id], "not wanted"), held[0]


async def test_what_begins_while_it_is_cancelled_is_asked_to_stop(engine: LedgeredEngine) -> None:
    job = new()
    await engine._books.put([job])
    told, held = await cancelled_while_it_begins(engine, job.id)
    assert told == [State.ACTIVE]
    assert [order.job_id for order in (await engine.beat(WORKER, 30.0)).cancel] == [job.id]
    assert await settle(engine, held, Cancelled("stopped"))
    assert (await row(engine, job.id))[0] == "cancelled"
    assert await state(engine._inner, job.id) is State.CANCELLED


async def test_what_begins_while_it_is_cancelled_and_completes_is_completed_in_both(
    engine: LedgeredEngine,
) -> None:
    job = new()
    await engine._books.put([job])
    _, held = await cancelled_while_it_begins(engine, job.id)
    assert await settle(engine, held, Completed('"done"'))
    assert (await row(engine, job.id))[0] == "completed"
    assert await state(engine._inner, job.id) is State.COMPLETED


async def test_a_run_that_redis_lost_can_be_asked_to_stop(engine: LedgeredEngine, redis: RedisServer) -> None:
    held = await take(engine)
    await flush(engine, redis)
    assert await engine.cancel([held.id], "not wanted") == [State.ACTIVE]
    assert (await engine.reconcile(100)).ended == 1
    assert (await row(engine, held.id))[0] == "cancelled"


async def test_of_two_who_restore_a_job_one_counts_its_attempts(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    job = await put(engine, max_attempts=3)
    await flush(engine, redis)
    slow = Reconciler(engine._books, engine._inner)
    found = slow._end_unknown
    held: list[Claim] = []

    async def slowly(lines: Sequence[Line]) -> Any:
        told = await found(lines)
        assert (await engine.reconcile(100)).restored == 1
        held.extend(await claim(engine))
        return told

    slow._end_unknown = slowly  # type: ignore[method-assign]
    assert (await slow.step(100, None)).restored == 0
    for attempt in (1, 2, 3):
        assert await row(engine, job) == ("processing", attempt, True)
        assert await settle(engine, held[-1], retried() if attempt < 3 else failed())
        held.extend(await claim(engine))
    assert await row(engine, job) == ("failed", 3, True)
