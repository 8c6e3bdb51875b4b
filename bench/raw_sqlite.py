"""What SQLite itself can do on this machine now: the bare statements, synchronous=FULL, no job system."""

from __future__ import annotations

import itertools
import sqlite3
import time
from contextlib import closing

from bench import loops
from bench.places import SqliteStore, sqlite_file
from bench.samples import RAW, Samples
from bench.size import Size

_BATCH = 1_000
_TABLE = """
create table jobs (
  id text primary key, lane text, state text, rank integer, token text, args text
) without rowid;
create index jobs_claim on jobs (lane, rank, id) where state = 'waiting';
create table finished (id text primary key, lane text, rank integer, token text, args text) without rowid;
"""
_INSERT = "insert into jobs values (?, 'bench', 'waiting', ?, null, '{\"t\":0}')"
_CLAIM = """
update jobs set state = 'active', token = lower(hex(randomblob(16))) where id in (
  select id from jobs where lane = 'bench' and state = 'waiting' order by rank, id limit ?
) returning id, token, args
"""
_KEEP = "insert into finished select id, lane, rank, token, args from jobs where id = ? and token = ?"
_FINISH = "delete from jobs where id = ? and token = ?"


def measure(store: SqliteStore, size: Size, samples: Samples) -> None:
    with store.place() as place, closing(_connect(sqlite_file(place.url))) as connection:
        numbers = itertools.count()

        def insert(n: int) -> None:
            rows = [(f"{number:032x}", number) for number in itertools.islice(numbers, n)]
            with _transaction(connection):
                connection.executemany(_INSERT, rows)

        samples.add(RAW, "enqueue", loops.rate_sync(lambda: insert(1), size.singles, size.cap))
        began = time.perf_counter()
        for _ in range(size.bulk // _BATCH):
            insert(_BATCH)
        samples.add(RAW, "bulk", size.bulk / (time.perf_counter() - began))
        most = size.drained // 2
        samples.add(RAW, "drain, 10 slots", _drained(connection, 100, most, keep=True))
        samples.add(RAW, "drain, 100 slots", _drained(connection, 1_000, most, keep=True))
        samples.add(RAW, "drain, 100 slots, not kept", _drained(connection, 1_000, most, keep=False))


def _drained(connection: sqlite3.Connection, k: int, jobs: int, *, keep: bool) -> float:
    """Finish k and claim k in one transaction, over and over."""
    held: list[tuple[str, str]] = []
    began = time.perf_counter()
    for _ in range(jobs // k):
        with _transaction(connection):
            if keep:
                connection.executemany(_KEEP, held)
            connection.executemany(_FINISH, held)
            held = [(job_id, token) for job_id, token, _ in connection.execute(_CLAIM, (k,))]
    return jobs // k * k / (time.perf_counter() - began)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.executescript(_TABLE)
    return connection


class _transaction:  # noqa: N801 - reads as a verb
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("begin immediate")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("commit")
