"""The HTTP service as a process beside a worker: it has the code as it is now, and its door stays open."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from typing import cast

from penstock import logs
from penstock.app import Penstock
from penstock.audit import Actor
from penstock.cli.common import load
from penstock.cli.output import complain, say
from penstock.cli.serving import PORT, say_where
from penstock.logs import LogFormat
from penstock.model.errors import MissingExtra, PenstockError
from penstock.runtime.child import loop_factory
from penstock.runtime.orphan import die_with_parent

GRACE = 3.0  # seconds that it has to end
AGAIN = 1.0  # seconds until it is started once more when it has ended by itself
NEXT_PORTS = 20  # that are tried where nobody has asked for one
EXIT_BAD_APP = 2
_SERVER_LEVELS = {"INFO": "WARNING"}  # that a server starts and stops beside the worker is no news


def open_door(port: int | None) -> socket.socket | None:
    """Where the service of this machine's user listens; None where what it needs is not installed."""
    try:
        from penstock.web.serving import listen  # noqa: PLC0415 - an extra, and slow to load
    except MissingExtra as error:
        say(f"No dashboard: {error}", "yellow")
        return None
    if port is not None:
        return listen("127.0.0.1", port)
    door = listen("127.0.0.1", PORT, NEXT_PORTS)
    if door.getsockname()[1] != PORT:
        say(f"Port {PORT} is taken: the dashboard is at another.", "yellow")
    return door


async def say_how_to_enter(app: Penstock, door: socket.socket) -> None:
    """The dashboard's address, with what signs in the one who reads it: nobody else at this machine."""
    from penstock.web.serving import address  # noqa: PLC0415 - as above

    here, invitation = Actor.here("cli"), None
    with contextlib.suppress(PenstockError):  # what is wrong with the engine the worker tells
        async with app:
            invitation = await app.ops_as(here).sessions.invite(here.who)
    say_where(address(door), invitation)


class ServiceProcess:
    """Keeps one alive. Touched by its event loop only."""

    def __init__(self, app_ref: str, door: socket.socket, log_level: str, log_format: LogFormat) -> None:
        self._door = door
        self._words = (app_ref, log_level, log_format)
        self._anew = asyncio.Event()

    def restart(self) -> None:
        """The code has changed."""
        self._anew.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._anew.clear()
            process = await self._start()
            try:
                await self._live(process)
            finally:
                await _end(process)

    async def _start(self) -> asyncio.subprocess.Process:
        fd = self._door.fileno()
        words = (*self._words, str(fd), str(os.getpid()))
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "penstock.cli.service",
            *words,
            pass_fds=(fd,),
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # the terminal's Ctrl-C is for the one who started it
        )

    async def _live(self, process: asyncio.subprocess.Process) -> None:
        """Until it is to be started once more: bad code only when it has changed."""
        ended, changed = asyncio.ensure_future(process.wait()), asyncio.ensure_future(self._anew.wait())
        try:
            await asyncio.wait({ended, changed}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await asyncio.wait({changed}, timeout=None if ended.result() == EXIT_BAD_APP else AGAIN)
        finally:
            ended.cancel()
            changed.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(GRACE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def main(app_ref: str, log_level: str, log_format: str, fd: int, parent: int) -> None:
    from penstock.web import make_service  # noqa: PLC0415 - an extra, and slow to load
    from penstock.web.serving import serve  # noqa: PLC0415 - as above

    die_with_parent(parent)
    logs.configure(log_level, cast("LogFormat", log_format))
    try:
        service = make_service(load(app_ref))
    except PenstockError as error:
        complain(f"the dashboard could not start: {error}")
        sys.exit(EXIT_BAD_APP)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        level = _SERVER_LEVELS.get(log_level, log_level)
        runner.run(serve(service, socket.socket(fileno=fd), level))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
