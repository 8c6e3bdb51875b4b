"""Transactions of handlers on PostgreSQL: what the server refuses at the commit spoils nothing after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import psycopg
import pytest

from engines.postgres_kit import ask, fresh_engine
from penstock.engines.postgres.own import PostgresTransactions
from penstock.model.clock import EngineClock
from servers import postgres_server

LEASE = 30.0


class Shop(NamedTuple):
    transactions: PostgresTransactions
    schema: str

    @property
    def orphan(self) -> str:
        """A row that is refused when it is committed, not before."""
        return f"insert into {self.schema}.lines values (99)"

    @property
    def order(self) -> str:
        return f"insert into {self.schema}.orders values (1)"

    async def orders(self) -> int:
        return len(await ask(f"select id from {self.schema}.orders"))


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    async with fresh_engine() as engine:
        orders = f"{engine.schema}.orders"
        await ask(f"create table {orders} (id int primary key)")
        await ask(f"create table {engine.schema}.lines (id int references {orders} initially deferred)")
        transactions = PostgresTransactions(postgres_server().url(), engine.schema, EngineClock(), 4)
        yield Shop(transactions, engine.schema)
        transactions.close()


async def test_a_commit_that_the_server_refuses_spoils_no_transaction_after_it(shop: Shop) -> None:
    refused = shop.transactions.begin(LEASE)
    refused.execute(shop.orphan, ())
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        refused.commit()
    refused.rollback()
    both = [shop.transactions.begin(LEASE), shop.transactions.begin(LEASE)]
    assert both[0].connection is not both[1].connection
    both[0].execute(shop.order, ())
    both[0].commit()
    both[1].rollback()
    assert await shop.orders() == 1


async def test_an_awaited_commit_that_the_server_refuses_spoils_no_transaction_after_it(shop: Shop) -> None:
    refused = await shop.transactions.abegin(LEASE)
    await refused.execute(shop.orphan, ())
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        await refused.commit()
    await refused.rollback()
    both = [await shop.transactions.abegin(LEASE), await shop.transactions.abegin(LEASE)]
    assert both[0].connection is not both[1].connection
    await both[0].execute(shop.order, ())
    await both[0].commit()
    await both[1].rollback()
    assert await shop.orders() == 1


LEFT = (
    "set search_path to pg_catalog",
    "set statement_timeout = '7s'",
    "set role pg_monitor",
    "create temp table left_over (n int)",
    "select pg_advisory_lock(4711)",
)
SEEN = (
    "select current_setting('search_path'), current_setting('statement_timeout'), current_user, "
    "to_regclass('left_over') is not null, (select count(*) from pg_locks where objid = 4711)"
)


async def test_what_a_transaction_leaves_in_the_session_is_not_there_for_the_next(shop: Shop) -> None:
    first = shop.transactions.begin(LEASE)
    before = first.execute(SEEN, ()).fetchone()
    for statement in LEFT:
        first.execute(statement, ())
    first.commit()
    second = shop.transactions.begin(LEASE)
    assert second.connection is first.connection
    assert second.execute(SEEN, ()).fetchone() == before
    assert second.execute("show idle_in_transaction_session_timeout", ()).fetchone() == ("30s",)
    second.rollback()


async def test_an_awaited_transaction_leaves_nothing_in_the_session_either(shop: Shop) -> None:
    first = await shop.transactions.abegin(LEASE)
    before = await (await first.execute(SEEN, ())).fetchone()
    for statement in LEFT:
        await first.execute(statement, ())
    await first.commit()
    second = await shop.transactions.abegin(LEASE)
    assert second.connection is first.connection
    assert await (await second.execute(SEEN, ())).fetchone() == before
    await second.rollback()
