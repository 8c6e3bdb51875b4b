"""A wrong user, password or database, and missing rights: told at once, and not as a server that is away."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from conftest import no_leaks
from engines.postgres_kit import ask, fresh_engine
from penstock.engines.postgres.engine import PostgresEngine
from penstock.model.errors import AccessRefused, EngineUnavailable, InvalidOption
from servers import fresh_schema, postgres_server

SECRET = "s3cr3t"


def url(**parts: str) -> str:
    server = postgres_server()
    told = {"user": "postgres", "dbname": "postgres", **parts}
    return f"postgresql://{told['user']}:{SECRET}@127.0.0.1:{server.port}/{told['dbname']}"


@asynccontextmanager
async def server_that_says(message: str, code: str) -> AsyncIterator[tuple[str, list[int]]]:
    """The URL of a server that greets everybody with this error; and who has called."""
    calls: list[int] = []
    fields = b"".join(k + v.encode() + b"\0" for k, v in ((b"S", "FATAL"), (b"C", code), (b"M", message)))

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(1)
        length, kind = struct.unpack("!II", await reader.readexactly(8))
        await reader.readexactly(length - 8)
        writer.write(b"N" if kind in (80877103, 80877104) else _error(fields))
        if kind in (80877103, 80877104):
            length, _ = struct.unpack("!II", await reader.readexactly(8))
            await reader.readexactly(length - 8)
            writer.write(_error(fields))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        yield f"postgresql://app:{SECRET}@127.0.0.1:{server.sockets[0].getsockname()[1]}/shop", calls


def _error(fields: bytes) -> bytes:
    return b"E" + struct.pack("!I", len(fields) + 5) + fields + b"\0"


@pytest.mark.parametrize(
    ("wrong", "told"), [({"user": "nobody_here"}, "nobody_here"), ({"dbname": "not_there"}, "not_there")]
)
async def test_a_role_or_database_that_is_not_there_is_named(wrong, told):
    engine = PostgresEngine(url(**wrong))
    with no_leaks():
        for verb in (engine.open, engine.migrate, engine.examine):
            with pytest.raises(AccessRefused, match=told) as caught:
                await verb()
            assert SECRET not in str(caught.value)
            assert "URL" in str(caught.value)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('password authentication failed for user "app"', "28P01"),
        ('no pg_hba.conf entry for host "10.0.0.1", user "app", database "shop", no encryption', "28000"),
        ('role "app" is not permitted to log in', "28000"),
        ('permission denied for database "shop"', "42501"),
    ],
)
async def test_a_server_that_does_not_let_us_in_is_told_as_such(message, code):
    async with server_that_says(message, code) as (address, calls):
        with pytest.raises(AccessRefused) as caught:
            await PostgresEngine(address).open()
    assert len(calls) <= 2  # the driver may ask with and without encryption; we do not ask again
    assert message.partition(",")[0] in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "code"),
    [("the database system is starting up", "57P03"), ("sorry, too many clients already", "53300")],
)
async def test_a_server_that_is_only_busy_stays_one_to_try_again(message, code):
    async with server_that_says(message, code) as (address, _):
        with pytest.raises(EngineUnavailable, match=message):
            await PostgresEngine(address).migrate()


async def test_rights_that_are_missing_are_told_with_where_to_read_on():
    async with fresh_engine() as owner:
        role = fresh_schema()
        await ask(f"create role {role} login")
        try:
            guest = PostgresEngine(url(user=role), schema=owner.schema)
            with no_leaks(), pytest.raises(AccessRefused, match=r"docs/operating\.md"):
                await guest.open()
            newcomer = PostgresEngine(url(user=role), schema=fresh_schema())
            with no_leaks(), pytest.raises(AccessRefused, match="permission denied for database"):
                await newcomer.migrate()
        finally:
            await ask(f"drop role {role}")


@pytest.mark.parametrize("place", ["a..b", "a" * 64, "h:99999", "h:port", "h,a..b"])
def test_a_host_or_port_that_cannot_be_is_refused_without_repeating_the_url(place):
    with pytest.raises(InvalidOption, match="in the URL") as told:
        PostgresEngine(f"postgresql://ana:{SECRET}@{place}/shop")
    assert SECRET not in str(told.value)


@pytest.mark.parametrize("option", ["sslmode", "channel_binding", "connect_timeout", "keepalives"])
async def test_an_option_that_cannot_be_is_named_at_once(option):
    engine = PostgresEngine(f"{url()}?{option}=bogus")
    for verb in (engine.open, engine.migrate, engine.examine):
        with pytest.raises(InvalidOption, match="bogus") as told:
            await verb()
        assert option in str(told.value)
        assert SECRET not in str(told.value)
