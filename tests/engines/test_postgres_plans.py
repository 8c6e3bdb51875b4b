"""EXPLAIN guards: what is claimed, settled, staged or listed never costs a scan of the table."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from conformance.kit import QUEUE, TASK, claim, end, failed, ids, make_id, news, register, want
from engines.postgres_kit import ask, connect, fresh_engine
from penstock.engine import DeadFilter, HistoryFilter, JobFilter
from penstock.engines.postgres import listing, settle
from penstock.engines.postgres.database import Call
from penstock.engines.postgres.engine import PostgresEngine
from penstock.model.states import State, Status

MANY = 20_000
RARE = "app.rare"
NOW = datetime.now(UTC)
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def crowded() -> AsyncIterator[PostgresEngine]:
    """Many jobs waiting, parked ahead of them, delayed, and one finished a minute; statistics as they are."""
    async with fresh_engine() as engine:
        await register(engine, ttl=3600)
        await engine.enqueue(news(MANY))
        await engine.enqueue(news(MANY, lane=f"{QUEUE}?other", priority=1))
        await engine.enqueue(news(MANY, delay=3600, expire_after=3600))
        await ask(f"""
            insert into {engine.schema}.finished (
                id, queue, task, lane, state, args, is_unique, priority, attempt, max_attempts, created_at,
                due_at, finished_at, ran_for, suspect, crashes, rescues, cancel_requested)
            select
                {engine.schema}.uuid7(at), '{QUEUE}', case n when {MANY} then '{RARE}' else '{TASK}' end,
                '{QUEUE}', 'completed', '{{}}', false, 3, 1, 3, at, at, at, 0, false, 0, 0, false
            from generate_series(1, {3 * MANY}) n, lateral (select now() - n * interval '1 minute' as at) m
        """)
        await ask(f"""
            insert into {engine.schema}.history (
                id, queue, task, state, args, attempt, max_attempts, created_at, finished_at)
            select {engine.schema}.uuid7(at), '{QUEUE}', '{TASK}', 'completed', '{{}}', 1, 3, at, at
            from generate_series(1, {MANY}) n, lateral (select now() - n * interval '1 hour' as at) m
        """)
        await ask(f"vacuum analyze {engine.schema}.history")
        await ask(f"vacuum analyze {engine.schema}.jobs")
        await ask(f"vacuum analyze {engine.schema}.finished")
        yield engine


async def plan(call: Call) -> str:
    """The plan of a statement with its values, run and rolled back."""
    async with await connect() as connection, connection.transaction(force_rollback=True):
        sql = f"explain (analyze, costs off, timing off, summary off) {call.sql}"
        cursor = await connection.execute(sql.encode(), call.values)
        return "\n".join(line for (line,) in await cursor.fetchall())


def page(engine: PostgresEngine, where: JobFilter) -> Call:
    return listing.job_page(engine._sql["list_jobs"], where, 20, None, ids_tell_time=True)


def scanned(text: str, table: str) -> bool:
    return re.search(rf"Seq Scan on {table}\b", text) is not None


def most_rows(text: str) -> int:
    """The largest number of rows that any step of the plan has touched."""
    # PostgreSQL 18 writes rows with decimals: an average over the loops.
    removed_by = r"Rows Removed by (?:Filter|Index Recheck): (\d+)"
    found = re.findall(rf"actual rows=([\d.]+) loops=(\d+)|{removed_by}", text)
    return max(
        round(float(rows or 0) * int(loops or 0)) + int(removed or 0) for rows, loops, removed in found
    )


async def touched(call: Call, schema: str) -> dict[str, int]:
    """The rows of each table that a call reads, functions included, run and rolled back; none by a scan."""
    counted = "select relname, seq_scan, idx_tup_fetch from pg_stat_xact_user_tables where schemaname = %s"
    async with await connect() as connection, connection.transaction(force_rollback=True):
        await connection.execute("set local enable_seqscan = off")  # as in the engine's sessions
        await connection.execute("set local plan_cache_mode = force_generic_plan")
        await connection.execute(call.sql.encode(), call.values, prepare=True)
        rows = await (await connection.execute(counted, [schema])).fetchall()
    assert not any(scans for table, scans, _ in rows if table in ("jobs", "finished", "keys"))
    return {table: fetched or 0 for table, _, fetched in rows}


async def test_a_claim_reads_its_lane_in_order_and_no_more_than_it_takes(crowded):
    [call] = settle.Step([], want(limit=50)).calls(crowded._sql, None)
    read = await touched(call, crowded.schema)
    assert read["jobs"] == 50


async def test_a_settle_finds_its_jobs_by_primary_key_and_reads_no_others(crowded):
    held = await claim(crowded, limit=200)
    [call] = settle.Step([end(h) for h in held], want(limit=100)).calls(crowded._sql, None)
    read = await touched(call, crowded.schema)
    assert read["jobs"] == 200 + 100
    assert read["finished"] == 0


async def test_every_other_end_finds_its_jobs_by_primary_key(crowded):
    held = await claim(crowded, limit=100)
    call = settle.other_call(crowded._sql, [end(h, failed()) for h in held], None, by_holder=True)
    read = await touched(call, crowded.schema)
    assert read["jobs"] <= 200  # once to lock, once to move
    assert read["finished"] == 0


@pytest.mark.parametrize("verb", ["cancel", "expire"])
async def test_ending_jobs_that_do_not_run_costs_what_is_ended(crowded, verb):
    expired = timedelta(hours=2, seconds=10) if verb == "expire" else timedelta(0)
    some = ids(await crowded.jobs(JobFilter(state=State.DELAYED), 100))
    values = {"now": datetime.now(UTC) + expired, "ids": some, "reason": "x", "limit": 100}
    call = Call(
        crowded._sql[verb], values | dict.fromkeys(("expired", "upstream_late", "upstream_missing"), "x")
    )
    read = await touched(call, crowded.schema)
    assert 200 <= read["jobs"] <= 300
    assert read["edges"] == 0


SWEEPS: dict[str, dict[str, Any]] = {
    "outlook": {"unfolded": 100},
    "stage": {"limit": 100},
    "prune": {
        "limit": 100,
        "queue": QUEUE,
        "keep_completed": 500,
        "keep_failed": 500,
        "max_age": 60.0,
        "run": None,
        "remember": True,
    },
    "forget": {"limit": 100, "keep": 500, "older_than": 7_200_000.0},
    "held": {"workers": ["nobody"], "limit": 100},
    "beat": {"worker": "nobody", "ttl": 1.0, "memory": None},
    "unshelve": {"unshelved": ["nightly"]},
    "oldest": {"lanes": 1_000},
}


@pytest.mark.parametrize("verb", SWEEPS)
async def test_a_sweep_costs_what_it_finds_not_what_is_there(crowded, verb):
    text = await plan(Call(crowded._sql[verb], {"now": None, **SWEEPS[verb]}))
    assert not scanned(text, "jobs")
    assert not scanned(text, "finished")
    assert not scanned(text, "history")
    assert most_rows(text) <= 700


@pytest.mark.parametrize(
    "where",
    [
        JobFilter(),
        JobFilter(queue=QUEUE),
        JobFilter(task=TASK, state=State.COMPLETED),
        JobFilter(queue=QUEUE, state=State.FAILED),
        JobFilter(owner="nobody"),
        JobFilter(key="nothing"),
        JobFilter(since=NOW + timedelta(hours=1)),
        JobFilter(since=NOW - timedelta(minutes=10), state=State.COMPLETED),
        JobFilter(since=NOW - timedelta(days=20), until=NOW - timedelta(days=19)),
        JobFilter(since=NOW - timedelta(days=20), until=NOW - timedelta(days=20) + timedelta(minutes=5)),
        JobFilter(until=NOW - timedelta(days=40)),
        JobFilter(until=NOW - timedelta(days=400)),
    ],
    ids=lambda where: " ".join(name for name in JobFilter.__slots__ if getattr(where, name)) or "all",
)
async def test_a_page_of_jobs_costs_a_page(crowded, where):
    assert most_rows(await plan(page(crowded, where))) <= 60


@pytest.mark.parametrize("state", sorted({*State} - {State.WAITING}))
async def test_a_page_of_one_state_reads_jobs_of_that_state_alone(crowded, state):
    """Also by a plan that is made for any values, as in the engine's sessions."""
    read = await touched(page(crowded, JobFilter(queue=QUEUE, state=state)), crowded.schema)
    held = await ask(f"select count(*) from {crowded.schema}.jobs where state = 'active'")
    assert read["jobs"] + read["finished"] <= 60 + held[0][0]


