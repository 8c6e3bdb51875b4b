"""settle and once on a lent connection: the work, the record of an effect and the end of the run are one."""

from __future__ import annotations

import asyncio

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    after,
    claim,
    counts,
    end,
    gone,
    new,
    put,
    read,
    register,
    settle,
    state,
    take,
    want,
)
from conformance.test_lent import World, every_kind, world_of_kind  # noqa: F401 - a fixture
from lent_kit import POSTGRES_KINDS, Kind
from penstock.engine import Effect, EffectFilter, Group, Settlement
from penstock.lent import AsyncLent, lent
from penstock.model.breaker import Breaker, Circuit
from penstock.model.clock import FakeClock
from penstock.model.job import Claim
from penstock.model.lanes import group_name, limited_lane
from penstock.model.limits import Limit
from penstock.model.outcome import Completed
from penstock.model.states import State

DAY = 86_400.0


async def settle_on(world: World, settlement: Settlement) -> bool:
    """In the user's transaction."""
    connection = lent(world.user.raw)
    if isinstance(connection, AsyncLent):
        return await world.verbs.asettle(connection, settlement)
    return world.verbs.settle(connection, settlement)


async def once_on(world: World, held: Claim, name: str = "charge") -> bool:
    connection, effect = lent(world.user.raw), Effect(held.task, held.key, name, held.id, DAY)
    if isinstance(connection, AsyncLent):
        return await world.verbs.aonce(connection, effect)
    return world.verbs.once(connection, effect)


async def names(world: World) -> list[str]:
    return [found.name for found in await world.engine.effects(EffectFilter(), 10)]


@pytest.fixture
async def held(world: World) -> Claim:
    await register(world.engine)
    return await take(world.engine)


@every_kind
async def test_what_is_committed_is_settled_as_if_the_engine_had_done_it(
    world: World,
    held: Claim,
    clock: FakeClock,
) -> None:
    follower = new("other", args='{"n":1}', delay=5)
    outcome = Completed('{"né":"%s $1"}', "a note")
    clock.advance(10)
    await world.user.begin()
    assert await settle_on(world, end(held, outcome, 1.5, then=[follower])) is True
    await world.user.commit()
    job = await read(world.engine, held.id)
    assert (job.state, job.result_json, job.note) == (State.COMPLETED, outcome.result, outcome.note)
    assert (job.ran_for, job.finished_at) == (1.5, clock.now())
    assert (await read(world.engine, follower.id)).created_at == clock.now()
    assert await counts(world.engine) == {State.COMPLETED: 1}
    assert await counts(world.engine, "other") == {State.DELAYED: 1}
    assert await settle(world.engine, held) is False
    assert await settle(world.engine, held, again=True) is True


@every_kind
async def test_what_is_rolled_back_was_never_settled(world: World, held: Claim) -> None:
    follower = new(key="k")
    await world.user.begin()
    assert await settle_on(world, end(held, then=[follower])) is True
    await world.user.rollback()
    assert await state(world.engine, held.id) is State.ACTIVE
    assert await world.engine.get(follower.id) is None
    assert await counts(world.engine) == {State.ACTIVE: 1}
    assert await settle(world.engine, held, then=[follower]) is True
    assert await state(world.engine, follower.id) is State.WAITING


@every_kind
async def test_the_job_ends_with_the_rows_of_the_caller(world: World, held: Claim) -> None:
    await world.user.begin()
    await world.user.execute("create table rows_of_his (n integer)")
    await world.user.commit()
    for ending in (world.user.rollback, world.user.commit):
        await world.user.begin()
        await world.user.execute("insert into rows_of_his values (1)")
        assert await settle_on(world, end(held)) is True
        await ending()
    await world.user.begin()
    await world.user.execute("insert into rows_of_his select count(*) + 10 from rows_of_his")
    rows = await fetch(world, "select n from rows_of_his order by n")
    await world.user.execute("drop table rows_of_his")
    await world.user.commit()
    assert rows == [(1,), (11,)]
    assert await state(world.engine, held.id) is State.COMPLETED


async def fetch(world: World, sql: str) -> list[tuple[object, ...]]:
    connection = lent(world.user.raw)
    if isinstance(connection, AsyncLent):
        return await connection.fetch(sql)
    return connection.fetch(sql)


