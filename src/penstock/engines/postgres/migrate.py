"""Numbered migrations: applied in order, once, whoever asks and however many ask at once."""

from __future__ import annotations

from penstock.engines.postgres.catalog import catalog, migrations
from penstock.engines.postgres.database import Call, Connection, query
from penstock.model.errors import EngineError, SchemaMissing, SchemaTooNew


async def migrate(connection: Connection, schema: str) -> list[str]:
    """Apply what is missing, in one transaction; the names of what was applied."""
    await _refuse_other_encodings(connection)
    async with connection.transaction():
        # A statement of its own, so that the next one sees what a process before us has committed.
        await connection.execute(
            "select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"migrate {schema}"]
        )
        applied = await applied_migrations(connection, schema)
        if applied is None:
            await _create_schema(connection, schema)
        known = migrations(schema)
        _refuse_newer(schema, applied or set(), known)
        missing = [name for name in known if name not in (applied or set())]
        for name in missing:
            await connection.execute(known[name].encode())
            await query(connection, Call(catalog(schema)["add_migration"], {"name": name}))
    return missing


async def check(connection: Connection, schema: str) -> None:
    """Raise where this release and the database do not fit."""
    await _refuse_other_encodings(connection)
    applied = await applied_migrations(connection, schema)
    known = migrations(schema)
    if applied is None:
        raise SchemaMissing(f"the database has no Penstock schema {schema!r}; run `penstock migrate`")
    _refuse_newer(schema, applied, known)
    if missing := [name for name in known if name not in applied]:
        raise SchemaMissing(f"schema {schema!r} lacks {', '.join(missing)}; run `penstock migrate`")


async def applied_migrations(connection: Connection, schema: str) -> set[str] | None:
    """The names of the migrations applied; None where there is no record of any."""
    there = await connection.execute("select to_regclass(%s) is not null", [f"{schema}.migrations"])
    row = await there.fetchone()
    if row is None or not row[0]:
        return None
    return {name for (name,) in await query(connection, Call(catalog(schema)["applied_migrations"], {}))}


async def _create_schema(connection: Connection, schema: str) -> None:
    # `create schema if not exists` needs the right to create one even where it exists.
    there = await connection.execute("select to_regnamespace(%s) is not null", [schema])
    row = await there.fetchone()
    if row is None or not row[0]:
        await query(connection, Call(catalog(schema)["create_schema"], {}))
    await query(connection, Call(catalog(schema)["create_migrations"], {}))


async def _refuse_other_encodings(connection: Connection) -> None:
    """A value is accepted by every engine or by none: what Python writes must fit."""
    cursor = await connection.execute("show server_encoding")
    row = await cursor.fetchone()
    if row is not None and row[0] != "UTF8":
        raise EngineError(
            f"the database is encoded in {row[0]}, which cannot hold every text; "
            "create one with `create database … encoding 'UTF8' template template0`"
        )


def _refuse_newer(schema: str, applied: set[str], known: dict[str, str]) -> None:
    if newer := sorted(applied - known.keys()):
        raise SchemaTooNew(
            f"schema {schema!r} has {', '.join(newer)}, which this release does not know; upgrade penstock"
        )
