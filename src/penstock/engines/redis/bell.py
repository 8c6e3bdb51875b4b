"""Wake-ups: a blocking pop on a connection of its own. A hint only: waiting always ends by itself.

Each queue has a bell, a list that holds one token while there may be work. Whoever pops it looks for work,
and the script that claims rings again where work is left: as many wake as there is work for.

A worker with nothing to do sends its claim right behind the pop: the server carries it out in the moment in
which the bell rings.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from penstock.engines.hearing import Hearing
from penstock.engines.redis import failures
from penstock.engines.redis.connector import Connector
from penstock.engines.redis.wire import Lost, ServerError, Wire, frame
from penstock.model.errors import EngineError, OutcomeUnknown

logger = logging.getLogger(__name__)

Ask: TypeAlias = Callable[..., Awaitable[Any]]

POLL_SECONDS = 0.25  # while nothing can be heard
POP_SECONDS = 60  # a pop that comes back proves that the connection works
SHORTEST = 0.001  # seconds; none at all would be for ever
LATE = 2.0  # seconds more, after which the answer to what was sent behind a pop is not awaited any longer
OVERDUE = 5.0  # seconds more, after which it does not
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


class UnknownScript(Exception):
    """The server does not know the script: the bell has rung, or the time is up, and nothing was done."""


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
        self._popping: asyncio.Future[Any] | None = None
        self._behind: asyncio.Future[Any] | None = None  # the answer to what was sent behind the pop
        self._called = False  # whether the pop under way was asked to end
        self._may_unblock = True  # as far as we know
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
        await self.wait_for(frozenset(queues) & self._looked_in or frozenset(queues), timeout)

    async def wait_for(self, wanted: frozenset[str], timeout: float) -> None:
        """`wait` for these and no others."""
        self._begin()
        if self._hearing.has_news(wanted):
            self._hearing.look(wanted)  # told once: whoever does not look for work then is not told again
            return
        if self._wire is None:
            timeout = min(timeout, POLL_SECONDS * random.uniform(0.75, 1.25))
        self._call_listener(wanted)
        await self._hearing.wait(wanted, timeout)

    async def call(self, wanted: frozenset[str], timeout: float, call: bytes) -> Any:
        """The answer to a call that is carried out when one of the queues rings, or after `timeout` seconds.

        None where it was not sent: there is news already, others wait here too, or nothing can be heard.
        """
        self._begin()
        if self._popping is not None and self._popping.done():
            self._popping, self._listening = None, frozenset()  # the listener has not come to it yet
        if self._popping is not None and self._is_left_behind:
            await self._end_pop(self._popping)
        wire = self._wire
        busy = self._popping is not None or not self._is_left_behind
        if wire is None or busy or not wanted or self._hearing.has_news(wanted):
            return None
        self._hearing.look(wanted)
        self._send_pop(wire, wanted, min(timeout, POP_SECONDS))
        self._behind = wire.call(call)
        self._wanted.set()
        # It may have been carried out all the same: what is silent must not keep a job for long.
        over = asyncio.get_running_loop().call_later(min(timeout, POP_SECONDS) + LATE, wire.sever)
        try:
            return await self._behind
        except Lost as error:
            raise OutcomeUnknown(f"the connection was lost before the answer came: {error}") from None
        except ServerError as error:
            if error.code == failures.NO_SCRIPT:
                raise UnknownScript from None
            raise failures.translate(error) from None
        finally:
            over.cancel()

    async def close(self) -> None:
        task, self._task = self._task, None
        self._hearing.end()
        work = [*self._calls] if task is None else [task, *self._calls]
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    def _begin(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="penstock bell")

    def _call_listener(self, wanted: frozenset[str]) -> None:
        self._wanted.set()
        if self._listening and not wanted <= self._listening and not self._called:
            self._called = True
            call = asyncio.create_task(self._unblock(self._pops))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _unblock(self, pop: int) -> None:
        """It is blocked on other queues: let it begin anew, with these too."""
        if not await self._let_go() and pop == self._pops and self._wire is not None and self._listening:
            self._wire.sever()

    async def _let_go(self) -> bool:
        """Whether the server has ended the pop."""
        try:
            return bool(await self._ask(b"CLIENT", b"UNBLOCK", self._client))
        except ServerError as error:
            self._may_unblock = error.code != failures.NO_PERMISSION
        except EngineError:
            pass
        return False

    @property
    def _is_left_behind(self) -> bool:
        """Whether nobody waits any more for what is heard."""
        return not self._hearing.waited_for and (self._behind is None or self._behind.done())

    async def _end_pop(self, popping: asyncio.Future[Any]) -> None:
        """Make room for another, where the server lets us."""
        if self._may_unblock and await self._let_go():
            await asyncio.wait([popping], timeout=LATE)
            await asyncio.sleep(0)  # the listener hears of it first

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
            await asyncio.sleep(0)  # who waited looks first
            while True:
                await self._wanted.wait()
                await self._pop(wire)
                await asyncio.sleep(0)  # who was woken looks for work first, and then waits again
        finally:
            self._wire, self._listening = None, frozenset()
            self._popping = self._behind = None
            await wire.close()

    async def _pop(self, wire: Wire) -> None:
        popping = self._popping
        if popping is None:
            queues = self._hearing.waited_for
            if not queues:
                self._wanted.clear()
                return
            popping = self._send_pop(wire, queues, POP_SECONDS)
        behind = self._behind
        if behind is not None:
            await asyncio.wait([behind])  # who asked has its job first: nobody else is in a hurry
        popped = await popping
        if self._popping is popping:
            self._popping, self._listening = None, frozenset()
        self._pause = _FIRST_PAUSE
        heard = popped is not None and self._hear(popped[0].removeprefix(self._prefix).decode())
        done = behind is not None and _was_done(behind)
        if self._behind is behind:
            self._behind = None
        if popped is not None and not (heard or done):
            await wire.call(frame(b"RPUSH", *popped))  # nobody here has any use for it: others may

    def _send_pop(self, wire: Wire, queues: frozenset[str], seconds: float) -> asyncio.Future[Any]:
        self._listening, self._called = queues, False
        self._pops += 1
        names = [self._prefix + queue.encode() for queue in sorted(queues)]
        self._popping = wire.call(frame(b"BLPOP", *names, f"{max(seconds, SHORTEST):.3f}"))
        return self._popping

    def _hear(self, queue: str) -> bool:
        """Wake those who wait for this queue; whether anybody does."""
        if queue not in self._hearing.waited_for:
            return False
        self._hearing.hear(queue)
        return True


def _was_done(call: asyncio.Future[Any]) -> bool:
    """Whether somebody has the answer to it."""
    return not call.cancelled() and call.exception() is None
