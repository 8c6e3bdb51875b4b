"""Millions of jobs, put straight into the tables: the way in is not what is measured here."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import psycopg

from bench.places import Place, sqlite_file

# Waiting jobs come after those that the engine put in; parked ones come before.
_SQLITE_JOBS = """
with recursive n(n) as (select 1 union all select n + 1 from n where n < {rows})
insert into penstock_jobs (
  id, queue, task, lane, state, rank, priority, max_attempts, created_at, due_at, key, args)
select printf('{first}-0000-7000-8000-%012x', n), 'bench', '{task}', '{lane}', 'waiting',
  {rank} + n, 3, 3, 1, 1, printf('{first}-0000-7000-8000-%012x', n), '{{"t":0}}'
from n
"""
_SQLITE_FINISHED = """
with recursive n(n) as (select 1 union all select n + 1 from n where n < {rows})
insert into penstock_finished (
  id, queue, task, lane, state, rank, priority, attempt, max_attempts, created_at, due_at, started_at,
  claimed_at, finished_at, token, worker, key, args)
select printf('00000000-0000-7000-8000-%012x', n), 'bench', 'noop', 'bench', 'completed', n, 3,
  1, 3, n, n, n, n, n, printf('%032x', n), 'w', printf('00000000-0000-7000-8000-%012x', n), '{{"t":0}}'
from n
"""
_SQLITE_COUNT = """
insert into penstock_counts (queue, state, n) values ('bench', '{state}', {rows})
on conflict (queue, state) do update set n = n + excluded.n
"""
_SQLITE_LANE = """
insert into penstock_lanes (lane, queue, task, misfit, reason, jobs)
values ('bench?other', 'bench', 'other', null, 'nobody knows it', {rows})
"""
_POSTGRES_JOBS = """
insert into {schema}.jobs (
  id, queue, task, lane, state, args, priority, max_attempts, rank, created_at, due_at)
select ('{first}-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'bench', '{task}', '{lane}', 'waiting',
  '{{"t":0}}', 3, 3, {rank} + n * interval '1 microsecond', now(), now()
from generate_series(1, {rows}) n
"""
_POSTGRES_FINISHED = """
insert into {schema}.finished (
  id, queue, task, lane, state, args, is_unique, priority, attempt, max_attempts, created_at, due_at,
  started_at, claimed_at, finished_at, worker, token, ran_for, suspect, crashes, rescues, cancel_requested)
select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'bench', 'noop', 'bench', 'completed',
  '{{"t":0}}', false, 3, 1, 3, now(), now(), now(), now(), now() + n * interval '1 microsecond', 'w',
  lpad(to_hex(n), 32, '0')::uuid, 0, false, 0, 0, false
from generate_series(1, {rows}) n
"""
_POSTGRES_COUNT = "insert into {schema}.counts (queue, state, n) values ('bench', '{state}', {rows})"
_POSTGRES_LANE = """
insert into {schema}.lanes (lane, queue, task, misfit, reason)
values ('bench?other', 'bench', 'other', null, 'nobody knows it')
"""


def waiting(place: Place, rows: int) -> None:
    names = {"rows": rows, "first": "f0000000", "task": "noop", "lane": "bench", "state": "waiting"}
    if _is_sqlite(place):
        _sqlite(place, [_SQLITE_JOBS, _SQLITE_COUNT], rank=4_000_000_000_000_000, **names)
    else:
        _postgres(place, [_POSTGRES_JOBS, _POSTGRES_COUNT], rank="now() + interval '1 day'", **names)


def finished(place: Place, rows: int) -> None:
    statements = (
        [_SQLITE_FINISHED, _SQLITE_COUNT] if _is_sqlite(place) else [_POSTGRES_FINISHED, _POSTGRES_COUNT]
    )
    (_sqlite if _is_sqlite(place) else _postgres)(place, statements, rows=rows, state="completed")


def parked(place: Place, rows: int) -> None:
    names = {"rows": rows, "first": "00000000", "task": "other", "lane": "bench?other", "state": "waiting"}
    if _is_sqlite(place):
        _sqlite(place, [_SQLITE_JOBS, _SQLITE_COUNT, _SQLITE_LANE], rank=0, **names)
    else:
        statements = [_POSTGRES_JOBS, _POSTGRES_COUNT, _POSTGRES_LANE]
        _postgres(place, statements, rank="now() - interval '1 day'", **names)


def settle_down(place: Place) -> None:
    """What the database would do by and by: statistics, visibility, its log."""
    if not _is_sqlite(place):
        with psycopg.connect(place.url, autocommit=True) as session:
            session.execute("vacuum analyze")
            session.execute("checkpoint")


def _is_sqlite(place: Place) -> bool:
    return place.url.startswith("sqlite")


def _sqlite(place: Place, statements: list[str], **names: object) -> None:
    with closing(sqlite3.connect(sqlite_file(place.url), isolation_level=None)) as connection:
        connection.execute("pragma synchronous = off")
        connection.execute("pragma cache_size = -500000")
        for statement in statements:
            connection.execute(statement.format(**names))
        connection.execute("pragma wal_checkpoint(truncate)")


def _postgres(place: Place, statements: list[str], **names: object) -> None:
    with psycopg.connect(place.url, autocommit=True) as session:
        session.execute("set synchronous_commit = off")
        session.execute("set maintenance_work_mem = '256MB'")
        for statement in statements:
            session.execute(statement.format(schema=place.schema, **names).encode())
