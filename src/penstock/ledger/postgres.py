"""A ledger in PostgreSQL: one table in a schema, on connections of its own."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import psycopg

from penstock.engine import Finding, Level
from penstock.engines.postgres import durability, failures
from penstock.engines.postgres.address import check_hosts
from penstock.engines.postgres.database import Call, Connection
from penstock.engines.postgres.database import Database as Server
from penstock.engines.postgres.examine import look_at
from penstock.engines.postgres.pool import Pool
from penstock.ledger.database import Rows, Say
from penstock.ledger.dialect import spelt, texts
from penstock.model.clock import Clock
from penstock.model.errors import EngineError, SchemaMissing, SchemaTooNew
from penstock.model.names import check_schema

T = TypeVar("T")

POOL_SIZE = 4
CLOCK_SECONDS = 60.0  # after which the server is asked again how far our clocks are apart
_LOCK = "select pg_advisory_xact_lock(hashtextextended(%s, 0))"
_THERE = "select to_regclass(%s) is not null, to_regclass(%s) is not null"


class PostgresLedger:
    """See `ledger.database.Database`."""

    def __init__(self, url: str, schema: str, clock: Clock) -> None:
        check_hosts(url)
        self.schema = check_schema(schema)
        self._clock = clock
        self._texts = texts("postgresql", schema)
        self._pool = Pool(url, POOL_SIZE)
        self._server = Server(self._pool)
        self._ahead: tuple[float, timedelta] | None = (
            None  # when asked, and by how much the server's clock is
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._pool.address}, schema={self.schema!r})"

    async def open(self) -> None:
        self._pool.open()
        try:
            await self._server.use(self._check)
            await self._server.use(durability.check)
        except BaseException:
            await self._pool.close()
            raise

    async def close(self) -> None:
        await self._pool.close()

    async def migrate(self) -> list[str]:
        return await self._alone(self._migrate)

    async def examine(self) -> list[Finding]:
        return await self._alone(self._examine)

    async def run(self, says: Sequence[Say], *, repeatable: bool = True) -> list[Rows]:
        calls = [Call(self._text(say), say.values) for say in says]
        return await self._server.run(*calls, repeatable=repeatable)

    def _text(self, say: Say) -> str:
        return self._texts.sql[say.name].replace("{where}", spelt(say.where, "postgresql"))

    async def changed(self, say: Say) -> int:
        async def work(connection: Connection) -> int:
            cursor = await connection.execute(self._text(say).encode(), say.values)
            return cursor.rowcount

        return await self._server.transact(work, repeatable=True)

    async def now(self) -> datetime:
        at = self._clock.now()
        if at is not None:
            return at
        if self._ahead is None or time.monotonic() - self._ahead[0] > CLOCK_SECONDS:
            self._ahead = time.monotonic(), await self._server.use(_ahead)
        return datetime.now(UTC) + self._ahead[1]

    async def _alone(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        connection = await self._pool.connect()
        with failures.typed_errors(connection):
            async with connection:
                return await work(connection)

    async def _check(self, connection: Connection) -> None:
        missing = await self._missing(connection)
        if missing:
            raise SchemaMissing(
                f"the ledger's schema {self.schema!r} lacks {', '.join(missing)}; run `penstock migrate`"
            )

    async def _missing(self, connection: Connection) -> list[str]:
        names = f"{self.schema}.ledger_migrations", f"{self.schema}.migrations"
        cursor = await connection.execute(_THERE, names)
        ours, engines = await cursor.fetchone() or (False, False)
        if engines:
            raise EngineError(
                f"schema {self.schema!r} of the ledger's database holds the jobs of an engine; "
                "give this app another schema: PENSTOCK_SCHEMA"
            )
        if not ours:
            return list(self._texts.migrations)
        cursor = await connection.execute(self._texts.sql["applied"].encode())
        done = {name for (name,) in await cursor.fetchall()}
        if newer := sorted(done - self._texts.migrations.keys()):
            raise SchemaTooNew(
                f"the ledger has {', '.join(newer)}, which this release does not know; upgrade"
            )
        return [name for name in self._texts.migrations if name not in done]

    async def _migrate(self, connection: Connection) -> list[str]:
        async with connection.transaction():
            await connection.execute(_LOCK, [f"ledger {self.schema}"])
            missing = await self._missing(connection)
            if missing:
                await self._create(connection)
            for name in missing:
                await connection.execute(self._texts.migrations[name].encode())
                await connection.execute(self._texts.sql["add_migration"].encode(), {"name": name})
        return [f"ledger {name}" for name in missing]

    async def _create(self, connection: Connection) -> None:
        cursor = await connection.execute("select to_regnamespace(%s) is not null", [self.schema])
        if await cursor.fetchone() != (True,):
            await connection.execute(f"create schema {self.schema}".encode())
        await connection.execute(self._texts.sql["create_migrations"].encode())

    async def _examine(self, connection: Connection) -> list[Finding]:
        return [*await look_at(connection), await self._schema_finding(connection)]

    async def _schema_finding(self, connection: Connection) -> Finding:
        try:
            await self._check(connection)
        except EngineError as error:
            return Finding("schema", Level.UNUSABLE, str(error))
        return Finding("schema", Level.OK, f"{self.schema}.background_jobs is up to date")


async def _ahead(connection: Connection) -> timedelta:
    before = datetime.now(UTC)
    cursor: psycopg.AsyncCursor[Any] = await connection.execute("select clock_timestamp()")
    ((theirs,),) = await cursor.fetchall()
    after = datetime.now(UTC)
    ahead: timedelta = theirs - (before + (after - before) / 2)
    return ahead
