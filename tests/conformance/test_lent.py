"""enqueue on a lent connection: rolled back it never was, committed it is as if the engine had done it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from conformance.kit import QUEUE, Place, after, claim, counts, make_id, new, news, put, read, register, state
from conftest import lent as lent_place
from conftest import make_place
from lent_kit import KINDS, SQLITE_KINDS, Kind, User, done
from penstock.engine import Engine, OnLent
from penstock.lent import AsyncLent, lent
from penstock.model.clock import FakeClock
from penstock.model.errors import EngineUnavailable, InvalidOption, NotSupported, SchemaMissing
from penstock.model.job import Enqueued, FlowName, NewJob, Ties, Window
from penstock.model.states import State

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.dialect} {kind.name}")


@pytest.fixture(name="world")
async def world_of_kind(
    kind: Kind, request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[World]:
    """An engine, and somebody with a connection to its database."""
    place = make_place("sqlite" if kind.dialect == "sqlite" else "postgres", tmp_path, request)
    with lent_place(place) as found:
        engine = found.engine(clock)
        await engine.migrate()
        await engine.open()
        try:
            async with kind.open(found.address) as user:
                yield World(engine, user, found.on_lent(clock), found)
        finally:
            await engine.close()


class World:
    def __init__(self, engine: Engine, user: User, verbs: OnLent, place: Place) -> None:
        self.engine = engine
        self.user = user
        self.verbs = verbs
        self.place = place

    async def enqueue(self, *jobs: NewJob, again: bool = False) -> list[Enqueued]:
        """In the user's transaction, whichever it is."""
        return await enqueue_on(self.verbs, self.user, jobs, again=again)


async def enqueue_on(
    verbs: OnLent, user: User, jobs: Sequence[NewJob], *, again: bool = False
) -> list[Enqueued]:
    connection = lent(user.raw)
    if isinstance(connection, AsyncLent):
        return await verbs.aenqueue(connection, jobs, again=again)
    return verbs.enqueue(connection, jobs, again=again)


@every_kind
async def test_what_is_committed_is_there_as_if_the_engine_had_done_it(world: World) -> None:
    waiting, delayed = new(args='{"to":"né %s $1 :x"}', owner="u1", priority=2), new(delay=60)
    await world.user.begin()
    assert await world.enqueue(waiting, delayed) == [
        Enqueued(waiting.id, State.WAITING, False),
        Enqueued(delayed.id, State.DELAYED, False),
    ]
    await world.user.commit()
    assert await counts(world.engine) == {State.WAITING: 1, State.DELAYED: 1}
    await register(world.engine)
    [held] = await claim(world.engine)
    assert (held.id, held.args, held.owner, held.priority) == (waiting.id, waiting.args, "u1", 2)


@every_kind
async def test_what_is_rolled_back_never_was(world: World) -> None:
    flow = FlowName(make_id(), "course")
    first = new(ties=Ties(flow=flow))
    jobs = [first, new(ties=Ties(after(first.id).after, flow=flow)), new(key="k"), new(lane="default>work>a")]
    await world.user.begin()
    await world.enqueue(*jobs)
    await world.user.rollback()
    assert await counts(world.engine) == {}
    assert await world.engine.flow(flow.id) is None
    assert [await state(world.engine, job.id) for job in jobs] == [None] * 4
    assert await put(world.engine, key="k") != jobs[2].id
    await register(world.engine)
    assert len(await claim(world.engine)) == 1


@every_kind
async def test_nobody_sees_it_before_the_commit(world: World) -> None:
    await world.user.begin()
    [answer] = await world.enqueue(new())
    assert await state(world.engine, answer.id) is None
    assert await counts(world.engine) == {}
    await world.user.commit()
    assert await state(world.engine, answer.id) is State.WAITING


