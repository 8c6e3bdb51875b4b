"""Limited lanes in SQLite: their lines are in the order of the contract's turns, at every time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.kit import QUEUE, TASK, claim, end, new, news, register, settle, want
from penstock.engine import Group
from penstock.engines.sqlite import lanes
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.engines.sqlite.instants import SECOND, stored
from penstock.engines.sqlite.lanes import LaneRow
from penstock.engines.sqlite.turns import clock as debt_clock
from penstock.model.clock import FakeClock
from penstock.model.lanes import OLDEST_TURN, TURN_COST, group_name, limited_lane
from penstock.model.limits import Limit
from penstock.model.outcome import Retried

GROUP = group_name(QUEUE, TASK)
SECONDS = st.integers(-3_000, 3_000)


def lane(key: str) -> str:
    return limited_lane(GROUP, key)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def engine(clock):
    engine = SqliteEngine(":memory:", clock=clock)
    await engine.open()
    await register(engine, ttl=1e6)
    yield engine
    await engine.close()


def turn_by_the_contract(rank: int, owed_until: int, now: int) -> float:
    oldest = now - OLDEST_TURN * SECOND
    return max(rank, oldest) + max(0, owed_until - now)


@given(ranks=st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=20), later=st.integers(0, 3_000))
def test_a_line_is_in_the_order_of_the_contracts_turns_also_when_time_has_passed(ranks, later):
    begun = 10_000 * SECOND
    now = begun + later * SECOND
    rows = [LaneRow("l", "g", "q", waiting=1, first_rank=begun + rank * SECOND) for rank, _ in ranks]
    for row, (_, owed) in zip(rows, ranks, strict=True):
        row.owed_until = begun + owed * SECOND
        row.place(None, begun, begun)
        if row.owed_until <= now or (row.changes_at is not None and row.changes_at <= now):
            row.place(None, now, now)
        assert row.turn(now, now) == turn_by_the_contract(row.first_rank, row.owed_until, now)
    for kind in {row.kind for row in rows}:
        line = sorted((row for row in rows if row.kind == kind), key=lambda row: row.turn_key)
        assert [row.turn(now, now) for row in line] == sorted(row.turn(now, now) for row in line)


async def test_lanes_come_in_the_order_of_their_turns_as_debts_are_worked_off(engine, clock):
    for n in range(30):
        clock.advance(7)
        await engine.enqueue(news(5, lane=lane(f"k{n}"), priority=1 + n % 4))
    for step in (0, 5, 30, 100, 400, 2_000):
        clock.advance(step)
        await engine.settle([end(held) for held in await claim(engine, limit=9)])
        turns = await engine._write(_turns)
        assert turns == sorted(turns)
        assert len(turns) == len(await waiting_lanes(engine))


def _in_line(tx) -> list[LaneRow]:
    lanes.reopen(tx, {})
    return lanes.ready(tx, GROUP, 100)


def _turns(tx) -> list[float]:
    owing = tx.now - debt_clock(tx, QUEUE)
    return [turn_by_the_contract(row.first_rank, row.owed_until + owing, tx.now) for row in _in_line(tx)]


async def waiting_lanes(engine) -> list[str]:
    return [found.lane for found in await engine.lanes(GROUP, 100) if found.waiting]


async def test_a_lane_owes_for_what_was_taken_from_it(engine, clock):
    await engine.enqueue(news(3, lane=lane("a")))
    await claim(engine, limit=2)
    [row] = await engine._write(_in_line)
    assert row.owed_until == stored(clock.now() + timedelta(seconds=2 * TURN_COST))


async def test_who_expired_in_front_keeps_nobody_from_the_lanes_behind(engine, clock):
    await engine.enqueue([new(lane=lane(f"old{n}"), expire_after=1) for n in range(5)])
    clock.advance(2)
    await engine.enqueue([new(lane=lane("fresh"))])
    found = [held for _ in range(5) for held in await claim(engine, limit=2)]
    assert [held.lane for held in found] == [lane("fresh")]


async def test_a_limit_that_nobody_changed_is_not_written_again(engine):
    declared = [Group(GROUP, per_key=Limit(concurrency=2))]
    await engine.put_groups(declared)
    changes = await engine._write(lambda tx: tx.connection.total_changes)
    await engine.put_groups(declared)
    assert await engine._write(lambda tx: tx.connection.total_changes) == changes


async def test_a_cooled_lane_is_not_looked_at_until_it_opens(engine, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=5))])
    await engine.enqueue(news(2, lane=lane("a")))
    [held] = await claim(engine, limit=1)
    await settle(engine, held, Retried(0.0, None, cooldown=30))
    assert await engine._write(_in_line) == []
    clock.advance(30)
    assert (await engine.claim(want(limit=1))).claims != []
