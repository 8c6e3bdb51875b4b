"""Opens the engine of a URL: the only place that knows all of them."""

from __future__ import annotations

from collections.abc import Callable

from penstock.engine import Engine, OnLent, Transactions
from penstock.model.clock import Clock, EngineClock
from penstock.model.errors import NotSupported, SchemaMissing
from penstock.tasks.urls import check_ledger, is_redis, is_sqlite, sqlite_path


def make_engine(url: str, schema: str, clock: Clock, ledger: str | None = None) -> Engine:
    """A new engine, not opened yet, with its ledger where it has one."""
    if ledger is not None:
        return _with_ledger(url, schema, clock, ledger)
    if is_sqlite(url):
        from penstock.engines.sqlite.engine import SqliteEngine  # noqa: PLC0415 - only the engine in use

        return SqliteEngine(sqlite_path(url), clock=clock)
    if is_redis(url):
        from penstock.engines.redis.engine import RedisEngine  # noqa: PLC0415 - as above

        return RedisEngine(url, schema=schema, clock=clock)
    from penstock.engines.postgres.engine import PostgresEngine  # noqa: PLC0415 - as above

    return PostgresEngine(url, schema=schema, clock=clock)


def _with_ledger(url: str, schema: str, clock: Clock, ledger: str) -> Engine:
    from penstock.engines.redis.engine import RedisEngine  # noqa: PLC0415 - as above
    from penstock.ledger.database import Database  # noqa: PLC0415 - as above
    from penstock.ledger.engine import LedgeredEngine  # noqa: PLC0415 - as above

    check_ledger(url, ledger)
    database: Database
    if is_sqlite(ledger):
        from penstock.ledger.sqlite import SqliteLedger  # noqa: PLC0415 - as above

        database = SqliteLedger(sqlite_path(ledger), schema, clock)
    else:
        import penstock.engines.postgres  # noqa: F401, PLC0415 - says what to install where the driver is missing
        from penstock.ledger.postgres import PostgresLedger  # noqa: PLC0415 - as above

        database = PostgresLedger(ledger, schema, clock)
    return LedgeredEngine(RedisEngine(url, schema=schema, clock=clock), database, clock)


def on_lent(url: str, schema: str, clock: Clock) -> OnLent:
    """What the engine of a URL can do on a connection of the caller's; no engine is opened for it."""
    if is_sqlite(url):
        from penstock.engines.sqlite.lent import SqliteOnLent  # noqa: PLC0415 - as above

        return SqliteOnLent(sqlite_path(url), clock)
    if is_redis(url):
        raise NotSupported(
            "the jobs live in Redis, which takes no part in a transaction of your database: give the app "
            "outbox=…, the URL of that database, and run `penstock relay`"
        )
    from penstock.engines.postgres.lent import PostgresOnLent  # noqa: PLC0415 - as above

    return PostgresOnLent(schema, clock, url)


def transactions(
    url: str, schema: str, clock: Clock, engine: Callable[[], Engine], most: int
) -> Transactions:
    """Transactions in the database of a URL, for those who lend no connection; `most` stay open unused."""
    if is_sqlite(url):
        from penstock.engines.sqlite.own import SqliteTransactions  # noqa: PLC0415 - as above

        return SqliteTransactions(sqlite_path(url), clock, engine)
    if is_redis(url):
        raise NotSupported(
            "the jobs live in Redis, which takes no part in a transaction of your database, so that "
            "ctx.transaction() cannot be: write `ctx.once(name, connection=…)` in a transaction of your own, "
            "or give the other service `ctx.key_for(provider)`"
        )
    from penstock.engines.postgres.own import PostgresTransactions  # noqa: PLC0415 - as above

    return PostgresTransactions(url, schema, clock, most)


async def open_engine(
    url: str,
    schema: str,
    *,
    clock: Clock | None = None,
    migrate: bool | None = None,
    ledger: str | None = None,
) -> Engine:
    """Open the engine of a URL. `migrate` makes a missing schema; by default not on PostgreSQL."""
    engine = make_engine(url, schema, clock or EngineClock(), ledger)
    try:
        await engine.open()
    except SchemaMissing:
        if not (all(map(_made_by_itself, (url, ledger or url))) if migrate is None else migrate):
            raise
        await engine.migrate()
        await engine.open()
    return engine


def _made_by_itself(url: str) -> bool:
    return is_sqlite(url) or is_redis(url)
