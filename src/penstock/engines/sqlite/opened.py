"""An engine on its file: open, close, and the threads that do its work."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import TypeVar

from penstock.engine import Finding
from penstock.engines.sqlite import examine, forks
from penstock.engines.sqlite.connection import check_synchronous
from penstock.engines.sqlite.failures import typed_errors
from penstock.engines.sqlite.files import Files, check_place
from penstock.engines.sqlite.parts import Parts
from penstock.engines.sqlite.session import Session, Tx
from penstock.engines.sqlite.store import Store
from penstock.model.clock import Clock, EngineClock
from penstock.model.errors import EngineError

T = TypeVar("T")


class Opened:
    """The life of an engine."""

    def __init__(
        self,
        path: str,
        *,
        clock: Clock | None = None,
        synchronous: str = "FULL",
        allow_network: bool = False,
    ) -> None:
        self._files = Files.at(path)
        self._clock = clock or EngineClock()
        self._synchronous = check_synchronous(synchronous)
        self._allow_network = allow_network
        self._parts: Parts | None = None
        self._pid = 0

    async def open(self) -> None:
        if self._parts is not None:
            self._current()
            return
        self._check_place()
        self._pid = os.getpid()
        with typed_errors(self._files.database):
            self._parts = await self._open_parts()

    async def _open_parts(self) -> Parts:
        opening = asyncio.ensure_future(
            asyncio.to_thread(Parts.open, self._files, self._clock, self._synchronous)
        )
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The thread goes on all the same, and what it opens would belong to nobody.
            with contextlib.suppress(Exception):
                (await opening).close()
            raise

    async def close(self) -> None:
        parts, self._parts = self._parts, None
        if parts is None or self._pid != os.getpid():
            return
        try:
            closed = asyncio.get_running_loop().run_in_executor(None, parts.close)
        except RuntimeError:  # the program ends and lends no more threads: nobody else needs this loop now
            parts.close()
        else:
            await closed

    async def migrate(self) -> list[str]:
        if self._files.in_memory:
            return []
        self._check_place()
        with typed_errors(self._files.database):
            return await asyncio.to_thread(self._migrate)

    async def examine(self) -> list[Finding]:
        forks.check(self._files.database)
        return await asyncio.to_thread(examine.examine, self._files, self._synchronous)

    async def _write(self, verb: Callable[[Tx], T]) -> T:
        return await self._current().writer.run(verb)

    async def _read(self, look: Callable[[Session], T]) -> T:
        return await self._current().reads.run(look)

    def store(self) -> Store:
        """The writing end of the open engine; of a database in memory it is the only way in."""
        return self._current().store

    def _current(self) -> Parts:
        """What this process opened. A forked child shares no connection with its parent."""
        if self._parts is None:
            raise EngineError("the engine is not open; call open() first")
        if self._pid != os.getpid():
            raise EngineError(
                "this engine was opened before a fork and belongs to the parent process; "
                "make a new engine in the child and open it there"
            )
        return self._parts

    def _check_place(self) -> None:
        if not self._files.in_memory:
            forks.check(self._files.database)
            check_place(self._files, allow_network=self._allow_network)

    def _migrate(self) -> list[str]:
        store = Store(self._files, self._clock, self._synchronous)
        try:
            return store.migrate()
        finally:
            store.close()
