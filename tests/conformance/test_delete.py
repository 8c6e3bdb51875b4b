"""delete: records of finished jobs go, with the keys they hold and no others."""

from conformance.kit import counts, failed, finish, new, put, state, take
from penstock.engine import Recovery
from penstock.model.outcome import Cancelled
from penstock.model.states import State


async def test_finished_jobs_are_removed_however_they_ended(engine, worker):
    done = [await finish(engine, outcome=o) for o in (failed(), Cancelled("no"))] + [await finish(engine)]
    assert await engine.delete([h.id for h in done]) == 3
    assert await counts(engine) == {}
    assert [await engine.get(h.id) for h in done] == [None] * 3


async def test_unfinished_and_unknown_jobs_are_left_alone(engine, worker):
    running = await take(engine)
    waiting, delayed = await put(engine), await put(engine, delay=60)
    assert await engine.delete([running.id, waiting, delayed, new().id]) == 0
    assert await counts(engine) == {State.ACTIVE: 1, State.WAITING: 1, State.DELAYED: 1}


async def test_a_job_is_counted_once(engine, worker):
    held = await finish(engine)
    assert await engine.delete([held.id, held.id]) == 1
    assert await engine.delete([held.id]) == 0
    assert await engine.delete([]) == 0


async def test_a_deleted_job_frees_its_key(engine, worker):
    held = await finish(engine, key="k")
    await engine.delete([held.id])
    assert (await engine.enqueue([new(key="k")]))[0].duplicate is False


async def test_deleting_one_job_never_frees_anothers_key(engine, worker):
    held = await finish(engine, key="k", outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    assert await engine.delete([held.id]) == 1
    [answer] = await engine.enqueue([new(key="k")])
    assert (answer.id, answer.duplicate) == (heir, True)


async def test_a_duplicate_that_never_was_cannot_free_the_key(engine, worker):
    holder, late = await put(engine, key="k"), new(key="k")
    await engine.enqueue([late])
    assert await engine.delete([late.id]) == 0
    assert (await engine.enqueue([new(key="k")]))[0].id == holder


async def test_deleting_a_failed_job_leaves_its_dead_letter(engine, worker):
    held = await finish(engine, outcome=failed())
    await engine.delete([held.id])
    assert await engine.dead_letter(held.id) is not None
    assert await state(engine, held.id) is None
