"""A ledger in an SQLite file of its own, for one host: one thread writes, and reads."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from penstock.engine import Finding, Level
from penstock.engines.sqlite.connection import connect_writer, identity, patiently
from penstock.engines.sqlite.examine import look_at
from penstock.engines.sqlite.failures import typed_errors
from penstock.engines.sqlite.files import Files, check_place
from penstock.engines.sqlite.instants import now_by
from penstock.engines.sqlite.schema import statements_of
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.store import Store
from penstock.engines.sqlite.writer import Writer
from penstock.ledger.database import Rows, Say
from penstock.ledger.dialect import spelt, texts
from penstock.ledger.rows import written
from penstock.model.clock import Clock
from penstock.model.errors import EngineError, InvalidOption, SchemaMissing, SchemaTooNew
from penstock.model.names import check_schema

T = TypeVar("T")

_TABLES = "select name from sqlite_master where type = 'table' and name like 'penstock%'"
_APP = "select schema from penstock_ledger_app"
_BE_THE_APP = (
    "insert into penstock_ledger_app (schema) select ? where not exists (select 1 from penstock_ledger_app)"
)
_TIMES = ("at", "created_at", "started_at", "finished_at", "updated_at", "due_at", "expires_at", "next_at")


class _File(Store):
    """The writing end of the file: the same locks and checkpoints, another schema, no heartbeats."""

    def __init__(self, files: Files, schema: str, clock: Clock) -> None:
        super().__init__(files, clock, "FULL")
        self._schema = schema

    def _connect(self) -> sqlite3.Connection:
        connection = connect_writer(self._files, self._synchronous)
        try:
            _check(connection, self.database, self._schema)
            self._identity = identity(self._path)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def transaction(self) -> Tx:
        assert self._connection is not None
        return Tx(self._connection, None, now_by(self._clock))

    def migrate(self) -> list[str]:
        with self.turn():
            connection = connect_writer(self._files, self._synchronous)
            try:
                return _migrate(connection, self.database, self._schema)
            finally:
                connection.close()


class SqliteLedger:
    """See `ledger.database.Database`."""

    def __init__(self, path: str, schema: str, clock: Clock) -> None:
        self._files = Files.at(path)
        self._schema = check_schema(schema)
        if self._files.in_memory:
            raise InvalidOption("a ledger in memory would not outlive the process: name a file")
        self._clock = clock
        self._texts = texts("sqlite", "penstock")
        self._open: tuple[_File, Writer] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._files.database!r})"

    async def open(self) -> None:
        if self._open is None:
            check_place(self._files, allow_network=False)
            with typed_errors(self._files.database):
                self._open = await asyncio.to_thread(self._start)

    def _start(self) -> tuple[_File, Writer]:
        file = _File(self._files, self._schema, self._clock)
        try:
            file.open()
        except BaseException:
            file.close()
            raise
        writer = Writer(file, lambda _: None)
        writer.start()
        return file, writer

    async def close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            file, writer = opened
            await asyncio.to_thread(writer.stop)
            await asyncio.to_thread(file.close)

    async def migrate(self) -> list[str]:
        check_place(self._files, allow_network=False)
        with typed_errors(self._files.database):
            return await asyncio.to_thread(self._migrated)

    def _migrated(self) -> list[str]:
        file = _File(self._files, self._schema, self._clock)
        try:
            return file.migrate()
        finally:
            file.close()

    async def examine(self) -> list[Finding]:
        return [*await asyncio.to_thread(look_at, self._files, "FULL"), await self._schema_finding()]

    async def _schema_finding(self) -> Finding:
        if not os.path.exists(self._files.database):  # noqa: PTH110, ASYNC240
            return Finding("schema", Level.OK, "there is no file yet; the first use makes it")
        try:
            with typed_errors(self._files.database):
                await asyncio.to_thread(self._look)
        except EngineError as error:
            return Finding("schema", Level.UNUSABLE, str(error))
        return Finding("schema", Level.OK, "penstock_background_jobs is up to date")

    def _look(self) -> None:
        file = _File(self._files, self._schema, self._clock)
        try:
            file.open()
        finally:
            file.close()

    async def run(self, says: Sequence[Say], *, repeatable: bool = True) -> list[Rows]:  # noqa: ARG002
        return await self._write(lambda tx: [self._rows(tx, say) for say in says])

    async def changed(self, say: Say) -> int:
        return await self._write(lambda tx: self._execute(tx, say).rowcount)

    async def now(self) -> datetime:
        return self._clock.now() or datetime.now(UTC)

    async def _write(self, verb: Callable[[Tx], T]) -> T:
        if self._open is None:
            raise EngineError("the ledger is not open")
        return await self._open[1].run(verb)

    def _execute(self, tx: Tx, say: Say) -> sqlite3.Cursor:
        text = self._texts.sql[say.name].replace("{where}", spelt(say.where, "sqlite"))
        return tx.connection.execute(text, {name: _stored(value) for name, value in say.values.items()})

    def _rows(self, tx: Tx, say: Say) -> Rows:
        cursor = self._execute(tx, say)
        names = [column[0] for column in cursor.description or ()]
        times = {place for place, name in enumerate(names) if name in _TIMES}
        return [
            tuple(_read(value) if place in times else value for place, value in enumerate(row))
            for row in cursor
        ]


def _stored(value: Any) -> Any:
    return written(value) if isinstance(value, datetime) else value


def _read(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _check(connection: sqlite3.Connection, database: str, schema: str) -> None:
    missing = _missing(connection, database, schema)
    if missing:
        raise SchemaMissing(f"the ledger {database} lacks {', '.join(missing)}; run `penstock migrate`")


def _missing(connection: sqlite3.Connection, database: str, schema: str) -> list[str]:
    sql, known = texts("sqlite", "penstock")
    tables = {row[0] for row in connection.execute(_TABLES)}
    if "penstock_jobs" in tables:
        raise EngineError(f"{database} holds the jobs of an engine; name another file for the ledger")
    if "penstock_ledger_app" in tables:
        _refuse_another_app(connection, database, schema)
    if "penstock_ledger_migrations" not in tables:
        return list(known)
    done = {row[0] for row in connection.execute(sql["applied"])}
    if newer := sorted(done - known.keys()):
        raise SchemaTooNew(f"the ledger has {', '.join(newer)}, which this release does not know; upgrade")
    return [name for name in known if name not in done]


def _refuse_another_app(connection: sqlite3.Connection, database: str, schema: str) -> None:
    """Jobs of another, which are not in our Redis, would look as if they were lost there."""
    (owner,) = connection.execute(_APP).fetchone()
    if owner != schema:
        raise EngineError(
            f"{database} is the ledger of an app whose PENSTOCK_SCHEMA is {owner!r}; "
            f"name another file for the one whose is {schema!r}"
        )


def _migrate(connection: sqlite3.Connection, database: str, schema: str) -> list[str]:
    sql, known = texts("sqlite", "penstock")
    patiently(connection, "begin immediate")
    try:
        missing = _missing(connection, database, schema)
        connection.execute(sql["create_migrations"])
        for name in missing:
            for statement in statements_of(known[name]):
                connection.execute(statement)
            connection.execute(sql["add_migration"], {"name": name})
        connection.execute(_BE_THE_APP, [schema])
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
    return [f"ledger {name}" for name in missing]
