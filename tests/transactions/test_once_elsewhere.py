"""ctx.once(connection=…): the effect is in a database of the user's, and the jobs live in another place."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from acceptance.fleet import new_database
from conftest import make_place
from lent_kit import KINDS, Kind
from penstock import Context, Penstock, Retry, SchemaMissing, State
from penstock.model.clock import FakeClock
from penstock.outbox.tables import plan

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.dialect} {kind.name}")


@pytest.fixture
def home(kind: Kind, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of the user's, with the satellite tables in it."""
    if kind.dialect == "sqlite":
        path = tmp_path / "home.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(plan("sqlite") + "; create table charges (n integer);")
        yield str(path)
        return
    url = new_database(request.getfixturevalue("postgres_url"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(plan("postgresql").encode())
        connection.execute("create table charges (n integer)")
    yield url


@pytest.fixture
async def app(
    tmp_path: Path, request: pytest.FixtureRequest, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Penstock]:
    monkeypatch.setenv("PENSTOCK_ACCEPT_UNSAFE", "persistence")
    place = make_place("redis", tmp_path, request)
    app = Penstock(place.address, schema=place.schema, clock=clock)
    async with app:
        yield app


async def run(app: Penstock) -> None:
    while await app.worker().run(burst=True):
        pass


@every_kind
async def test_an_effect_is_made_once_where_its_transaction_commits(
    kind: Kind, home: str, app: Penstock, clock: FakeClock
) -> None:
    said: list[bool] = []

    @app.task(retry=Retry.immediate(4), key="order:{n}", effects_for=60 * 86_400)
    async def pay(ctx: Context, n: int) -> None:
        async with kind.open(home) as user:
            await user.begin()
            said.append(await ctx.once("charge", connection=user.raw))
            if said[-1]:
                await user.execute(f"insert into charges values ({n})")
            if ctx.attempt == 1:
                await user.rollback()
                raise ValueError("before the commit")
            await user.commit()
        if ctx.attempt == 2:
            raise ValueError("after the commit")

    job = await pay.aenqueue(n=7)
    await run(app)
    assert (await job.arefresh()).state is State.COMPLETED
    assert said == [True, True, False]
    for wait, expected in ((0, [False, False, False]), (60, [True, True, False])):
        said.clear()
        clock.advance(days=wait)
        await app.engine.delete([job.id])  # its key is free again, and the effect is known all the same
        job = await pay.aenqueue(n=7)
        await run(app)
        assert said == expected


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.name in ("sqlite3", "psycopg async")], ids=lambda k: k.name
)
async def test_a_missing_table_is_named(kind: Kind, app: Penstock, tmp_path: Path, postgres_url: str) -> None:
    said: list[Exception] = []

    @app.task(retry="none")
    async def pay(ctx: Context) -> None:
        async with kind.open(
            str(tmp_path / "empty.db") if kind.dialect == "sqlite" else postgres_url
        ) as user:
            try:
                await ctx.once("charge", connection=user.raw)
            except SchemaMissing as error:
                said.append(error)
            await user.rollback()

    await pay.aenqueue()
    await run(app)
    assert "penstock effects apply" in str(said[0])


async def test_a_connection_in_autocommit_is_refused(app: Penstock, tmp_path: Path) -> None:
    said: list[Exception] = []

    @app.task(retry="none")
    async def pay(ctx: Context) -> None:
        with closing(sqlite3.connect(tmp_path / "home.db", isolation_level=None)) as connection:
            try:
                await ctx.once("charge", connection=connection)
            except Exception as error:
                said.append(error)

    await pay.aenqueue()
    await run(app)
    assert "autocommit" in str(said[0])


@pytest.mark.parametrize("kind", [k for k in KINDS if k.name in ("sqlite3", "psycopg")], ids=lambda k: k.name)
async def test_an_app_with_an_outbox_records_there_wherever_its_jobs_live(
    kind: Kind, home: str, tmp_path: Path
) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db", outbox=f"sqlite:///{home}" if "://" not in home else home)

    @app.task(retry="none")
    async def pay(ctx: Context) -> bool:
        async with kind.open(home) as user:
            first = await ctx.once("charge", connection=user.raw)
            await user.commit()
            return first

    async with app:
        jobs = [await pay.using(key="same", unique="unfinished").aenqueue() for _ in range(1)]
        await run(app)
        jobs.append(await pay.using(key="same", unique="unfinished").aenqueue())
        await run(app)
        assert [await job.aresult(5) for job in jobs] == [True, False]
