"""A user's own database with an outbox in it, relays, and an engine that is in another place."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from acceptance.fleet import new_database
from conformance.kit import new
from penstock.engine import Engine, JobFilter
from penstock.lent import AsyncLent, lent
from penstock.model.clock import Clock, FakeClock
from penstock.model.job import Job, NewJob
from penstock.outbox.box import Outbox
from penstock.outbox.relay import Relay
from penstock.outbox.store import Status, Store
from penstock.outbox.stores import make_store
from penstock.outbox.writer import Writer

KEPT = 3_600.0


@dataclass
class Home:
    """The user's own database."""

    kind: str
    url: str
    clock: Clock
    stores: list[Store] = field(default_factory=list)
    destination: str = "jobs elsewhere"
    keep_for: float = KEPT

    @property
    def outbox(self) -> Outbox:
        return Outbox(self.url, self.clock, KEPT, self.destination)

    def connect(self) -> Any:
        """A connection as the user has it: its transactions begin by themselves."""
        if self.kind == "sqlite":
            return sqlite3.connect(self.url.removeprefix("sqlite:///"))
        return psycopg.connect(self.url)

    def write(self, *jobs: NewJob, order: str | None = None) -> None:
        """In a transaction that is committed."""
        with closing(self.connect()) as connection:
            self.put(connection, *jobs, order=order)
            connection.commit()

    def put(self, connection: Any, *jobs: NewJob, order: str | None = None) -> None:
        """In the transaction of a connection."""
        on = lent(connection)
        assert not isinstance(on, AsyncLent)
        Writer(self.url, self.clock, self.destination).enqueue(
            on, [job._replace(order=order) for job in jobs]
        )

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(self.connect()) as connection:
            cursor = connection.execute(sql)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
            return rows

    def undispatched(self) -> int:
        return int(self.run("select count(*) from penstock_outbox where dispatched_at is null")[0][0])

    def store(self) -> Store:
        made = make_store(self.url, self.clock, self.destination)
        self.stores.append(made)
        return made

    def relay(self, engine: Engine | Any) -> Relay:
        """A relay over an engine that is open."""

        @asynccontextmanager
        async def opened() -> AsyncIterator[Engine]:
            yield engine

        return Relay(self.store(), opened, KEPT)

    async def relay_all(self, engine: Engine | Any) -> int:
        """Until nothing is due; how many rows were dispatched."""
        return await self.relay(engine).run(burst=True)

    async def status(self) -> Status:
        return await self.outbox.status()


def make_home(kind: str, folder: Path, clock: Clock) -> Home:
    if kind == "sqlite":
        return Home(kind, f"sqlite:///{folder / 'user.db'}", clock)
    from servers import postgres_server

    return Home(kind, new_database(postgres_server().url()), clock)


@pytest.fixture(name="home", params=["postgresql", "sqlite"])
async def user_database(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Home]:
    """A user's database with the tables made; time stands still."""
    made = make_home(request.param, tmp_path, clock)
    await made.outbox.apply()
    yield made
    for store in made.stores:
        await store.close()


async def found(engine: Engine, **where: Any) -> list[Job]:
    """The jobs that are in the engine, in the order of their ids."""
    return list(reversed(await engine.jobs(JobFilter(**where), 200)))


def jobs(count: int, **more: Any) -> list[NewJob]:
    return [new(**more) for _ in range(count)]


def ids(them: Sequence[NewJob | Job]) -> list[str]:
    return [job.id for job in them]


@pytest.fixture(name="engine")
async def other_engine(clock: FakeClock) -> AsyncIterator[Engine]:
    """An engine in another place."""
    from penstock.engines.sqlite.engine import SqliteEngine

    engine = SqliteEngine(":memory:", clock=clock)
    await engine.migrate()
    await engine.open()
    yield engine
    await engine.close()
