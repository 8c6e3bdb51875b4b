"""progress: told by the holder of the token, and by nobody else."""

import pytest

from conformance.kit import claim, gone, put, read, retried, settle, take
from penstock.model.values import dumps


async def test_progress_is_stored(engine, worker):
    held = await take(engine)
    assert await engine.progress(held.id, held.token, '{"percent":40,"message":"rendering"}')
    assert (await read(engine, held.id)).progress == {"percent": 40, "message": "rendering"}
    assert await engine.progress(held.id, held.token, '{"percent":80,"message":null}')
    assert (await read(engine, held.id)).progress == {"percent": 80, "message": None}


async def test_any_text_can_be_a_message(engine, worker):
    held = await take(engine)
    told = {"percent": 1.5, "message": "a\u0000b 'quoted' \u202e 日本"}
    assert await engine.progress(held.id, held.token, dumps(told, 1_000))
    assert (await read(engine, held.id)).progress == told


async def test_only_the_holder_of_the_token_may_tell(engine, worker):
    held = await take(engine)
    assert not await engine.progress(held.id, "no-such-token", "{}")
    assert not await engine.progress(await put(engine), held.token, "{}")
    assert (await read(engine, held.id)).progress is None


@pytest.mark.parametrize("outcome", [retried(), retried(60)], ids=["waiting", "delayed"])
async def test_a_run_that_ended_cannot_tell(engine, worker, outcome):
    held = await take(engine)
    await settle(engine, held, outcome)
    assert not await engine.progress(held.id, held.token, '{"percent":1}')
    assert (await read(engine, held.id)).progress is None


async def test_a_finished_job_keeps_its_last_progress(engine, worker):
    held = await take(engine)
    await engine.progress(held.id, held.token, '{"percent":99}')
    await settle(engine, held)
    assert (await read(engine, held.id)).progress == {"percent": 99}
    assert not await engine.progress(held.id, held.token, '{"percent":100}')
    assert (await read(engine, held.id)).progress == {"percent": 99}


async def test_a_rescued_holder_is_told_that_the_job_is_not_its_own(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    assert not await engine.progress(held.id, held.token, '{"percent":1}')


async def test_progress_changes_nothing_else(engine, worker):
    held = await take(engine)
    before = await read(engine, held.id)
    await engine.progress(held.id, held.token, '{"percent":1}')
    after = await read(engine, held.id)
    assert after.progress == {"percent": 1}
    assert (after.state, after.attempt, after.claimed_at) == (before.state, before.attempt, before.claimed_at)
    assert await claim(engine) == []
    assert await settle(engine, held)
