"""TLS and passwords against real servers: the right ones are let in, and nobody reads a secret anywhere."""

from __future__ import annotations

import asyncio
import logging
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.redis_kit import fresh_engine, live
from penstock.engine import Level
from penstock.engines.redis import connector
from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import AccessRefused, EngineError, EngineUnavailable, InvalidOption
from servers import RedisServer, free_port, fresh_schema, missing


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate authority, a server's certificate for `localhost` only, and a client's."""
    if shutil.which("openssl") is None:
        missing("openssl")
    folder = tmp_path_factory.mktemp("certificates")
    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(folder, *new, "-x509", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test authority")
    for name in ("server", "client"):
        (folder / f"{name}.ext").write_text("subjectAltName=DNS:localhost\n" if name == "server" else "")
        _openssl(
            folder, *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"
        )  # fmt: skip
        signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", f"{name}.ext"]
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signed)
    return folder


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(params=["no", "yes"])
def tls_server(request: pytest.FixtureRequest, certificates: Path) -> Iterator[tuple[RedisServer, str, str]]:
    """A server that speaks TLS, which may ask for a certificate; its port; the options."""
    port = str(free_port())
    settings = {
        "tls_port": port,
        "tls_cert_file": str(certificates / "server.crt"),
        "tls_key_file": str(certificates / "server.key"),
        "tls_ca_cert_file": str(certificates / "ca.crt"),
        "tls_auth_clients": request.param,
    }
    options = f"ssl_ca_certs={certificates}/ca.crt"
    if request.param == "yes":
        options += f"&ssl_certfile={certificates}/client.crt&ssl_keyfile={certificates}/client.key"
    with RedisServer(**settings) as server:
        yield server, port, options


async def test_tls_with_a_known_authority_and_a_password(tls_server):
    server, port, options = tls_server
    server.ask("ACL", "SETUSER", "ana", "on", ">h:u@sh", "~*", "&*", "+@all")
    async with fresh_engine(url=f"rediss://ana:h%3Au%40sh@localhost:{port}/2?{options}") as engine:
        await live(engine)
        assert "tls" not in {f.name for f in await engine.examine()}


@pytest.mark.parametrize(
    ("host", "without", "why"),
    [
        ("localhost", "ssl_ca_certs", "certificate"),  # signed by nobody we know
        ("127.0.0.1", "", "certificate"),  # another name than the certificate's
    ],
)
async def test_tls_refuses_a_server_that_it_cannot_trust(tls_server, host, without, why):
    _, port, options = tls_server
    kept = "&".join(option for option in options.split("&") if not without or without not in option)
    with pytest.raises(EngineUnavailable, match=why):
        await RedisEngine(f"rediss://{host}:{port}?{kept}", schema="x").migrate()


async def test_tls_trusts_on_demand_by_name(tls_server):
    _, port, options = tls_server
    for demand in ("ssl_check_hostname=false", "ssl_cert_reqs=none"):
        async with fresh_engine(url=f"rediss://127.0.0.1:{port}?{options}&{demand}") as engine:
            await live(engine)


def test_a_certificate_that_cannot_be_read_is_named():
    with pytest.raises(InvalidOption, match="ssl_ca_certs"):
        RedisEngine("rediss://:hush@localhost?ssl_ca_certs=/nowhere/ca.crt", schema="x")


async def test_plain_words_to_a_tls_port_are_unavailable_not_a_hang(tls_server):
    _, port, _ = tls_server
    with pytest.raises(EngineUnavailable):
        await RedisEngine(f"redis://:hush@localhost:{port}", schema="x").migrate()


# -- passwords ----------------------------------------------------------------------------------------------


async def test_a_user_with_few_rights_is_enough():
    """What docs/redis.md tells to grant."""
    schema = fresh_schema()
    rights = ["~{%s}:*" % schema, "+@all", "-@admin", "-@dangerous", "+info", "+client|unblock"]  # noqa: UP031
    with RedisServer(appendonly="yes") as server:
        server.ask("ACL", "SETUSER", "ana", "on", ">hush", *rights)
        server.ask("SET", "theirs", "1")
        async with fresh_engine(url=f"redis://ana:hush@127.0.0.1:{server.port}", schema=schema) as engine:
            await live(engine)
            assert {f.name for f in await engine.examine() if f.level is Level.UNSAFE} == set()


async def test_secrets_are_in_no_log_error_or_repr(caplog):
    caplog.set_level(logging.DEBUG)
    with RedisServer(requirepass="right") as server:
        told = []
        for url in (
            f"redis://ana:s3cret@127.0.0.1:{server.port}",
            f"redis://:s3cret@127.0.0.1:{free_port()}",
        ):
            engine = RedisEngine(url, schema="x")
            with pytest.raises(EngineError) as caught:
                await engine.open()
            chain = [caught.value, caught.value.__cause__, caught.value.__context__]
            told += [*map(repr, chain), repr(engine), repr(engine._connector.address), repr(vars(engine))]
            await engine.close()
        assert "s3cret" not in " ".join(told) + caplog.text


async def test_a_password_that_changes_is_told_as_such_and_connections_go_on():
    with RedisServer() as server:
        server.ask("ACL", "SETUSER", "ana", "on", ">hush", "~*", "&*", "+@all")
        async with fresh_engine(url=f"redis://ana:hush@127.0.0.1:{server.port}") as engine:
            server.ask("ACL", "SETUSER", "ana", "resetpass", ">other")
            await live(engine, "before")
            server.ask("CLIENT", "KILL", "USER", "ana")
            with pytest.raises(EngineError, match="password"):
                await live(engine, "after")


async def test_a_server_that_does_not_speak_tls_is_told_as_such(monkeypatch):
    guests: list[asyncio.Task[None]] = []

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        guests.append(asyncio.current_task())
        if await reader.read(6) == b"PING\r\n":
            writer.write(b"+PONG\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()

    monkeypatch.setattr(connector, "CONNECT_SECONDS", 0.2)
    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(AccessRefused, match="does not speak TLS"):
            await RedisEngine(f"rediss://:secret@127.0.0.1:{port}").open()
        await asyncio.wait_for(asyncio.gather(*guests), 5)
