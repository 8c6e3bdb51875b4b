"""A database that is set to another isolation level by its users changes nothing for sessions of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from acceptance.fleet import new_database
from penstock.engines.postgres import database
from penstock.engines.postgres.database import Call, Database
from penstock.engines.postgres.own import PostgresTransactions
from penstock.engines.postgres.pool import Pool
from penstock.model.clock import EngineClock
from servers import postgres_server

SHOW = "select current_setting('transaction_isolation')"
OURS = "read committed"


@pytest.fixture(params=["database", "url"])
def url(request: pytest.FixtureRequest) -> str:
    """Serializable, by its own setting or by that of the URL."""
    made = new_database(postgres_server().url())
    if request.param == "url":
        return f"{made}?options=-c%20default_transaction_isolation%3Dserializable"
    with psycopg.connect(made, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"alter database {name} set default_transaction_isolation = 'serializable'")
    return made


@pytest.fixture(params=[True, False], ids=["ours", "pooled"])
async def server(url: str, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """Sessions that begin with our settings; or, behind a pooler that drops them, without."""
    pool = Pool(url, 2)
    if not request.param:
        pool.ours = False
    pool.open()
    yield Database(pool)
    await pool.close()


async def test_the_verbs_of_the_engine_and_of_the_ledger_read_what_is_committed(server: Database) -> None:
    async def in_a_block(connection: Any) -> Any:
        return await database.query(connection, Call(SHOW, {}))

    assert await server.run(Call(SHOW, {}), repeatable=True) == [[(OURS,)]]
    assert await server.run(Call(SHOW, {}), Call(SHOW, {}), repeatable=True) == [[(OURS,)], [(OURS,)]]
    assert await server.records(Call(SHOW, {})) == [{"current_setting": OURS}]
    assert await server.transact(in_a_block, repeatable=True) == [(OURS,)]


async def test_the_transactions_of_handlers_do_too(url: str) -> None:
    made = PostgresTransactions(url, "penstock", EngineClock(), 2)
    block = made.begin(30.0)
    assert block.execute(SHOW, ()).fetchone() == (OURS,)
    block.rollback()
    ablock = await made.abegin(30.0)
    assert await (await ablock.execute(SHOW, ())).fetchone() == (OURS,)
    await ablock.rollback()
    made.close()