@pytest.mark.parametrize(
    "where",
    [
        HistoryFilter(),
        HistoryFilter(queue=QUEUE),
        HistoryFilter(status=Status.COMPLETED),
        HistoryFilter(queue=QUEUE, status=Status.FAILED),
        HistoryFilter(status=Status.CANCELLED),
        HistoryFilter(owner="nobody"),
        HistoryFilter(key="nothing"),
        HistoryFilter(until=NOW - timedelta(days=400)),
    ],
    ids=lambda where: " ".join(name for name in HistoryFilter.__slots__ if getattr(where, name)) or "all",
)
async def test_a_page_of_the_history_costs_a_page(crowded, where):
    call = listing.history_page(crowded._sql["list_history"], where, 20, None, ids_tell_time=True)
    assert most_rows(await plan(call)) <= 60


async def test_a_page_of_an_owners_dead_letters_costs_a_page(crowded):
    await ask(f"""
        insert into {crowded.schema}.dead_letters (
            job_id, queue, task, args, is_unique, priority, max_attempts, owner, reason, attempts, ran_for,
            failed_at)
        select {crowded.schema}.uuid7(at), '{QUEUE}', '{TASK}', '{{}}', false, 3, 3, 'bob', 'lost', 3, 0, at
        from generate_series(1, {MANY}) n, lateral (select now() - n * interval '1 second' as at) m
    """)
    await ask(f"vacuum analyze {crowded.schema}.dead_letters")
    for owner in ("ana", "bob"):
        where = DeadFilter(owner=owner, payloads=False)
        call = listing.dead_page(crowded._sql["list_dead_letters"], where, 20, None)
        assert most_rows(await plan(call)) <= 60


