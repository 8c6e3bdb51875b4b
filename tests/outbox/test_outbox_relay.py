"""Relays: what is committed to an outbox reaches the engine once, in order where asked; nothing else does."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing

import psycopg
import pytest

from conformance.kit import after, claim, new, register, settle
from outbox_kit import Home, found, ids, jobs, other_engine, user_database
from penstock.engine import Engine
from penstock.engines.postgres.failures import translate
from penstock.model.clock import FakeClock
from penstock.model.errors import (
    Contended,
    EngineError,
    EngineUnavailable,
    InvalidOption,
    OutcomeUnknown,
    SchemaMissing,
)
from penstock.model.job import FlowName, NewJob, Ties
from penstock.model.states import State
from penstock.outbox import dispatch as dispatching
from penstock.outbox.store import RUN, STEP
from unit.runtime_kit import Flaky

__all__ = ["other_engine", "user_database"]


async def test_committed_jobs_reach_the_engine_with_all_they_are(home: Home, engine: Engine) -> None:
    job = new(args='{"a":"ü \\u0000"}', key="k", delay=60.0, priority=1, owner="ana", max_attempts=7)
    home.write(job)
    assert await home.relay_all(engine) == 1
    [there] = await found(engine)
    assert (there.id, there.args_json, there.key, there.unique) == (job.id, job.args, "k", True)
    assert (there.state, there.owner, there.max_attempts) == (State.DELAYED, "ana", 7)
    assert home.undispatched() == 0


async def test_a_minted_key_is_the_id_of_the_row(home: Home, engine: Engine) -> None:
    job = new()
    home.write(job)
    await home.relay_all(engine)
    [there] = await found(engine)
    [[row_id]] = home.run("select id from penstock_outbox")
    assert there.key == there.id == job.id == str(row_id)


async def test_what_is_rolled_back_never_was(home: Home, engine: Engine) -> None:
    with closing(home.connect()) as connection:
        home.put(connection, *jobs(3))
        connection.rollback()
    assert await home.relay_all(engine) == 0
    assert await found(engine) == []


async def test_what_is_not_committed_yet_is_not_dispatched_and_is_not_missed_later(
    home: Home, engine: Engine
) -> None:
    """On SQLite a second writer waits for the first; so there is nothing to be overtaken."""
    slow, quick = new(), new()
    with closing(home.connect()) as first:
        home.put(first, slow)
        if home.kind == "postgresql":
            home.write(quick)
            assert await home.relay_all(engine) == 1
            assert ids(await found(engine)) == [quick.id]
        first.commit()
    assert await home.relay_all(engine) == 1
    assert slow.id in ids(await found(engine))


async def test_the_same_call_written_twice_is_one_row(home: Home, engine: Engine) -> None:
    job = new()
    home.write(job)
    home.write(job)
    assert await home.relay_all(engine) == 1


async def test_thousands_of_rows_go_in_batches(home: Home, engine: Engine) -> None:
    home.write(*jobs(2 * STEP + 10))
    flaky = Flaky(engine)
    assert await home.relay_all(flaky) == 2 * STEP + 10
    assert flaky.verbs() == ["enqueue"] * 3


async def test_huge_rows_go_in_batches_of_few(home: Home, engine: Engine) -> None:
    megabyte = json.dumps({"a": "x" * 1_048_000})
    home.write(*jobs(9, args=megabyte))
    flaky = Flaky(engine)
    assert await home.relay_all(flaky) == 9
    assert len(flaky.verbs()) == 3
    assert {job.args_json for job in await found(engine)} == {megabyte}


async def test_a_flow_is_one_row_and_one_step(home: Home, engine: Engine) -> None:
    flow = FlowName("flow-1", "course")
    first = new(ties=Ties(flow=flow))
    second = new(ties=after(first.id, flow=flow))
    alone = new()
    home.write(first, second, alone)
    assert await home.relay_all(engine) == 2
    states = {job.id: job.state for job in await found(engine)}
    assert states == {first.id: State.WAITING, second.id: State.BLOCKED, alone.id: State.WAITING}
    await register(engine)
    [held, _] = sorted(await claim(engine), key=lambda c: c.id != first.id)
    await settle(engine, held)
    assert {job.id: job.state for job in await found(engine)}[second.id] is State.WAITING


# -- dispatched again --------------------------------------------------------------------------------------
async def test_after_an_unknown_outcome_the_same_ids_are_dispatched_again(home: Home, engine: Engine) -> None:
    them = jobs(5)
    home.write(*them)
    flaky = Flaky(engine)
    flaky.after["enqueue"] = [OutcomeUnknown("the reply was lost")]
    relay = home.relay(flaky)
    running = asyncio.create_task(relay.run())
    while relay.dispatched < 5:
        await asyncio.sleep(0.01)
    relay.drain()
    assert await running == 5
    assert ids(await found(engine)) == ids(them)
    assert flaky.verbs() == ["enqueue", "enqueue"]


async def test_a_relay_that_is_stopped_between_dispatch_and_mark_leaves_its_rows_to_others(
    home: Home, engine: Engine
) -> None:
    them = jobs(5)
    home.write(*them)
    flaky = Flaky(engine)
    flaky.after["enqueue"] = [asyncio.CancelledError()]  # type: ignore[list-item]  # no error of the engine's
    assert await home.relay_all(flaky) == 0
    await register(engine)
    for held in await claim(engine):
        await settle(engine, held)
    assert await home.relay_all(engine) == 5
    assert {job.state for job in await found(engine)} == {State.COMPLETED}, (
        "known by their ids, not run again"
    )


async def test_a_key_that_is_taken_makes_no_second_job_and_is_dispatched(home: Home, engine: Engine) -> None:
    home.write(new(key="k"))
    home.write(new(key="k"))
    assert await home.relay_all(engine) == 2
    assert len(await found(engine)) == 1


# -- refused rows --------------------------------------------------------------------------------------------
class Picky(Flaky):
    """Refuses jobs of one task, and with them whatever they come with."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.refused = "app.bad"

    async def enqueue(self, them: list[NewJob], **more: object) -> object:
        self.calls.append(("enqueue", (them,), {}))
        if any(job.task == self.refused for job in them):
            raise EngineError("the database refused the statement: no such thing")
        return await self._engine.enqueue(them, **more)


