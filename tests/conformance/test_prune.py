"""prune: the past is bounded by count and by age, and its keys go with it."""

import pytest

from conformance.kit import QUEUE, claim, counts, failed, finish, ids, new, put, settle, state, take
from penstock.engine import JobFilter, Retention, ScheduleRow
from penstock.model.job import Ties
from penstock.model.outcome import COMPLETED, Cancelled
from penstock.model.states import State

EVERYTHING = Retention(QUEUE, keep_completed=0, keep_failed=0)
ALL = Retention(QUEUE, keep_completed=None, keep_failed=None)


async def finish_many(engine, clock, count, outcome=COMPLETED, queue=QUEUE) -> list[str]:
    """Ids in the order in which they ended, a second apart."""
    done = []
    for _ in range(count):
        clock.advance(1)
        await engine.beat("worker-1", 30)
        done.append((await finish(engine, queue, outcome=outcome)).id)
    return done


async def left(engine) -> list[str]:
    return ids(await engine.jobs(JobFilter(), 1_000))[::-1]


async def test_the_newest_completed_jobs_are_kept(engine, worker, clock):
    done = await finish_many(engine, clock, 5)
    assert await engine.prune(Retention(QUEUE, keep_completed=2), 10) == 3
    assert await left(engine) == done[3:]
    assert await counts(engine) == {State.COMPLETED: 2}


async def test_the_newest_failed_jobs_are_kept(engine, worker, clock):
    done = await finish_many(engine, clock, 5, failed())
    assert await engine.prune(Retention(QUEUE, keep_failed=2), 10) == 3
    assert await left(engine) == done[3:]
    assert await counts(engine) == {State.FAILED: 2}


async def test_completed_and_failed_are_bounded_apart(engine, worker, clock):
    completed = await finish_many(engine, clock, 3)
    broken = await finish_many(engine, clock, 3, failed())
    assert await engine.prune(Retention(QUEUE, keep_completed=1, keep_failed=2), 10) == 3
    assert await left(engine) == completed[2:] + broken[1:]


async def test_failed_and_cancelled_share_one_bound(engine, worker, clock):
    cancelled = await finish_many(engine, clock, 2, Cancelled("no"))
    broken = await finish_many(engine, clock, 2, failed())
    assert await engine.prune(Retention(QUEUE, keep_failed=3), 10) == 1
    assert await left(engine) == [cancelled[1], *broken]
    assert await engine.prune(Retention(QUEUE, keep_failed=1), 10) == 2
    assert await left(engine) == broken[1:]


async def test_nothing_is_kept_where_the_queue_keeps_none(engine, worker, clock):
    await finish_many(engine, clock, 3)
    assert await engine.prune(Retention(QUEUE, keep_completed=0), 10) == 3
    assert await counts(engine) == {}


async def test_within_bounds_nothing_is_removed(engine, worker, clock):
    await finish_many(engine, clock, 3)
    assert await engine.prune(Retention(QUEUE, keep_completed=3), 10) == 0
    assert await engine.prune(ALL, 10) == 0
    assert await counts(engine) == {State.COMPLETED: 3}


@pytest.mark.parametrize("outcome", [COMPLETED, failed(), Cancelled("no")], ids=lambda o: o.verb)
async def test_old_jobs_go_by_age_however_they_ended(engine, worker, clock, outcome):
    [old] = await finish_many(engine, clock, 1, outcome)
    clock.advance(9)
    await engine.beat(worker, 30)
    fresh = (await finish(engine, outcome=outcome)).id
    clock.advance(2)
    retention = Retention(QUEUE, keep_completed=None, keep_failed=None, max_age=10)
    assert await engine.prune(retention, 10) == 1
    assert await state(engine, old) is None
    assert await state(engine, fresh) is outcome.state


async def test_age_counts_from_the_end(engine, worker, clock):
    await put(engine)
    clock.advance(20)
    await engine.beat(worker, 30)
    [held] = await claim(engine)
    await settle(engine, held)
    assert await engine.prune(Retention(QUEUE, max_age=10), 10) == 0


