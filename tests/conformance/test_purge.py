"""purge: dead letters outlive their jobs, but not for ever."""

from conformance.kit import failed, finish, new, read
from penstock.engine import DeadFilter, Recovery
from penstock.model.states import State


async def test_old_dead_letters_are_removed_and_young_ones_kept(engine, worker, clock):
    old = await finish(engine, outcome=failed())
    clock.advance(20)
    young = await finish(engine, outcome=failed())
    assert await engine.purge(older_than=10, limit=10) == 1
    assert await engine.dead_letter(old.id) is None
    assert await engine.dead_letter(young.id) is not None
    assert await engine.dead_count() == 1


async def test_a_step_is_bounded(engine, worker, clock):
    for _ in range(5):
        await finish(engine, outcome=failed())
    clock.advance(11)
    assert [await engine.purge(10, 2) for _ in range(4)] == [2, 2, 1, 0]
    assert await engine.dead_count() == 0


async def test_recovered_dead_letters_are_purged_like_others(engine, worker, clock):
    held = await finish(engine, outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    clock.advance(11)
    assert await engine.purge(10, 10) == 1
    assert await engine.dead_letters(DeadFilter(recovered=True), 10) == []
    assert (await read(engine, heir)).recovered_from == held.id


async def test_purging_a_dead_letter_leaves_the_failed_job(engine, worker, clock):
    held = await finish(engine, outcome=failed())
    clock.advance(11)
    await engine.purge(10, 10)
    assert (await read(engine, held.id)).state is State.FAILED


async def test_a_purged_dead_letter_cannot_be_recovered(engine, worker, clock):
    held = await finish(engine, outcome=failed())
    clock.advance(11)
    await engine.purge(10, 10)
    assert await engine.recover([Recovery(held.id, new().id)]) == [None]


async def test_named_dead_letters_are_removed_whatever_their_age_and_others_kept(engine, worker, clock):
    chosen = [await finish(engine, outcome=failed()) for _ in range(2)]
    kept = await finish(engine, outcome=failed())
    unknown = new().id
    assert await engine.remove_dead_letters([*(held.id for held in chosen), unknown, chosen[0].id]) == 2
    assert [letter.job_id for letter in await engine.dead_letters(DeadFilter(), 10)] == [kept.id]
    assert await engine.dead_count() == 1
    assert (await read(engine, chosen[0].id)).state is State.FAILED, "the job's own record stays"
    assert await engine.recover([Recovery(chosen[0].id, new().id)]) == [None]
    assert await engine.remove_dead_letters([held.id for held in chosen]) == 0


async def test_removing_a_recovered_dead_letter_does_not_count_it_twice(engine, worker, clock):
    held = await finish(engine, outcome=failed())
    await engine.recover([Recovery(held.id, new().id)])
    assert await engine.remove_dead_letters([held.id]) == 1
    assert await engine.dead_count() == 0
    assert await engine.dead_letters(DeadFilter(recovered=True), 10) == []


async def test_removing_no_dead_letters_is_nothing(engine):
    assert await engine.remove_dead_letters([]) == 0
