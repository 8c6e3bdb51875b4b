"""The statements of the hot path, and every question with a bound, are answered from an index."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock.engine import DeadFilter, JobFilter
from penstock.engines.sqlite import inspection
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.engines.sqlite.statements import SQL
from penstock.model.states import State


@pytest.fixture
async def engine():
    engine = SqliteEngine(":memory:")
    await engine.open()
    yield engine
    await engine.close()


async def plan(engine, statement, values=()):
    def explain(tx):
        return [row[3] for row in tx.connection.execute(f"explain query plan {statement}", values)]

    return await engine._write(explain)


async def test_a_claim_reads_its_lane_in_rank_order_from_an_index(engine):
    steps = await plan(engine, SQL["claim_first"], ("q", 1, 10))
    assert steps[1] == "SEARCH penstock_jobs USING INDEX penstock_jobs_claim (lane=?)"
    assert not any("TEMP B-TREE" in step for step in steps)


async def test_a_claim_takes_its_jobs_by_id(engine):
    values = {"worker": "w", "request": "r", "now": 1, "ids": "[]"}
    steps = await plan(engine, SQL["claim"], values)
    assert steps[0] == "SEARCH penstock_jobs USING PRIMARY KEY (id=?)"


BOUNDED = {
    "held_by": ("penstock_jobs_held", ("w", 1)),
    "held_by_request": ("penstock_jobs_held", ("w", "r")),
    "cancel_orders": ("penstock_jobs_held", ("w",)),
    "next_due": ("penstock_jobs_due", ()),
    "stage": ("penstock_jobs_due", {"now": 1, "limit": 1}),
    "past_expiry": ("penstock_jobs_expiry", (1, 1)),
    "finished_before": ("penstock_finished_end", ("q", "failed", 1, 1)),
    "finished_oldest": ("penstock_finished_end", ("q", "failed", 1)),
    "purge": ("penstock_dead_letters_failed", (1, 1)),
    "past_deadline": ("penstock_jobs_deadline", (1, 1)),
    "edges_to": ("penstock_edges_to", ("job",)),
    "edges_left": ("penstock_edges_open", ("job",)),
    "flow_jobs_forget": ("penstock_flow_jobs_job", ("job",)),
    "keys_drop_over": ("penstock_keys_until", (1,)),
    "schedules_next": ("penstock_schedules_next", (1,)),
    "standing": ("penstock_jobs_claim", {"lane": "l", "rank": 1, "id": "i", "now": 1, "most": 9}),
    "oldest": ("penstock_jobs_claim", {"queue": "q", "now": 1, "lanes": 9}),
    "notes_forget": ("penstock_notes_written", {"kind": "k", "before": 1, "limit": 1}),
    "notes_drop_over": ("penstock_notes_over", (1, 1)),
    "notes_newest": ("PRIMARY KEY (kind=? AND key<?)", {"kind": "k", "after": "a", "now": 1, "limit": 1}),
    "minutes_drop": ("PRIMARY KEY (at<?)", (1, 1)),
}


@pytest.mark.parametrize("name", BOUNDED)
async def test_upkeep_never_scans_the_jobs(engine, name):
    index, values = BOUNDED[name]
    steps = await plan(engine, SQL[name], values)
    assert any(index in step for step in steps)
    assert "USE TEMP B-TREE FOR ORDER BY" not in steps or name == "held_by"


LANES = {
    "lanes_line": ("penstock_limited_lanes_line (grp=? AND kind=?)", ("g", 1, 10)),
    "lanes_changing": ("penstock_limited_lanes_change", (1, 10)),
    "lanes_opening": ("penstock_limited_lanes_opening (grp=?", ("g",)),
    "lanes_standing": ("penstock_limited_lanes_line (grp=?", {"group": "g"}),
    "lanes": (
        "penstock_limited_lanes_group (grp=? AND lane>?)",
        {"group": "g", "now": 1, "after": "", "limit": 1},
    ),
    "lanes_worked_off": ("penstock_limited_lanes_owing (grp=? AND owed_until<?)", ("g", 1, 10)),
    "lanes_least_owed": ("penstock_limited_lanes_owing (grp=?)", {"group": "g"}),
    "lanes_drop_idle": ("penstock_limited_lanes_idle", {"now": 1}),
    "claim_limited": ("penstock_jobs_claim (lane=?)", ("l", 1, 10, 0)),
}


@pytest.mark.parametrize("name", LANES)
async def test_lanes_that_cannot_start_are_not_looked_through(engine, name):
    index, values = LANES[name]
    steps = await plan(engine, SQL[name], values)
    assert any(index in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps


AT = datetime(2026, 1, 5, tzinfo=UTC)
LISTS = {
    "newest": (JobFilter(), "PRIMARY KEY"),
    "queue": (JobFilter(queue="q"), "penstock_jobs_queue"),
    "owner": (JobFilter(owner="o"), "penstock_jobs_owner"),
    "key": (JobFilter(key="k"), "penstock_jobs_key"),
    "parked": (JobFilter(parked=True), "penstock_jobs_parked"),
    "failed": (JobFilter(state=State.FAILED), "penstock_finished_state"),
    "active": (JobFilter(state=State.ACTIVE), "penstock_jobs_held"),
    "delayed": (JobFilter(state=State.DELAYED), "penstock_jobs_delayed"),
    "blocked": (JobFilter(state=State.BLOCKED), "penstock_jobs_blocked"),
    "task": (JobFilter(task="t"), "penstock_jobs_task"),
    "completed of a task": (JobFilter(task="t", state=State.COMPLETED), "penstock_finished_task"),
    "since": (JobFilter(since=AT), "PRIMARY KEY (id>? AND id<?)"),
    "until": (JobFilter(until=AT), "PRIMARY KEY (id<?)"),
    "task since": (JobFilter(task="t", since=AT), "penstock_finished_task (task=? AND id>? AND id<?)"),
    "queue since": (JobFilter(queue="q", since=AT), "penstock_finished_queue (queue=? AND id>? AND id<?)"),
}


async def test_the_dead_letters_of_an_owner_are_read_from_an_index(engine):
    for where in (DeadFilter(owner="o"), DeadFilter(owner="o", payloads=False)):
        statement, values = inspection.dead_listing(where, 10, None)
        steps = await plan(engine, statement, values)
        assert any("penstock_dead_letters_owner" in step for step in steps), steps


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_is_read_in_order_from_an_index(engine, name):
    where, index = LISTS[name]
    statement, values = inspection.listing(where, 10, "after", ids_tell_time=True)
    steps = await plan(engine, statement, values)
    assert any(index in step for step in steps), steps
    assert not any("SCAN penstock" in step and "INDEX" not in step for step in steps), steps