async def test_where_a_job_stands_costs_what_is_counted(crowded):
    [last] = await crowded.jobs(JobFilter(state=State.WAITING, parked=False), 1)
    read = await touched(
        Call(crowded._sql["standing"], {"now": None, "id": last.id, "most": 50}), crowded.schema
    )
    assert read["jobs"] <= 52


KEPT: dict[str, dict[str, Any]] = {
    "note": {"kind": "audit", "key": "k00077"},
    "notes": {"kind": "audit", "after": "k00077", "limit": 20},
    "notes_newest": {"kind": "audit", "after": "k00077", "limit": 20},
    "forget_notes": {"kind": "audit", "older_than": 0.0, "limit": 20},
    "drop_notes": {},
    "series": {"since": NOW - timedelta(minutes=20), "until": NOW, "queue": None},
    "drop_minutes": {"kept": 86_400.0 * 365},
    "feed": {"after": MANY - 20, "limit": 100},
}


async def test_what_is_kept_beside_the_jobs_is_found_by_its_indexes(crowded):
    schema = crowded.schema
    await ask(f"""
        insert into {schema}.notes
        select 'audit', 'k' || lpad(n::text, 5, '0'), '0', 1, now() - interval '1 h', now() + interval '1 h'
        from generate_series(1, {MANY}) n
    """)
    await ask(f"""
        insert into {schema}.minutes select now() - n * interval '1 minute', 'q', 't', '{{"n":1}}'
        from generate_series(1, {MANY}) n
    """)
    await ask(f"insert into {schema}.feed_state values (true, 0, {MANY}, 0)")
    await ask(f"""
        insert into {schema}.feed select n, now(), 'added', 'job', 'q', 't', null, '{{}}'
        from generate_series(1, {MANY}) n
    """)
    for table in ("notes", "minutes", "feed"):
        await ask(f"vacuum analyze {schema}.{table}")
    for verb, values in KEPT.items():
        text = await plan(Call(crowded._sql[verb], {"now": None, **values}))
        assert most_rows(text) <= 60, f"{verb}: {text}"


async def test_one_record_is_found_by_its_id(crowded):
    call = listing.one_record(crowded._sql["list_history"], make_id())
    assert most_rows(await plan(call)) <= 2
    text = await plan(
        Call(f"select * from {crowded.schema}.background_jobs where id = %(id)s::uuid", {"id": make_id()})
    )
    assert most_rows(text) <= 2


async def test_the_view_of_all_jobs_is_joined_and_sorted_by_id_without_reading_them_all(crowded):
    view = f"{crowded.schema}.background_jobs"
    for sql in (
        f"select * from (values (%(id)s::uuid)) as o(id) join {view} b on b.id = o.id",
        f"select id from {view} order by id desc limit 5",
    ):
        text = await plan(Call(sql, {"id": make_id()}))
        assert most_rows(text) <= 20, text


@pytest.mark.parametrize("where", [JobFilter(task="app.nobody"), JobFilter(queue="nobody")], ids=str)
async def test_what_is_rare_among_unfinished_jobs_is_found_by_the_pages_it_is_on(crowded, where):
    text = await plan(page(crowded, where))
    assert "Bitmap Index Scan on jobs_rare" in text
    assert most_rows(text) <= MANY / 5


async def test_lists_are_planned_for_what_is_asked_and_nothing_else_is(crowded):
    mode = Call("select current_setting('plan_cache_mode') as mode", {})
    assert await crowded._database.records(mode, for_these_values=True) == [{"mode": "force_custom_plan"}]
    assert await crowded._database.records(mode) == [{"mode": "force_generic_plan"}]


async def test_completed_jobs_of_a_rare_task_cost_the_pages_they_are_on(crowded):
    text = await plan(page(crowded, JobFilter(task=RARE, state=State.COMPLETED)))
    assert "Bitmap Index Scan on finished_task" in text
    assert most_rows(text) <= MANY / 5


async def test_listing_active_jobs_reads_no_job_that_waits(crowded):
    await claim(crowded, limit=20)
    read = await touched(page(crowded, JobFilter(queue=QUEUE, state=State.ACTIVE)), crowded.schema)
    assert 20 <= read["jobs"] < MANY / 10