@every_kind
async def test_a_savepoint_of_the_callers_undoes_what_came_after_it(world: World) -> None:
    kept, lost, last = new(), new(key="k"), new(key="k")
    await world.user.begin()
    await world.enqueue(kept)
    await world.user.savepoint()
    await world.enqueue(lost)
    await world.user.back_to_savepoint()
    await world.user.savepoint()
    [answer] = await world.enqueue(last)
    await world.user.keep_savepoint()
    await world.user.commit()
    assert not answer.duplicate
    assert [await state(world.engine, job.id) for job in (kept, lost, last)] == [
        State.WAITING,
        None,
        State.WAITING,
    ]
    assert await counts(world.engine) == {State.WAITING: 2}


@every_kind
async def test_it_lands_with_the_rows_of_the_caller(world: World) -> None:
    await world.user.begin()
    await world.user.execute("drop table if exists orders")
    await world.user.execute("create table orders (id integer)")
    await world.user.commit()
    for end in (world.user.rollback, world.user.commit):
        await world.user.begin()
        await world.user.execute("insert into orders values (7)")
        [answer] = await world.enqueue(new())
        await world.user.execute("insert into orders values (8)")
        await end()
    found = lent(world.user.raw)
    assert await done(found.fetch("select id from orders order by id")) == [(7,), (8,)]
    assert await state(world.engine, answer.id) is State.WAITING
    assert await counts(world.engine) == {State.WAITING: 1}


@every_kind
async def test_who_waits_for_the_queue_learns_of_it_by_the_commit(world: World) -> None:
    await register(world.engine)
    assert await claim(world.engine) == []
    waiting = asyncio.create_task(world.engine.wait([QUEUE], 60.0))
    await world.user.begin()
    [answer] = await world.enqueue(new())
    await world.user.commit()
    async with asyncio.timeout(30):
        while not (held := await claim(world.engine)):
            await world.engine.wait([QUEUE], 60.0)
    assert [job.id for job in held] == [answer.id]
    waiting.cancel()


@every_kind
async def test_a_taken_key_is_answered_with_its_holder_also_one_of_the_same_transaction(world: World) -> None:
    holder = await put(world.engine, key="there")
    await world.user.begin()
    [mine] = await world.enqueue(new(key="mine"))
    again = await world.enqueue(new(key="mine"), new(key="there"), new(key="mine"))
    await world.user.commit()
    assert [(answer.id, answer.duplicate) for answer in again] == [
        (mine.id, True),
        (holder, True),
        (mine.id, True),
    ]
    assert await counts(world.engine) == {State.WAITING: 2}


@every_kind
async def test_a_debounced_job_is_put_off_only_by_what_is_committed(world: World, clock: FakeClock) -> None:
    window = Window("debounce", 60)
    job_id = await put(world.engine, key="k", window=window, args='{"n":1}')
    due = (await read(world.engine, job_id)).due_at
    clock.advance(30)
    for end in (world.user.rollback, world.user.commit):
        assert (await read(world.engine, job_id)).due_at == due
        await world.user.begin()
        [answer] = await world.enqueue(new(key="k", window=window, args='{"n":2}'))
        assert (answer.id, answer.duplicate) == (job_id, True)
        await end()
    found = await read(world.engine, job_id)
    assert ((found.due_at - due).total_seconds(), found.args) == (30, {"n": 2})


@every_kind
async def test_the_same_ids_again_are_known_where_that_is_said(world: World) -> None:
    jobs = [new(), new(key="k"), new(delay=5)]
    await world.user.begin()
    await world.enqueue(*jobs)
    await world.user.rollback()
    for _ in range(2):
        await world.user.begin()
        answers = await world.enqueue(*jobs, again=True)
        assert [(answer.id, answer.duplicate) for answer in answers] == [(job.id, False) for job in jobs]
        await world.user.commit()
    assert await counts(world.engine) == {State.WAITING: 2, State.DELAYED: 1}


