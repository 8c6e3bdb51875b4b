"""Finding the server that takes writes, and being let in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

from penstock.engines.redis.address import Address, Host
from penstock.engines.redis.wire import Lost, ServerError, Wire, frame
from penstock.model.errors import AccessRefused, EngineUnavailable

CONNECT_SECONDS = 5.0
PROBE_SECONDS = 1.0
_NAME = b"penstock"


class Connector:
    """Makes connections to the primary: as the URL says, as the sentinels say, or as the cluster says."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._tls = address.tls_context()
        self._told: Host | None = None  # where a node of the cluster said that our slot is
        self._each = CONNECT_SECONDS / len(address.hosts)  # a silent one leaves time for the next

    async def connect(self, patience: float) -> Wire:
        """A connection that is let in; EngineUnavailable where there is none to be had now."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._connect(patience)
        except (OSError, Lost, TimeoutError) as error:
            self._told = None
            if self._tls and await self._speaks_plainly():
                raise AccessRefused(
                    f"{self.address.shown} does not speak TLS: write redis… instead of rediss… in the URL, "
                    "or turn TLS on at the server"
                ) from None
            why = "no answer in time" if isinstance(error, TimeoutError) else _first_line(error)
            raise EngineUnavailable(f"cannot connect to {self.address.shown}: {why}") from None

    async def _speaks_plainly(self) -> bool:
        """Whether the server answers without TLS: it would wait for the end of a greeting it cannot read."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                reader, writer = await asyncio.open_connection(*self.address.hosts[0])
                try:
                    writer.write(b"PING\r\n")
                    return (await reader.read(1)) in (b"+", b"-")
                finally:
                    writer.close()
        return False

    def told(self, error: ServerError) -> None:
        """Heed a node of the cluster that names another: `MOVED 1234 host:port`."""
        if error.code == "MOVED":
            host, _, port = str(error).split()[2].rpartition(":")
            self._told = (host.strip("[]") or self.address.hosts[0][0], int(port))

    async def _connect(self, patience: float) -> Wire:
        if self.address.kind == "sentinel":
            return await self._enter(await self._primary(), patience)
        if self._told is not None:
            return await self._enter(self._told, patience)
        problem: Exception = OSError("no host is named")
        for host in self.address.hosts:
            try:
                async with asyncio.timeout(self._each):
                    return await self._enter(host, patience)
            except (OSError, Lost) as error:
                problem = error
        raise problem

    async def _primary(self) -> Host:
        """Ask the sentinels, one after the other, which server takes writes now."""
        problem = "no sentinel answers"
        for sentinel in self.address.hosts:
            try:
                async with asyncio.timeout(self._each):
                    if found := await self._ask_sentinel(sentinel):
                        return found
                problem = f"the sentinels do not know {self.address.service!r}"
            except ServerError as error:
                problem = error.code
            except (OSError, Lost):
                continue
        raise OSError(problem)

    async def _ask_sentinel(self, sentinel: Host) -> Host | None:
        wire = await self._dial(sentinel, CONNECT_SECONDS)
        try:
            for login in self._sentinel_login():
                await wire.call(login)
            found = await wire.call(frame(b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", self.address.service))
            return (found[0].decode(), int(found[1])) if found else None
        finally:
            await wire.close()

    async def _enter(self, host: Host, patience: float) -> Wire:
        wire = await self._dial(host, patience)
        try:
            for answer in [wire.call(login) for login in self._login()]:
                await answer
        except ServerError as error:
            await wire.close()
            raise _refused(error) from None
        except BaseException:
            wire.sever()
            raise
        return wire

    async def _dial(self, host: Host, patience: float) -> Wire:
        loop = asyncio.get_running_loop()
        _, wire = await loop.create_connection(lambda: Wire(patience), *host, ssl=self._tls)
        return wire

    def _login(self) -> Iterator[bytes]:
        address = self.address
        yield from _auth(address.username, address.password)
        if address.database:
            yield frame(b"SELECT", address.database)
        yield frame(b"CLIENT", b"SETNAME", _NAME)

    def _sentinel_login(self) -> Iterator[bytes]:
        options = self.address.options
        yield from _auth(options.get("sentinel_username", ""), options.get("sentinel_password", ""))


def _auth(username: str, password: str) -> Iterator[bytes]:
    if username and password:
        yield frame(b"AUTH", username, password)
    elif password:
        yield frame(b"AUTH", password)


def _refused(error: ServerError) -> Exception:
    if error.code in ("LOADING", "MASTERDOWN", "ERR max"):
        return EngineUnavailable(f"the server is not ready: {error.code}")
    if error.code in ("WRONGPASS", "NOAUTH", "NOPERM"):
        return AccessRefused(
            f"the server does not let us in: {error.code}; check the user and password in the URL"
        )
    return EngineUnavailable(f"the server does not let us in: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
