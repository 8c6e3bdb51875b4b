"""What PostgreSQL itself can do on this machine now: the bare statements on one connection, no job system."""

from __future__ import annotations

import time
import uuid
from typing import Any

import psycopg

from bench import loops
from bench.places import PostgresStore
from bench.samples import RAW, Samples
from bench.size import Size

_BATCH = 1_000
_TABLE = """
create table jobs (id uuid primary key, lane text, state text, rank bigint, token uuid, args text);
create index on jobs (lane, rank, id) where state = 'waiting';
create table finished (id uuid primary key, lane text, rank bigint, token uuid, args text);
set plan_cache_mode = force_custom_plan;
"""
_INSERT = "insert into jobs values (%s, 'bench', 'waiting', 0, null, '{\"t\":0}')"
_COPY = "copy jobs (id, lane, state, rank, args) from stdin"
_STEP = """
with gone as (
    delete from jobs j using unnest(%s::uuid[], %s::uuid[]) e(id, token)
    where j.id = e.id and j.token = e.token
    returning j.*
), {kept} claimed as (
    update jobs set state = 'active', token = gen_random_uuid() where ctid = any(array(
        select ctid from jobs where lane = 'bench' and state = 'waiting' order by rank, id limit %s
        for update skip locked))
    returning id, token, args
)
select * from claimed
"""
_KEPT = "kept as (insert into finished select id, lane, rank, token, args from gone),"

Session = psycopg.Connection[Any]


def measure(store: PostgresStore, size: Size, samples: Samples) -> None:
    with store.place() as place, psycopg.connect(place.url, autocommit=True) as session:
        session.execute(_TABLE)
        one = loops.rate_sync(lambda: session.execute(_INSERT, [uuid.uuid4()]), size.singles, size.cap)
        samples.add(RAW, "enqueue", one)
        samples.add(RAW, "bulk", _copied(session, size.bulk))
        most = size.drained // 2
        samples.add(RAW, "drain, 10 slots", _drained(session, 100, most, keep=True))
        samples.add(RAW, "drain, 100 slots", _drained(session, 300, most, keep=True))
        samples.add(RAW, "drain, 100 slots, not kept", _drained(session, 300, most, keep=False))


def _copied(session: Session, jobs: int) -> float:
    began = time.perf_counter()
    for first in range(0, jobs, _BATCH):
        rows = (f'{uuid.uuid4()}\tbench\twaiting\t{n}\t{{"t":0}}\n' for n in range(first, first + _BATCH))
        with session.cursor().copy(_COPY) as copy:
            copy.write("".join(rows))
    return jobs / (time.perf_counter() - began)


def _drained(session: Session, k: int, jobs: int, *, keep: bool) -> float:
    """Finish k and claim k in one statement, over and over."""
    statement = _STEP.format(kept=_KEPT if keep else "").encode()
    ids: list[uuid.UUID] = []
    tokens: list[uuid.UUID] = []
    began = time.perf_counter()
    for _ in range(jobs // k):
        rows = session.execute(statement, [ids, tokens, k]).fetchall()
        ids, tokens = [row[0] for row in rows], [row[1] for row in rows]
    return jobs // k * k / (time.perf_counter() - began)
