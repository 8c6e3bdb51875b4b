"""Wake-ups: a blocking pop on a connection of its own. A hint only: waiting always ends by itself.

Each queue has a bell, a list that holds one token while there may be work. Whoever pops it looks for work,
and the script that claims rings again where work is left: as many wake as there is work for.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from penstock.engines.hearing import Hearing
from penstock.engines.redis.connector import Connector
from penstock.engines.redis.wire import Lost, ServerError, Wire, frame
from penstock.model.errors import EngineError

logger = logging.getLogger(__name__)

Ask: TypeAlias = Callable[..., Awaitable[Any]]

POLL_SECONDS = 0.25  # while nothing can be heard
POP_SECONDS = 60  # a pop that comes back proves that the connection works
OVERDUE = 5.0  # seconds more, after which it does not
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


class Bell:
    """Hears which queues have work. Touched by one event loop only."""

    def __init__(self, connector: Connector, prefix: bytes, ask: Ask) -> None:
        self._connector = connector
        self._ask = ask  # over another connection than the one that is blocked
        self._prefix = prefix + b"bell:"
        self._hearing = Hearing()
        self._looked_in: frozenset[str] = frozenset()
        self._wanted = asyncio.Event()  # somebody waits
        self._listening: frozenset[str] = frozenset()
        self._wire: Wire | None = None
        self._client = 0  # the server's number for the connection
        self._task: asyncio.Task[None] | None = None
        self._pops = 0
        self._called = False  # whether the pop under way was asked to end
        self._calls: set[asyncio.Task[None]] = set()
        self._pause = _FIRST_PAUSE

    def look(self, queues: Mapping[str, int]) -> None:
        """Work is about to be looked for: only what is heard from now on is news."""
        self._hearing.look(queues)
        self._looked_in = frozenset(queue for queue, most in queues.items() if most > 0)

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        """Return when one of the queues was heard of since the last look, or after `timeout` seconds.

        A token goes to one of those who wait: it must not go to one that cannot use it. So of the queues
        given only those are listened to in which work was last looked for, where there are any.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="penstock bell")
        wanted = frozenset(queues) & self._looked_in or frozenset(queues)
        if self._hearing.has_news(wanted):
            self._hearing.look(wanted)  # told once: whoever does not look for work then is not told again
            return
        if self._wire is None:
            timeout = min(timeout, POLL_SECONDS * random.uniform(0.75, 1.25))
        self._call_listener(wanted)
        await self._hearing.wait(wanted, timeout)

    async def close(self) -> None:
        task, self._task = self._task, None
        self._hearing.end()
        work = [*self._calls] if task is None else [task, *self._calls]
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    def _call_listener(self, wanted: frozenset[str]) -> None:
        self._wanted.set()
        if self._listening and not wanted <= self._listening and not self._called:
            self._called = True
            call = asyncio.create_task(self._unblock(self._pops))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _unblock(self, pop: int) -> None:
        """It is blocked on other queues: let it begin anew, with these too."""
        try:
            done = await self._ask(b"CLIENT", b"UNBLOCK", self._client)
        except (EngineError, ServerError):
            done = 0
        if not done and pop == self._pops and self._wire is not None and self._listening:
            self._wire.sever()

    # -- the listener -------------------------------------------------------------------------------------
    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            try:
                await self._connect_and_listen()
            except (EngineError, Lost, ServerError) as error:
                if isinstance(error, ServerError):
                    self._connector.told(error)
                logger.info("lost the listening connection, polling until it is back: %s", error)
            await asyncio.sleep(self._pause * random.uniform(0.5, 1.5))
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    async def _connect_and_listen(self) -> None:
        wire = await self._connector.connect(POP_SECONDS + OVERDUE)
        try:
            self._client = await wire.call(frame(b"CLIENT", b"ID"))
            self._wire = wire
            self._hearing.hear_all()
            while True:
                await self._wanted.wait()
                await self._pop(wire)
                await asyncio.sleep(0)  # who was woken looks for work first, and then waits again
        finally:
            self._wire, self._listening = None, frozenset()
            await wire.close()

    async def _pop(self, wire: Wire) -> None:
        queues = self._hearing.waited_for
        if not queues:
            self._wanted.clear()
            return
        self._listening, self._called = queues, False
        self._pops += 1
        names = [self._prefix + queue.encode() for queue in sorted(queues)]
        popped = await wire.call(frame(b"BLPOP", *names, POP_SECONDS))
        self._listening = frozenset()
        self._pause = _FIRST_PAUSE
        if popped is not None and not self._hear(popped[0].removeprefix(self._prefix).decode()):
            await wire.call(frame(b"RPUSH", *popped))  # nobody here waits for it any more: others may

    def _hear(self, queue: str) -> bool:
        """Wake those who wait for this queue; whether anybody does."""
        if queue not in self._hearing.waited_for:
            return False
        self._hearing.hear(queue)
        return True
