"""Where measured jobs live: an empty SQLite file, or an empty schema of a private PostgreSQL."""

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
from tests.servers import PostgresServer

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """An address, and a question to the store itself."""

    url: str
    schema: str
    probe: str  # SQL: a row while a job is unfinished

    def unfinished(self) -> bool:
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

    def transactions(self, place: Place) -> int:
        """How many the server has ended in this database; asking from another one adds nothing to it."""
        database = place.url.rpartition("/")[2]
        told = self._server.psql(
            f"select xact_commit + xact_rollback from pg_stat_database where datname = '{database}'"
        )
        return int(told)

    def close(self) -> None:
        self._server.discard()


Store = SqliteStore | PostgresStore


def open_store(engine: str) -> Store:
    return SqliteStore() if engine == "sqlite" else PostgresStore()