async def test_a_refused_row_is_set_aside_with_its_error_and_blocks_nobody(
    home: Home, engine: Engine, clock: FakeClock
) -> None:
    good = jobs(20)
    bad = new(task="app.bad")
    home.write(*good[:10], bad, *good[10:])
    picky = Picky(engine)
    assert await home.relay_all(picky) == 20
    assert ids(await found(engine)) == ids(good)
    status = await home.status()
    assert (status.waiting, status.refused) == (1, 1)
    [row] = status.errors
    assert (row.id, row.tries) == (bad.id, 1)
    assert row.error == "EngineError: the database refused the statement: no such thing"
    assert 0 < row.retry_in <= 1
    picky.calls.clear()
    assert await home.relay_all(picky) == 0
    assert picky.calls == [], "not before its time"
    clock.advance(1)
    assert await home.relay_all(picky) == 0
    [row] = (await home.status()).errors
    assert row.tries == 2
    assert 1 < row.retry_in <= 2, "later and later"
    clock.advance(2)
    picky.refused = ""
    assert await home.relay_all(picky) == 1
    assert await home.status() == (0, 0.0, 0, (), ())


async def test_a_row_that_cannot_be_read_is_set_aside(home: Home, engine: Engine) -> None:
    strange, good = new(), new()
    home.write(strange, good)
    home.run(f"update penstock_outbox set jobs = '[17]' where id = '{strange.id}'")
    assert await home.relay_all(engine) == 1
    [row] = (await home.status()).errors
    assert (row.id, row.error.startswith("InvalidValue: the row cannot be read")) == (strange.id, True)


@pytest.mark.parametrize("error", [EngineUnavailable("away"), SchemaMissing("not migrated")])
async def test_where_the_engine_takes_nothing_no_row_is_blamed(
    home: Home, engine: Engine, error: EngineError, clock: FakeClock
) -> None:
    home.write(*jobs(3))
    flaky = Flaky(engine)
    flaky.before["enqueue"] = [error]
    with pytest.raises(Exception, match=str(error)):
        await home.relay_all(flaky)
    assert (await home.status()).refused == 0
    assert await home.relay_all(engine) == 3, "at once, not after some time"


async def test_after_ten_minutes_without_the_engine_jobs_are_due_when_they_were_meant_to_be(
    home: Home, engine: Engine, clock: FakeClock
) -> None:
    overdue, ahead, expired = new(delay=300.0), new(delay=900.0), new(expire_after=60.0)
    home.write(overdue, ahead, expired)
    clock.advance(minutes=10)
    assert (await home.status()).lag == 600
    assert await home.relay_all(engine) == 3
    there = {job.id: job for job in await found(engine)}
    assert there[overdue.id].state is State.WAITING
    assert (there[ahead.id].due_at - clock.now()).total_seconds() == 300
    assert len(await engine.expire(10)) == 1
    assert {job.id: job for job in await found(engine)}[expired.id].state is State.CANCELLED


