"""The outbox of an app, relays of its own, and engines beside the one that is open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.engine import Engine
from penstock.outbox.box import Outbox, needed
from penstock.outbox.relay import Relay
from penstock.tasks.urls import in_memory

if TYPE_CHECKING:
    from penstock.tasks.access import Access


class Relaying(ABC):
    """The part of an app that brings jobs from its outbox, and opens engines for others than its callers."""

    url: str
    _access: Access
    _outbox: Outbox | None

    @abstractmethod
    async def _connect(self) -> Engine:
        """A new engine, open."""

    @property
    def outbox(self) -> Outbox:
        """The app's outbox; InvalidOption where it has none."""
        return needed(self._outbox)

    def relay(self) -> Relay:
        """A relay inside this process: `await app.relay().run()`; any number may run, anywhere."""
        return self.outbox.relay(self._relay_engine)

    @asynccontextmanager
    async def _relay_engine(self) -> AsyncIterator[Engine]:
        """The app's engine where it is open here, else one of its own."""
        if self._access.is_open_here:
            yield self._access.engine
            return
        async with self._another_engine() as engine:
            yield engine

    @asynccontextmanager
    async def _heart_engine(self) -> AsyncIterator[Engine]:
        """An engine for the heartbeat's own loop; a database in memory has only the one."""
        if in_memory(self.url):
            yield self._access.engine
            return
        async with self._another_engine() as engine:
            yield engine

    @asynccontextmanager
    async def _another_engine(self) -> AsyncIterator[Engine]:
        engine = await self._connect()
        try:
            yield engine
        finally:
            await engine.close()
