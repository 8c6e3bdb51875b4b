"""Rows that another program wrote: what no list could show is refused, and what can be shown is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conformance.kit import claim, read, register, state
from engines.postgres_kit import fresh_engine
from penstock.engine import JobFilter
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.states import State
from penstock.tasks.ids import new_id
from servers import postgres_server

UNREADABLE = [
    ('{"task": "t", "priority": 9}', "priority_is_1_to_4"),
    ('{"task": "t", "priority": 0, "key": "k"}', "priority_is_1_to_4"),
    ('{"task": "t", "max_attempts": 0}', "one_attempt_at_least"),
    ('{"task": "t", "max_attempts": -5, "key": "k"}', "one_attempt_at_least"),
    ('{"task": "t", "delay": 1e12}', "instants_before_year_9000"),
    ('{"task": "t", "expire_after": 1e12, "key": "k"}', "instants_before_year_9000"),
]


@pytest.mark.parametrize(("job", "why"), UNREADABLE)
async def test_sql_cannot_enqueue_what_no_list_could_show(job: str, why: str) -> None:
    async with fresh_engine() as engine:
        with pytest.raises(RuntimeError, match=why):
            postgres_server().psql(f"select * from {engine.schema}.enqueue('[{job}]')")
        assert await engine.jobs(JobFilter(), 10) == []


async def test_sql_may_enqueue_arguments_that_are_not_json_and_they_are_listed() -> None:
    async with fresh_engine() as engine:
        postgres_server().psql(
            f'select * from {engine.schema}.enqueue(\'[{{"task": "t", "args": "no json"}}]\')'
        )
        [job] = await engine.jobs(JobFilter(), 10)
        assert job.args_json == "no json"
        await register(engine)
        assert [held.args for held in await claim(engine, "default")] == ["no json"]


INSERT = """
    insert into penstock_jobs
        (id, queue, task, lane, state, rank, priority, max_attempts, created_at, due_at, key, args)
    values (?, 'default', 't', 'default', ?, 0, ?, ?, ?, ?, 'k', 'no json')
"""


@pytest.mark.parametrize(
    ("state", "priority", "attempts", "created_at", "due_at", "why"),
    [
        ("waiting", 9, 3, 0, 0, "priority_is_1_to_4"),
        ("waiting", 3, -5, 0, 0, "one_attempt_at_least"),
        ("pending", 3, 3, 0, 0, "state_is_unfinished"),
        ("waiting", 3, 3, 0, 10**18, "instants_before_year_9000"),
        ("waiting", 3, 3, "2026-01-05", 0, "instants_before_year_9000"),
    ],
)
async def test_a_row_that_no_list_could_show_is_refused_by_the_file(
    tmp_path: Path, state: str, priority: int, attempts: int, created_at: object, due_at: int, why: str
) -> None:
    path = tmp_path / "jobs.db"
    await _migrated(path)
    with closing(sqlite3.connect(path)) as stranger, pytest.raises(sqlite3.IntegrityError, match=why):
        stranger.execute(INSERT, (new_id(), state, priority, attempts, created_at, due_at))


async def test_a_row_whose_arguments_are_not_json_is_listed_and_claimed(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    await _migrated(path)
    job_id = new_id()
    with closing(sqlite3.connect(path)) as stranger, stranger:
        stranger.execute(INSERT, (job_id, "waiting", 3, 3, 0, 0))
    engine = SqliteEngine(str(path))
    await engine.open()
    assert [job.args_json for job in await engine.jobs(JobFilter(), 10)] == ["no json"]
    await register(engine)
    assert [held.id for held in await claim(engine, "default")] == [job_id]
    assert await state(engine, job_id) is State.ACTIVE
    assert (await read(engine, job_id)).args_json == "no json"
    await engine.close()


async def _migrated(path: Path) -> None:
    engine = SqliteEngine(str(path))
    await engine.migrate()
    await engine.close()