@every_kind
async def test_a_holder_that_lost_the_job_is_told_and_nothing_changes(
    world: World,
    held: Claim,
    clock: FakeClock,
) -> None:
    clock.advance(31)
    await world.engine.rescue(10, gone)
    await register(world.engine, "worker-2")
    [again] = await claim(world.engine, worker="worker-2")
    follower = new()
    await world.user.begin()
    assert await settle_on(world, end(held, then=[follower])) is False
    assert await settle_on(world, end(held)._replace(token="no token")) is False
    await world.user.commit()
    assert await state(world.engine, held.id) is State.ACTIVE
    assert await world.engine.get(follower.id) is None
    assert await settle(world.engine, again) is True


@every_kind
async def test_a_job_without_a_record_is_gone_and_its_key_is_free(world: World) -> None:
    await register(world.engine)
    held = await take(world.engine, key="k")
    await world.user.begin()
    assert await settle_on(world, end(held, keep=False)) is True
    await world.user.commit()
    assert await world.engine.get(held.id) is None
    assert (await world.engine.enqueue([new(key="k")]))[0].duplicate is False


@every_kind
async def test_who_waits_for_the_job_begins_with_the_commit(world: World) -> None:
    await register(world.engine)
    held = await take(world.engine, ties=after(feeds=True))
    blocked = await put(world.engine, ties=after(held.id))
    await world.user.begin()
    assert await settle_on(world, end(held)) is True
    await world.user.commit()
    assert await state(world.engine, blocked) is State.WAITING


@every_kind
async def test_its_place_under_a_limit_is_free_and_its_breakers_are_told(
    world: World, clock: FakeClock
) -> None:
    engine, group = world.engine, group_name(QUEUE, TASK)
    lane = limited_lane(group)
    await engine.put_breakers([Breaker(name="api", threshold=1, reset=5)])
    await engine.put_groups([Group(group, Limit(concurrency=1), needs=("api",))])
    await engine.set_breaker("api", Circuit.OPEN)
    clock.advance(6)
    await register(engine)
    await engine.enqueue([new(lane=lane), new(lane=lane)])
    [held] = await claim(engine)
    await world.user.begin()
    assert await settle_on(world, end(held, Completed(healthy=True))) is True
    await world.user.commit()
    [breaker] = await engine.breakers()
    assert breaker.circuit is Circuit.CLOSED
    assert [group.active for group in await engine.groups()] == [0]
    assert len(await claim(engine)) == 1


# -- effects ----------------------------------------------------------------------------------------
@every_kind
async def test_an_effect_happens_once_where_its_transaction_commits(world: World, held: Claim) -> None:
    await world.user.begin()
    assert await once_on(world, held) is True
    assert await once_on(world, held) is False
    assert await once_on(world, held, "mail 'né' %s") is True
    await world.user.commit()
    await world.user.begin()
    assert await once_on(world, held) is False
    await world.user.rollback()
    assert await names(world) == ["charge", "mail 'né' %s"]


@every_kind
async def test_an_effect_that_is_rolled_back_has_not_happened(world: World, held: Claim) -> None:
    await world.user.begin()
    assert await once_on(world, held) is True
    await world.user.rollback()
    assert await names(world) == []
    await world.user.begin()
    assert await once_on(world, held) is True
    await world.user.commit()
    assert await names(world) == ["charge"]


postgres = pytest.mark.parametrize(
    "kind", [kind for kind in POSTGRES_KINDS if kind.name == "asyncpg"], ids=["asyncpg"]
)


@postgres
@pytest.mark.parametrize("commits", [True, False])
async def test_two_at_once_the_second_waits_and_goes_by_how_the_first_ends(
    kind: Kind,
    world: World,
    held: Claim,
    commits: bool,
) -> None:
    async with kind.open(world.place.address) as other:
        effect = Effect(held.task, held.key, "charge", held.id, DAY)
        await world.user.begin()
        assert await once_on(world, held) is True
        await other.begin()
        connection = lent(other.raw)
        assert isinstance(connection, AsyncLent)
        second = asyncio.create_task(world.verbs.aonce(connection, effect))
        while not await _somebody_waits(world):
            await asyncio.sleep(0.01)
        await (world.user.commit() if commits else world.user.rollback())
        assert await second is not commits
        await other.commit()


async def _somebody_waits(world: World) -> bool:
    [(count,)] = await fetch(world, "select count(*)::integer from pg_locks where not granted")
    return bool(count)


@postgres
async def test_a_job_settled_meanwhile_waits_for_the_transaction_and_is_refused(
    kind: Kind,
    world: World,
    held: Claim,
) -> None:
    await world.user.begin()
    assert await settle_on(world, end(held)) is True
    late = asyncio.create_task(world.engine.settle([end(held)], want()))
    while not await _somebody_waits(world):
        await asyncio.sleep(0.01)
    await world.user.commit()
    assert (await late).accepted == [False]
