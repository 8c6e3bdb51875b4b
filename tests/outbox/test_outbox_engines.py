"""From either database to every engine, with the same meaning."""

from __future__ import annotations

from conformance.kit import after, claim, new, register, settle
from outbox_kit import Home, found, ids, jobs, user_database
from penstock.engine import Engine
from penstock.model.job import FlowName, Ties, Window
from penstock.model.states import State

__all__ = ["user_database"]


async def test_rows_become_jobs_with_the_keys_of_the_rows(home: Home, engine: Engine) -> None:
    them = [*jobs(60), new(key="given"), new(key="given"), new(delay=60.0)]
    home.write(*them)
    assert await home.relay_all(engine) == 63
    there = await found(engine)
    assert ids(there) == ids([*them[:61], them[62]])
    assert [job.key for job in there] == [job.key for job in [*them[:61], them[62]]]


async def test_rows_dispatched_again_are_known_finished_or_not(home: Home, engine: Engine) -> None:
    them = [*jobs(60), new(key="given"), new(key="soon", window=Window("started"))]
    home.write(*them)
    await home.relay_all(engine)
    await register(engine)
    for held in (await claim(engine))[:30]:
        await settle(engine, held)
    home.run("update penstock_outbox set dispatched_at = null, next_try_at = created_at")
    assert await home.relay_all(engine) == 62
    assert ids(await found(engine)) == ids(them)
    assert len([job for job in await found(engine) if job.state is State.COMPLETED]) == 30


async def test_a_flow_dispatched_again_is_the_same_flow(home: Home, engine: Engine) -> None:
    flow = FlowName("0f", "course")
    first = new(ties=Ties(flow=flow))
    them = [first, *(new(ties=after(first.id, flow=flow)) for _ in range(20))]
    home.write(*them)
    await home.relay_all(engine)
    home.run("update penstock_outbox set dispatched_at = null, next_try_at = created_at")
    assert await home.relay_all(engine) == 1
    there = await engine.flow("0f")
    assert there is not None
    assert (len(there.jobs), there.unfinished) == (21, 21)