async def test_both_bounds_hold_together(engine, worker, clock):
    done = await finish_many(engine, clock, 4)
    clock.advance(1)
    assert await engine.prune(Retention(QUEUE, keep_completed=3, max_age=2.5), 10) == 2
    assert await left(engine) == done[2:]


async def test_unfinished_jobs_are_never_pruned(engine, worker, clock):
    await take(engine)
    await put(engine)
    await put(engine, delay=1)
    clock.advance(days=400)
    assert await engine.prune(Retention(QUEUE, keep_completed=0, keep_failed=0, max_age=0), 10) == 0
    assert sum((await counts(engine)).values()) == 3


async def test_a_step_is_bounded(engine, worker, clock):
    done = await finish_many(engine, clock, 5)
    steps = [await engine.prune(Retention(QUEUE, keep_completed=0), 2) for _ in range(4)]
    assert steps == [2, 2, 1, 0]
    assert all([await state(engine, job) is None for job in done])


async def test_whatever_the_size_of_its_steps_the_newest_are_kept(engine, worker, clock):
    done = await finish_many(engine, clock, 6)
    for rest in (5, 4, 3, 2):
        assert await engine.prune(Retention(QUEUE, keep_completed=2), 1) == 1
        found = await left(engine)
        assert (len(found), found[-2:]) == (rest, done[-2:])
    assert await engine.prune(Retention(QUEUE, keep_completed=2), 1) == 0


async def test_other_queues_are_left_alone(engine, worker, clock):
    await finish_many(engine, clock, 2, queue="other")
    assert await engine.prune(Retention(QUEUE, keep_completed=0, max_age=0), 10) == 0
    assert await counts(engine, "other") == {State.COMPLETED: 2}


async def test_a_pruned_job_frees_its_key_and_no_other(engine, worker, clock):
    old = await finish(engine, key="old")
    clock.advance(1)
    kept = await finish(engine, key="kept")
    assert await engine.prune(Retention(QUEUE, keep_completed=1), 10) == 1
    answers = await engine.enqueue([new(key="old"), new(key="kept")])
    assert [a.duplicate for a in answers] == [False, True]
    assert answers[1].id == kept.id != old.id


async def test_pruning_a_failed_job_leaves_its_dead_letter(engine, worker):
    held = await finish(engine, outcome=failed())
    assert await engine.prune(Retention(QUEUE, keep_failed=0), 10) == 1
    assert await engine.get(held.id) is None
    assert await engine.dead_letter(held.id) is not None
    assert await engine.dead_count() == 1


async def test_a_named_clean_up_is_done_once_for_a_queue_whoever_comes_first(engine, worker, clock):
    await finish_many(engine, clock, 4)
    await finish_many(engine, clock, 2, queue="other")
    everything = Retention(QUEUE, keep_completed=0)
    assert await engine.prune(everything, 3, run="2026-01-05") == 3
    assert await engine.prune(everything, 3, run="2026-01-05") == 0
    assert await engine.prune(everything, 3, run="2026-01-04") == 0
    assert await engine.prune(Retention("other", keep_completed=0), 3, run="2026-01-05") == 2
    assert await engine.prune(everything, 3, run="2026-01-06") == 1


# -- shelves ------------------------------------------------------------------------------------------------

SHELF = "schedule nightly"
SHELVED = Ties(shelf=SHELF)


async def test_jobs_on_another_shelf_are_not_counted_or_pruned_with_their_queue(engine, worker, clock):
    shelved = [(await finish(engine, ties=SHELVED)).id for _ in range(3)]
    own = await finish_many(engine, clock, 3)
    assert await engine.prune(Retention(QUEUE, keep_completed=1, max_age=0.5), 10) == 2
    assert await left(engine) == [*shelved, own[2]]
    assert await counts(engine) == {State.COMPLETED: 4}