# -- order ---------------------------------------------------------------------------------------------------
async def test_rows_of_one_order_key_are_dispatched_in_the_order_in_which_they_were_written(
    home: Home, engine: Engine
) -> None:
    them = jobs(6)
    for at in (3, 0, 5, 1, 4, 2):  # whatever their ids are
        home.write(them[at], order="account-7")
    flaky = Flaky(engine)
    await home.relay_all(flaky)
    put = [job.id for _, (batch,), _ in flaky.calls for job in batch]
    assert put == [them[at].id for at in (3, 0, 5, 1, 4, 2)]
    for _, (batch,), _ in flaky.calls:
        assert ids(batch) == sorted(ids(batch)), "jobs put in together run in the order of their ids"


async def test_long_lines_behind_many_order_keys_are_all_dispatched_in_order(
    home: Home, engine: Engine
) -> None:
    lines = {f"key-{n}": jobs(3) for n in range(300)} | {"long": jobs(2 * RUN + 5)}
    for key, them in lines.items():
        home.write(*them, order=key)
    flaky = Flaky(engine)
    assert await home.relay_all(flaky) == 900 + 2 * RUN + 5
    put = [job.id for _, (batch,), _ in flaky.calls for job in batch]
    for them in lines.values():
        assert [job_id for job_id in put if job_id in set(ids(them))] == ids(them)


async def test_a_refused_row_holds_back_its_own_order_key_and_no_other(
    home: Home, engine: Engine, clock: FakeClock
) -> None:
    ones, twos, plain = jobs(3), jobs(3), new()
    bad = new(task="app.bad")
    home.write(ones[0], bad, *ones[1:], order="one")
    home.write(*twos, order="two")
    home.write(plain)
    picky = Picky(engine)
    await home.relay_all(picky)
    assert ids(await found(engine)) == ids([ones[0], *twos, plain])
    picky.refused = ""
    assert await home.relay_all(picky) == 0
    clock.advance(1)
    assert await home.relay_all(picky) == 3
    assert home.undispatched() == 0


async def test_a_row_that_cannot_be_read_holds_back_its_order_key(home: Home, engine: Engine) -> None:
    them = jobs(3)
    for job in them:
        home.write(job, order="one")
    home.run(f"update penstock_outbox set jobs = '[17]' where id = '{them[1].id}'")
    assert await home.relay_all(engine) == 1
    assert ids(await found(engine)) == [them[0].id]


async def test_several_relays_at_once_dispatch_each_row_once_and_keep_the_order(
    home: Home, engine: Engine
) -> None:
    plain = jobs(1_200)
    lines = {f"key-{n}": jobs(20) for n in range(20)}
    home.write(*plain)
    for key, them in lines.items():
        home.write(*them, order=key)
    flaky = Flaky(engine)
    relays = [home.relay(flaky) for _ in range(3)]
    running = [asyncio.create_task(relay.run()) for relay in relays]
    while sum(relay.dispatched for relay in relays) < 1_600:
        await asyncio.sleep(0.01)
    for relay in relays:
        relay.drain()
    assert sum([await each for each in running]) == 1_600
    put = [job.id for _, (batch,), _ in flaky.calls for job in batch]
    assert sorted(put) == sorted([*ids(plain), *(i for them in lines.values() for i in ids(them))])
    for them in lines.values():
        assert [job_id for job_id in put if job_id in set(ids(them))] == ids(them)


# -- upkeep, errors ------------------------------------------------------------------------------------------
async def test_dispatched_rows_are_removed_after_their_time_and_others_never(
    home: Home, engine: Engine, clock: FakeClock
) -> None:
    home.write(*jobs(5))
    await home.relay_all(engine)
    home.write(new(task="app.bad"))
    await home.relay_all(Picky(engine))
    store = home.store()
    assert await store.prune(3_600, 2) == 0
    clock.advance(3_601)
    assert await store.prune(3_600, 2) == 2
    assert await store.prune(3_600, 100) == 3
    assert home.undispatched() == 1


async def test_effects_past_their_time_are_removed(home: Home, clock: FakeClock) -> None:
    now = clock.now()
    until = f"'{now.isoformat()}'" if home.kind == "postgresql" else str(int(now.timestamp() * 1e6))
    row = "'shop', 't', 'k{n}', 'charge', '019b0000-0000-7000-8000-000000000000', {at}, {at}"
    for n in range(3):
        home.run(f"insert into penstock_effects values ({row.format(n=n, at=until)})")
    store = home.store()
    assert await store.prune_effects(2) == 0
    clock.advance(1)
    assert await store.prune_effects(2) == 2
    assert await store.prune_effects(2) == 1


