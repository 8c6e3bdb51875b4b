"""A busy system for the dashboard to show: a million jobs wait, a million have ended."""

from __future__ import annotations

from typing import NamedTuple

import psycopg

from bench.dashboard_app import QUEUES, TASKS, make
from bench.places import Place
from bench.scale_load import settle_down


class Size(NamedTuple):
    waiting: int
    finished: int
    lanes: int  # keys of one limit, each with a job


# An id tells when its job was made, and so does its place in a list.
_ID = (
    "(lpad(to_hex((extract(epoch from {at}) * 1000)::bigint), 12, '0')"
    " || '70008' || lpad(to_hex(n), 15, '0'))::uuid"
)
_WAITING = """
insert into {schema}.jobs (
  id, queue, task, lane, state, args, key, owner, priority, max_attempts, rank, created_at, due_at)
select {id}, 'q' || n % {queues}, 't' || n % {tasks}, 'q' || n % {queues}, 'waiting',
  '{{"order_id":' || n || '}}', case when n % 5 = 0 then 'order:' || n end,
  case when n % 10 = 0 then 'user-' || n % 1000 end, 3, 3, {at}, {at}, {at}
from generate_series(1, {rows}) n
"""
_FINISHED = """
insert into {schema}.finished (
  id, queue, task, lane, state, args, key, owner, is_unique, priority, attempt, max_attempts, created_at,
  due_at, started_at, claimed_at, finished_at, worker, token, ran_for, suspect, crashes, rescues,
  cancel_requested, errors)
select {id}, 'q' || n % {queues}, 't' || n % {tasks}, 'q' || n % {queues},
  case when n % 50 = 0 then 'failed' when n % 50 = 1 then 'cancelled' else 'completed' end,
  '{{"order_id":' || n || '}}', case when n % 5 = 0 then 'old-order:' || n end,
  case when n % 10 = 0 then 'user-' || n % 1000 end, false, 3, 1, 3, {at}, {at}, {at}, {at},
  {at} + interval '1 s', 'w', {id}, 0.5, false, 0, 0, false,
  case when n % 50 = 0 then {error} end
from generate_series(1, {rows}) n
"""
_ERROR = """jsonb_build_array(jsonb_build_object('type', 'ConnectionError', 'code', null, 'message',
  'host ' || n || ' does not answer', 'traceback', 'Traceback (most recent call last): …', 'attempt', 1,
  'class', 'transient', 'at', {at}))"""
_DEAD = """
insert into {schema}.dead_letters (
  job_id, queue, task, args, is_unique, priority, max_attempts, owner, reason, error, attempts, ran_for,
  failed_at)
select id, queue, task, args, false, 3, 3, owner, 'exhausted', errors -> 0, 3, 1.5, finished_at
from {schema}.finished where state = 'failed'
"""
_COUNTS = """
insert into {schema}.counts (queue, lane, state, n)
select queue, null, state, count(*) from {schema}.jobs where lane = queue group by 1, 3 union all
select queue, null, state, count(*) from {schema}.finished group by 1, 3 union all
select queue, null, 'dead', count(*) from {schema}.dead_letters group by 1
"""
_MINUTES = """
insert into {schema}.minutes (at, queue, task, measures)
select date_trunc('minute', now(), 'UTC') - m * interval '1 minute', 'q' || t % {queues}, 't' || t,
  jsonb_build_object('completed', 30 + m % 20, 'failed', m % 3, 'retried', m % 5, 'wait_sum', 12.5,
    'run_sum', 20.25, 'wait:3', 20, 'wait:5', 8 + m % 20, 'wait:7', 2, 'run:6', 25,
    'run:8', 4 + m % 20, 'run:10', 1)
from generate_series(0, 7 * 1440) m, generate_series(0, {tasks} - 1) t
"""
_QUARTERS = """
insert into {schema}.quarters (at, queue, measures)
select date_bin('15 minutes', now(), '1970-01-01 00:00:00+00') - m * interval '15 minutes', 'q' || q,
  jsonb_build_object('completed', 2000 + m % 90, 'failed', m % 30, 'retried', m % 50, 'wait_sum', 900.5,
    'run_sum', 1520.25, 'wait:3', 2000, 'wait:5', 800 + m % 20, 'wait:7', 20, 'run:6', 2500,
    'run:8', 400 + m % 20, 'run:10', 10)
from generate_series(0, 7 * 96) m, generate_series(0, {queues} - 1) q
"""
_AUDIT = """
insert into {schema}.notes (kind, key, body, version, at)
select 'audit', {id}::text, json_build_object('who', 'token:ops:' || n % 9, 'via', 'http',
  'action', 'queue pause', 'target', 'q' || n % {queues}, 'why', 'the mail server moves', 'outcome', 'done',
  'before', json_build_object(), 'after', json_build_object()), 2, {at}
from generate_series(1, 20000) n
"""
_WEEK = "(now() - n * interval '604800 s' / {rows})"  # over the last week, newest first
_HOUR = "(now() - n * interval '3600 s' / {rows})"


async def load(place: Place, size: Size) -> None:
    """Straight into the tables, but for the keys, which the engine puts in."""
    app = make(place.url, place.schema)
    await app.migrate()
    by_key = app.tasks["by_tenant"]
    async with app:
        await app.aenqueue_many([by_key.call(tenant=n) for n in range(size.lanes)])
    with psycopg.connect(place.url, autocommit=True) as session:
        session.execute("set synchronous_commit = off")
        session.execute("set maintenance_work_mem = '256MB'")
        for text, at, rows in (
            (_WAITING, _HOUR, size.waiting),
            (_FINISHED, _WEEK, size.finished),
            (_DEAD, "", 0),
            (_COUNTS, "", 0),
            (_MINUTES, "", 0),
            (_QUARTERS, "", 0),
            (_AUDIT, _WEEK, 20_000),
        ):
            session.execute(_written(text, place.schema, at.replace("{rows}", str(rows)), rows).encode())
    settle_down(place)


def _written(text: str, schema: str, at: str, rows: int) -> str:
    names = {"schema": schema, "queues": len(QUEUES), "tasks": len(TASKS), "rows": rows, "at": at}
    names |= {"id": _ID.format(at=at), "error": _ERROR.format(at=at)}
    return text.format(**names)