@every_kind
async def test_many_jobs_are_one_call(world: World) -> None:
    jobs = news(1_000, args='{"n":1}')
    await world.user.begin()
    assert [answer.id for answer in await world.enqueue(*jobs)] == [job.id for job in jobs]
    await world.user.commit()
    assert await counts(world.engine) == {State.WAITING: 1_000}


# On PostgreSQL the database itself ends a transaction in which a statement failed.
@pytest.mark.parametrize("kind", SQLITE_KINDS, ids=lambda kind: kind.name)
async def test_the_transaction_goes_on_after_a_call_that_was_refused(world: World) -> None:
    kept, bad = new(), new(args=None, owner="me")
    await world.user.begin()
    await world.enqueue(kept)
    with pytest.raises(Exception, match="NOT NULL"):
        await world.enqueue(new(key="half"), bad)
    await world.user.commit()
    assert await counts(world.engine) == {State.WAITING: 1}
    assert await put(world.engine, key="half")


@every_kind
async def test_a_database_without_the_schema_is_named(kind: Kind, tmp_path: Path, postgres_url: str) -> None:
    is_file = kind.dialect == "sqlite"
    place = Place(
        *(("sqlite", str(tmp_path / "empty.db")) if is_file else ("postgres", postgres_url)), "t_none"
    )
    async with kind.open(place.address) as user:
        await user.begin()
        with pytest.raises(SchemaMissing, match="penstock migrate") as told:
            await enqueue_on(place.on_lent(), user, [new(args='{"card":"4242"}')])
        assert "4242" not in str(told.value)
        await user.rollback()


@pytest.mark.parametrize("kind", SQLITE_KINDS, ids=lambda kind: kind.name)
async def test_a_connection_to_another_file_is_refused_and_the_outbox_named(kind: Kind, world: World) -> None:
    async with kind.open(f"{world.place.address}.other") as stranger:
        with pytest.raises(InvalidOption, match=r"a transaction cannot span both.*outbox="):
            await enqueue_on(world.verbs, stranger, [new()])


@every_kind
async def test_a_connection_to_another_kind_of_database_is_refused(
    kind: Kind, tmp_path: Path, postgres_url: str
) -> None:
    mine, other = Place("sqlite", str(tmp_path / "jobs.db")), Place("postgres", postgres_url, "t_none")
    if kind.dialect == "postgresql":
        mine, other = other, mine
    async with kind.open(mine.address) as user:
        with pytest.raises(InvalidOption, match=r"a transaction cannot span both.*outbox="):
            await enqueue_on(other.on_lent(), user, [new()])


@pytest.mark.parametrize("kind", ["redis", "valkey"])
def test_redis_has_no_such_verbs_and_names_the_outbox(kind: str) -> None:
    with pytest.raises(NotSupported, match=r"outbox=.*penstock relay"):
        Place(kind, "redis://127.0.0.1:1/0", "s").on_lent()


async def test_a_database_in_memory_has_no_connection_that_could_be_lent() -> None:
    [sqlite3_kind, *_] = SQLITE_KINDS
    async with sqlite3_kind.open(":memory:") as user:
        with pytest.raises(InvalidOption, match="outbox="):
            await enqueue_on(Place("memory", ":memory:").on_lent(), user, [new()])


async def test_a_transaction_that_read_what_is_old_by_now_is_told_to_begin_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = make_place("sqlite", tmp_path, request)
    engine = place.engine()
    await engine.migrate()
    await engine.open()
    [_, by_hand, *_] = SQLITE_KINDS
    async with by_hand.open(place.address) as user:
        await user.begin()
        user.raw.execute("select count(*) from penstock_jobs").fetchall()
        await put(engine)
        with pytest.raises(EngineUnavailable, match="BEGIN IMMEDIATE"):
            await enqueue_on(place.on_lent(), user, [new()])
        await user.rollback()
        await enqueue_on(place.on_lent(), user, [new()])
        await user.commit()
    assert await counts(engine, QUEUE) == {State.WAITING: 2}
    await engine.close()
