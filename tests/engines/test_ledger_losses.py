"""Redis loses all that it held: what people had said before holds afterwards, too."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from conformance.kit import (
    after,
    blocked,
    claim,
    failed,
    finish,
    make_id,
    new,
    put,
    read,
    register,
    settle,
    state,
    take,
)
from engines.ledger_kit import (
    LONG,
    database_of_the_ledger,
    engine_with_ledger,
    flush,
    redis_that_may_be_lost,
    row,
    run_one,
)
from penstock import remarks
from penstock.engine import Recovery, Retention, ScheduleRow, Tick
from penstock.engine.notes import LASTING
from penstock.ledger.database import Say
from penstock.ledger.engine import LedgeredEngine
from penstock.ledger.reconcile import GRACE, PUT_OFF
from penstock.model.clock import FakeClock
from penstock.model.errors import EngineError, EngineUnavailable
from penstock.model.job import FlowName, Ties, Window
from penstock.model.outcome import EXPIRED
from penstock.model.states import State
from servers import RedisServer

__all__ = ["database_of_the_ledger", "engine_with_ledger", "redis_that_may_be_lost"]

pytestmark = pytest.mark.usefixtures("hurried")


# -- what people have written ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(LASTING))
async def test_a_lasting_note_survives_a_flush(engine: LedgeredEngine, redis: RedisServer, kind: str) -> None:
    await engine.put_note(kind, "k", '{"text":"it was the disk"}')
    await flush(engine, redis)
    found = await engine.note(kind, "k")
    assert found is not None
    assert found.body == '{"text":"it was the disk"}'


def test_what_people_say_of_dead_letters_lasts() -> None:
    assert remarks.KIND in LASTING


# -- paused queues --------------------------------------------------------------------------------------


async def test_a_paused_queue_stays_paused_and_others_run(engine: LedgeredEngine, redis: RedisServer) -> None:
    await engine.set_paused("still", True)
    still, other = await put(engine, "still"), await put(engine)
    await flush(engine, redis)
    assert (await engine.reconcile(100)).restored == 2
    assert [held.id for held in await claim(engine, "still", "default")] == [other]
    assert {queue.queue: queue.paused for queue in await engine.queues()} == {"still": True, "default": False}
    await engine.set_paused("still", False)
    assert [held.id for held in await claim(engine, "still")] == [still]


async def test_a_job_that_comes_in_before_anybody_has_reconciled_does_not_run_in_a_paused_queue(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    await engine.set_paused("default", True)
    redis.ask("FLUSHALL")
    await engine._inner.migrate()
    await register(engine._inner, ttl=LONG)
    job = await put(engine)
    assert await claim(engine) == []
    assert await row(engine, job) == ("pending", 0, True)
    assert [queue.paused for queue in await engine._inner.queues()] == [True]
    await engine.set_paused("default", False)
    [held] = await claim(engine)
    assert (held.id, held.attempt) == (job, 1)


async def test_a_queue_that_was_resumed_is_not_paused_again(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    await engine.set_paused("default", True)
    await engine.set_paused("default", False)
    job = await put(engine)
    await flush(engine, redis)
    await engine.reconcile(100)
    assert (await run_one(engine)).id == job


async def test_a_queue_can_be_paused_and_resumed_while_redis_is_away(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    for paused, claims in ((True, 0), (False, 1)):
        redis.stop()
        await engine.set_paused("default", paused)
        redis.start()
        await engine._inner.migrate()
        await register(engine, ttl=LONG)
        await put(engine)
        await engine.reconcile(100)
        assert len(await claim(engine, limit=1)) == claims


# -- due times and expiry ---------------------------------------------------------------------------------


async def test_a_rescheduled_job_comes_back_with_its_new_due_time_and_expiry(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    job = await put(engine, delay=5.0, expire_after=10.0)
    assert await engine.reschedule([job], 3_600.0) == 1
    before = await read(engine, job)
    clock.advance(60)
    await flush(engine, redis)
    await engine.reconcile(100)
    found = await read(engine, job)
    assert (found.state, found.due_at, found.expires_at) == (
        State.DELAYED,
        before.due_at,
        before.due_at + timedelta(seconds=10),
    )


async def test_a_promoted_job_comes_back_due(engine: LedgeredEngine, redis: RedisServer) -> None:
    job = await put(engine, delay=3_600.0, expire_after=10.0)
    assert await engine.promote([job]) == 1
    before = await read(engine, job)
    await flush(engine, redis)
    await engine.reconcile(100)
    assert (await read(engine, job)).expires_at == before.expires_at
    assert (await run_one(engine)).id == job


async def test_a_debounced_job_comes_back_with_the_due_time_and_expiry_of_its_latest_newcomer(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    window = Window("debounce", 10.0)
    job = await put(engine, key="k", window=window, expire_after=5.0)
    clock.advance(8)
    assert await put(engine, key="k", window=window, expire_after=5.0) == job
    before = await read(engine, job)
    await flush(engine, redis)
    await engine.reconcile(100)
    found = await read(engine, job)
    assert (found.due_at, found.expires_at) == (before.due_at, before.expires_at)


async def test_what_redis_lost_can_be_promoted_and_rescheduled_before_anybody_has_reconciled(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    one, other = await put(engine, delay=60.0), await put(engine)
    await flush(engine, redis)
    assert await engine.promote([one]) == 1
    assert await engine.reschedule([other], 60.0) == 1
    assert (await run_one(engine)).id == one
    assert (await read(engine, other)).due_at == clock.now() + timedelta(seconds=60)  # type: ignore[operator]


async def test_what_had_waited_for_others_has_its_whole_time_to_begin(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    first = await take(engine)
    second = await put(engine, ties=after(first.id), expire_after=60.0)
    clock.advance(3_600)
    await flush(engine, redis)
    await engine.reconcile(100)
    assert len(await engine.expire(10)) == 0
    await settle(engine, (await claim(engine))[0])
    assert (await run_one(engine)).id == second


async def test_what_expired_and_was_pruned_before_anybody_looked_is_not_dispatched_again(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    job = await put(engine, expire_after=10.0)
    clock.advance(11)
    assert len(await engine.expire(10)) == 1
    assert await engine.prune(Retention("default", keep_failed=0), 10) == 1
    done = await engine.reconcile(100)
    assert (done.restored, done.ended) == (0, 1)
    assert await row(engine, job) == ("cancelled", 0, True)
    told = await engine.history(job)
    assert told is not None
    assert told.error_message == EXPIRED


async def test_what_failed_and_was_pruned_before_anybody_looked_is_not_run_again(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    first = await take(engine)
    late = after(first.id)._replace(deadline=5.0, at_deadline="fail")
    job = await put(engine, ties=late)
    clock.advance(6)
    assert len(await engine.expire(10)) == 1
    assert await engine.prune(Retention("default", keep_failed=0), 10) == 1
    await engine.reconcile(100)
    assert (await row(engine, job))[0] == "failed"


# -- what else was asked for ---------------------------------------------------------------------------


async def test_a_run_that_was_asked_to_stop_does_not_begin_anew(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    held = await take(engine)
    assert await engine.cancel([held.id], "not wanted") == [State.ACTIVE]
    await flush(engine, redis)
    assert (await engine.reconcile(100)).ended == 1
    assert await claim(engine) == []
    told = await engine.history(held.id)
    assert told is not None
    assert (told.status, told.error_message) == ("cancelled", "not wanted")


async def test_a_lost_dead_letter_can_be_looked_at_and_recovered_once(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    dead = await finish(engine, key="k", args='{"n": 7}', outcome=failed(message="bad"))
    await flush(engine, redis)
    letter = await engine.dead_letter(dead.id)
    assert letter is not None
    assert letter.error is not None
    assert (letter.reason, letter.error["message"], letter.args) == ("exhausted", "bad", {"n": 7})
    heirs = [make_id(), make_id()]
    for heir in heirs:
        assert await engine.recover([Recovery(dead.id, heir)]) == [heirs[0]]
    assert await put(engine, key="k") == heirs[0]
    held = await run_one(engine)
    assert (held.id, held.attempt, held.args) == (heirs[0], 1, '{"n": 7}')
    letter = await engine.dead_letter(dead.id)
    assert letter is not None
    assert letter.recovered_as == heirs[0]


async def test_a_dead_letter_that_was_removed_is_not_there_by_its_row(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    kept, lost = [await finish(engine, outcome=failed()) for _ in range(2)]
    assert await engine.remove_dead_letters([kept.id]) == 1
    await flush(engine, redis)
    assert await engine.remove_dead_letters([lost.id]) == 1
    for dead in (kept, lost):
        assert await engine.dead_letter(dead.id) is None
        assert await engine.recover([Recovery(dead.id, make_id())]) == [None]
        assert (await row(engine, dead.id))[0] == "failed"


async def test_dead_letters_that_were_purged_are_not_there_by_their_rows(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    old = await finish(engine, outcome=failed())
    clock.advance(1_800)
    young = await finish(engine, outcome=failed())
    await flush(engine, redis)
    assert await engine.purge(900.0, 10) == 1
    assert await engine.dead_letter(old.id) is None
    assert await engine.dead_letter(young.id) is not None


async def test_a_recovered_job_and_one_of_a_schedule_come_back(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    dead = await finish(engine, key="k", outcome=failed())
    (heir,) = await engine.recover([Recovery(dead.id, make_id())])
    assert heir is not None
    await flush(engine, redis)
    assert (await engine.reconcile(100)).restored == 1
    assert await engine.recover([Recovery(dead.id, make_id())]) == [heir]
    assert (await run_one(engine)).id == heir


async def test_a_flow_is_shown_with_those_that_have_not_ended(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    flow = FlowName(make_id(), "course")
    first = await take(engine, ties=Ties(feeds=True, flow=flow))
    second = await put(engine, ties=after(first.id, flow=flow))
    await settle(engine, first)
    await flush(engine, redis)
    await engine.reconcile(100)
    found = await engine.flow(flow.id)
    assert found is not None
    assert (found.name, [job.id for job in found.jobs]) == ("course", [second])


async def test_who_waited_for_a_failed_job_waits_for_what_it_was_recovered_as(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    dead = await take(engine, ties=Ties(feeds=True))
    waits = await blocked(engine, dead.id, "wait")
    await settle(engine, dead, failed())
    (heir,) = await engine.recover([Recovery(dead.id, make_id())])
    await flush(engine, redis)
    await engine.reconcile(100)
    assert (await read(engine, waits)).blocked_by == (heir,)
    assert (await run_one(engine)).id == heir
    assert (await run_one(engine)).id == waits


# -- schedules ----------------------------------------------------------------------------------------


def nightly(clock: FakeClock, **more: Any) -> ScheduleRow:
    next_at = clock.now() + timedelta(hours=1)  # type: ignore[operator]
    return ScheduleRow(id="nightly", spec='{"n": 1}', next_at=next_at, **more)


async def test_schedules_come_back_with_their_next_tick(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    row = nightly(clock)
    assert row.next_at is not None
    await engine.put_schedules([row])
    clock.advance(3_600)
    later = row.next_at + timedelta(hours=1)
    assert await engine.fire(Tick("nightly", row.next_at, later, new())) is not None
    await flush(engine, redis)
    await engine.reconcile(100)
    [found] = await engine._inner.schedules()
    assert (found.id, found.spec, found.next_at, found.paused) == ("nightly", row.spec, later, False)


async def test_a_paused_schedule_stays_paused_though_workers_declare_it_anew(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    await engine.put_schedules([nightly(clock, source="app")])
    await engine.pause_schedule("nightly", True, None)
    await flush(engine, redis)
    await engine.put_schedules([nightly(clock, source="app")])
    [found] = await engine.schedules()
    assert (found.paused, found.next_at) == (True, None)


async def test_who_watches_is_told_of_lost_schedules_before_anybody_has_reconciled(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    await engine.put_schedules([nightly(clock)])
    await flush(engine, redis)
    assert [row.id for row in (await engine.survey(60)).schedules] == ["nightly"]


async def test_a_removed_schedule_does_not_come_back(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    await engine.put_schedules([nightly(clock)])
    assert await engine.remove_schedules(["nightly"]) == 1
    await flush(engine, redis)
    assert await engine.schedules() == []


async def test_a_lost_schedule_can_be_removed_before_anybody_has_reconciled(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    await engine.put_schedules([nightly(clock)])
    redis.ask("FLUSHALL")
    await engine._inner.migrate()
    assert await engine.remove_schedules(["nightly"]) == 1
    assert await engine.schedules() == []


# -- a row that cannot be dispatched --------------------------------------------------------------------


@pytest.mark.parametrize("lost", [False, True], ids=["not dispatched", "lost"])
async def test_a_bad_row_blocks_nobody_and_is_tried_again_later(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock, lost: bool, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [new() for _ in range(7)]
    await engine._books.put(jobs)
    if lost:
        await engine._books.mark([job.id for job in jobs])
    bad = jobs[3].id
    enqueue = engine._inner.enqueue

    async def picky(wanted: Any, *, again: bool = False) -> Any:
        if any(job.id == bad for job in wanted):
            raise EngineError("too strange")
        return await enqueue(wanted, again=again)

    engine._inner.enqueue = picky  # type: ignore[method-assign]
    clock.advance(GRACE)
    done = await engine.reconcile(100)
    assert done.repairs == 6
    assert f"job {bad}" in caplog.text
    assert "too strange" in caplog.text
    assert (await engine._books.lines([bad]))[bad].error == "not dispatched: EngineError: too strange"
    caplog.clear()
    assert (await engine.reconcile(100)).repairs == 0  # it is not tried again and again
    assert not caplog.text
    engine._inner.enqueue = enqueue  # type: ignore[method-assign]
    clock.advance(PUT_OFF)
    assert (await engine.reconcile(100)).repairs == 1
    assert await state(engine, bad) is State.WAITING


async def test_a_row_that_cannot_be_read_blocks_nobody(engine: LedgeredEngine, clock: FakeClock) -> None:
    jobs = [new() for _ in range(5)]
    await engine._books.put(jobs)
    spoilt = {"id": jobs[2].id, "spec": "[17]"}
    await engine._books.database.run([Say("retie", {"rows": json.dumps([spoilt])})])
    clock.advance(GRACE)
    assert (await engine.reconcile(100)).dispatched == 4


async def test_an_engine_that_is_away_is_no_bad_row(
    engine: LedgeredEngine, redis: RedisServer, clock: FakeClock
) -> None:
    await engine._books.put([new(), new()])
    clock.advance(GRACE)
    redis.stop()
    with pytest.raises(EngineUnavailable):
        await engine.reconcile(100)
    redis.start()
    await engine._inner.migrate()
    assert (await engine.reconcile(100)).dispatched == 2


# -- bounds -------------------------------------------------------------------------------------------


async def test_keys_are_let_go_in_bounded_steps_the_oldest_first(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    jobs = []
    for n in range(5):
        jobs.append(await finish(engine, key=f"k{n}"))
        clock.advance(1)
    kept = Retention("default", keep_completed=1)
    free = []
    for _ in range(3):
        await engine._books.release_keys(kept, 2)
        lines = await engine._books.lines([job.id for job in jobs])
        free.append([n for n, job in enumerate(jobs) if not lines[job.id].key_held])
    assert free == [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3]]


async def test_keys_of_what_redis_lost_are_let_go_too(engine: LedgeredEngine, redis: RedisServer) -> None:
    done = await finish(engine, key="k")
    await flush(engine, redis)
    await engine.prune(Retention("default", keep_completed=0), 10)
    assert await put(engine, key="k") != done.id
