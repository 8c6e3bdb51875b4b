"""Where measured jobs live: an empty SQLite file, an empty PostgreSQL database, an empty Redis."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tests.servers import PostgresServer, RedisServer, ask

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """An address, and a question to the store itself."""

    url: str
    schema: str
    probe: str  # SQL: a row while a job is unfinished; Lua on Redis: not 0 while one is

    def unfinished(self) -> bool:
        if self.url.startswith("redis"):
            return bool(ask(self.url, "EVAL", self.probe, 0))
        if self.url.startswith("sqlite"):
            with closing(sqlite3.connect(sqlite_file(self.url))) as connection:
                return connection.execute(self.probe).fetchone() is not None
        with psycopg.connect(self.url, autocommit=True) as session:
            return session.execute(self.probe.encode()).fetchone() is not None


def sqlite_file(url: str) -> str:
    return url.removeprefix("sqlite:///")


class SqliteStore:
    """Files on the disk of the temp folder, synchronous=FULL."""

    name = "sqlite"

    @contextmanager
    def place(self) -> Iterator[Place]:
        folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
        try:
            yield Place(f"sqlite:///{folder}/jobs.db", "penstock", "select 1 from penstock_jobs limit 1")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Every place has gone already."""


class PostgresStore:
    """A private server with fsync and synchronous_commit on; each place is a database."""

    name = "postgres"

    def __init__(self) -> None:
        self._server = PostgresServer(durable=True)
        self._server.start()

    @contextmanager
    def place(self) -> Iterator[Place]:
        database = f"bench_{next(_numbers)}"
        self._server.psql(f"create database {database}")
        try:
            yield Place(self._server.url(database), "penstock", "select 1 from penstock.jobs limit 1")
        finally:
            self._server.psql(f"drop database {database} with (force)")

    def stop_vacuum(self) -> None:
        """The server's own processes end transactions, too."""
        self._server.psql("alter system set autovacuum = off")
        self._server.psql("select pg_reload_conf()")

    def transactions(self, place: Place) -> int:
        """How many the server has ended in this database; asking from another one adds nothing to it."""
        database = place.url.rpartition("/")[2]
        told = self._server.psql(
            f"select xact_commit + xact_rollback from pg_stat_database where datname = '{database}'"
        )
        return int(told)

    def close(self) -> None:
        self._server.discard()


class RedisStore:
    """A private server that keeps nothing on disk, as in the peers' own figures; emptied for each place."""

    name = "redis"

    def __init__(self) -> None:
        self._server = RedisServer()
        self._server.start()

    @contextmanager
    def place(self) -> Iterator[Place]:
        self._server.ask("FLUSHALL")
        yield Place(self._server.url(), "penstock", _UNFINISHED)

    def calls(self) -> int:
        """How many commands the clients have sent; those that scripts run are not among them."""
        stats = self._server.info("commandstats")
        return sum(
            int(told.partition("calls=")[2].partition(",")[0])
            for name, told in stats.items()
            if name in ("cmdstat_evalsha", "cmdstat_blpop")
        )

    def close(self) -> None:
        self._server.discard()


_UNFINISHED = """
local left, counts = 0, redis.call('HGETALL', '{penstock}:counts')
for i = 1, #counts, 2 do
  if counts[i]:find(':waiting') or counts[i]:find(':active') or counts[i]:find(':delayed') then
    left = left + counts[i + 1]
  end
end
return left
"""

Store = SqliteStore | PostgresStore | RedisStore


ENGINES = ("sqlite", "postgres", "redis")


def open_store(engine: str) -> Store:
    if engine == "sqlite":
        return SqliteStore()
    return PostgresStore() if engine == "postgres" else RedisStore()