async def test_a_shelf_keeps_the_newest_of_its_own(engine, worker, clock):
    own = await finish_many(engine, clock, 2)
    shelved = []
    for _ in range(4):
        clock.advance(1)
        shelved.append((await finish(engine, ties=SHELVED)).id)
    assert await engine.prune(Retention(SHELF, keep_completed=1), 10) == 3
    assert await left(engine) == [*own, shelved[3]]


async def test_a_shelf_bounds_failed_jobs_and_age_like_a_queue(engine, worker, clock):
    await finish_many(engine, clock, 1, failed())
    broken = [(await finish(engine, ties=SHELVED, outcome=o)).id for o in (failed(), Cancelled("no"))]
    assert await engine.prune(Retention(SHELF, keep_failed=1), 10) == 1
    assert len(set(broken) & set(await left(engine))) == 1
    clock.advance(11)
    assert await engine.prune(Retention(SHELF, None, None, max_age=10), 10) == 1
    assert await counts(engine) == {State.FAILED: 1}


async def test_a_shelf_may_hold_jobs_of_several_queues(engine, worker):
    await finish(engine, ties=SHELVED)
    await finish(engine, "other", ties=SHELVED)
    assert await engine.prune(Retention(SHELF, keep_completed=0), 10) == 2
    assert await counts(engine) == await counts(engine, "other") == {}


async def test_a_job_pruned_from_a_shelf_frees_its_key(engine, worker):
    await finish(engine, key="k", ties=SHELVED)
    assert await engine.prune(Retention(SHELF, keep_completed=0), 10) == 1
    assert (await engine.enqueue([new(key="k")]))[0].duplicate is False


async def test_a_shelf_is_no_queue(engine, worker):
    await finish(engine, ties=SHELVED)
    assert [found.queue for found in await engine.queues()] == [QUEUE]


OF_SCHEDULE = Ties(shelf="@nightly")


async def test_the_shelf_of_a_schedule_that_is_there_is_left_alone(engine, worker):
    await engine.put_schedules([ScheduleRow(id="nightly", spec="{}", source="shop")])
    job = await finish(engine, ties=OF_SCHEDULE)
    await engine.tidy()
    assert await engine.prune(EVERYTHING, 10) == 0
    assert await left(engine) == [job.id]


async def test_jobs_of_a_schedule_that_was_removed_are_kept_with_those_of_their_queue(engine, worker, clock):
    await engine.put_schedules([ScheduleRow(id="nightly", spec="{}", source="shop")])
    outcomes = (COMPLETED, COMPLETED, failed())
    done = [await finish(engine, key=f"k{n}", ties=OF_SCHEDULE, outcome=o) for n, o in enumerate(outcomes)]
    running = await take(engine, "other", ties=OF_SCHEDULE)
    await engine.remove_schedules(["nightly"])
    await engine.tidy()
    clock.advance(1)
    own = await finish(engine)
    assert await engine.prune(Retention(QUEUE, keep_completed=2, keep_failed=0), 10) == 2
    assert await left(engine) == [done[1].id, running.id, own.id]
    await settle(engine, running)
    await engine.tidy()
    assert await engine.prune(Retention("other", keep_completed=0), 10) == 1
    assert await engine.prune(EVERYTHING, 10) == 2
    assert await counts(engine) == await counts(engine, "other") == {}
    assert not (await engine.enqueue([new(key="k1")]))[0].duplicate


async def test_jobs_of_a_schedule_that_keeps_nothing_apart_any_more_are_kept_with_those_of_their_queue(
    engine, worker
):
    rows = [ScheduleRow(id=name, spec="{}", source="shop") for name in ("nightly", "hourly")]
    await engine.put_schedules(rows)
    job = await finish(engine, ties=OF_SCHEDULE)
    other = await finish(engine, ties=Ties(shelf="@hourly"))
    await engine.tidy(["nightly"])
    assert await left(engine) == [job.id, other.id]
    assert await engine.prune(EVERYTHING, 10) == 1
    assert await left(engine) == [other.id]