async def test_where_effects_cannot_be_removed_rows_are_dispatched_and_removed_all_the_same(
    home: Home, engine: Engine, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    home.run("drop table penstock_effects")
    home.write(*jobs(STEP + 5))
    assert await home.relay_all(engine) == STEP + 5
    clock.advance(home.keep_for + 1)
    relay = home.relay(engine)
    assert await relay.run(burst=True) == 0
    assert home.run("select count(*) from penstock_outbox") == [(0,)]
    assert "are not removed" in caplog.text
    assert "is away" not in caplog.text


@pytest.mark.parametrize(
    "row", ["[" * 5_000 + "]" * 5_000, '[{"id":5,"queue":"default","task":"t"}]', '[{"id":"x","queue":1}]']
)
async def test_whatever_a_row_holds_the_others_are_dispatched(home: Home, engine: Engine, row: str) -> None:
    [bad, *good] = jobs(4)
    for job in (bad, *good):
        home.write(job, order="line" if job is bad else None)
    home.run(f"update penstock_outbox set jobs = '{row}' where id = '{bad.id}'")
    assert await home.relay_all(engine) == 3
    [refused] = (await home.status()).errors
    assert refused.id == bad.id
    assert "the row cannot be read" in refused.error


class Locked(Picky):
    """A key is held by an open transaction in the engine's database."""

    async def enqueue(self, them: list[NewJob], **more: object) -> object:
        self.calls.append(("enqueue", (them,), {}))
        if any(job.task == self.refused for job in them):
            raise Contended("another transaction holds it")
        return await self._engine.enqueue(them, **more)


async def test_a_key_that_somebody_holds_locked_delays_its_own_job_only(
    home: Home, engine: Engine, clock: FakeClock
) -> None:
    good, held = jobs(200), new(task="app.bad")
    home.write(*good[:90], held, *good[90:])
    locked = Locked(engine)
    assert await home.relay_all(locked) == 200
    assert sum(any(job.id == held.id for job in args[0]) for _, args, _ in locked.calls) <= 4
    assert [row.id for row in (await home.status()).errors] == [held.id]
    clock.advance(2)
    more = jobs(5)
    home.write(*more)
    locked.calls.clear()
    assert await home.relay_all(locked) == 5
    assert len(locked.calls) == 2, "it is tried apart from the others"
    clock.advance(5)
    locked.refused = ""
    assert await home.relay_all(locked) == 1


async def test_where_everything_is_locked_the_engine_counts_as_away(
    home: Home, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "PATIENCE", 0.0)
    home.write(*[new(task="app.bad") for _ in range(20)])
    locked = Locked(engine)
    with pytest.raises(dispatching.EngineAway):
        await home.relay_all(locked)
    assert len(locked.calls) == 1
    assert (await home.status()).refused == 0


def test_a_lock_that_was_waited_for_is_told_from_an_engine_that_is_away() -> None:
    assert isinstance(translate(psycopg.errors.LockNotAvailable("lock timeout"), lost=False), Contended)


async def test_a_job_whose_key_was_held_leaves_a_trace_of_its_holder(home: Home, engine: Engine) -> None:
    first, second = jobs(2, key="k")
    home.write(first)
    home.write(second)
    assert await home.relay_all(engine) == 2
    assert [
        str(holder) for (holder,) in home.run("select duplicate_of from penstock_outbox order by seq")
    ] == [
        "None",
        first.id,
    ]


async def test_the_lag_is_the_age_of_the_oldest_row(home: Home, clock: FakeClock) -> None:
    home.write(new())
    clock.advance(90)
    home.write(new(), order="k")
    assert await home.status() == (2, 90.0, 0, (), ())
    finding = await home.outbox.examine()
    assert finding.level == "warning"
    assert "2 rows wait, the oldest for 90 s; does `penstock relay` run" in finding.text


async def test_without_the_table_everybody_is_told_how_to_make_it(home: Home, engine: Engine) -> None:
    home.run("drop table penstock_outbox")
    for attempt in (home.status(), home.relay_all(engine), home.relay(engine).run()):
        with pytest.raises(SchemaMissing, match="Run `penstock outbox apply`"):
            await attempt
    with pytest.raises(SchemaMissing, match="Run `penstock outbox apply`"):
        home.write(new())
    assert "penstock outbox apply" in (await home.outbox.examine()).text


async def test_tables_can_be_made_by_many_at_once_and_again(home: Home, engine: Engine) -> None:
    home.run("drop table penstock_outbox")
    await asyncio.gather(*(home.outbox.apply() for _ in range(8)))
    home.write(new())
    await home.outbox.apply()
    assert await home.relay_all(engine) == 1


async def test_a_connection_to_another_database_is_refused(home: Home, engine: Engine) -> None:
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as other, pytest.raises(InvalidOption, match="outbox="):
        home.put(other, new())


async def test_a_relay_whose_caller_is_cancelled_ends_and_says_so(home: Home, engine: Engine) -> None:
    relay = home.relay(engine)
    running = asyncio.create_task(relay.run())
    home.write(new())
    while not relay.dispatched:
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
