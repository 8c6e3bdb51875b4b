"""Wake-ups: one connection that listens, and those who wait. A hint only: waiting always ends by itself."""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress

import psycopg

from penstock.engines.hearing import Hearing
from penstock.engines.postgres.database import Connection
from penstock.engines.postgres.pool import Pool, sever
from penstock.engines.postgres.watch import Watch
from penstock.model.errors import EngineError

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.25  # while nothing can be heard
ECHO_AFTER = 0.1  # seconds after the last that was heard of a queue
PROVE_EVERY = 30.0  # seconds; each proof costs every listener of the database a transaction
PROVE_SECONDS = 2.0
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_PING = "ping:"


class Deaf(Exception):
    """The connection is there, but a notification sent to it does not arrive."""


class Listener:
    """Hears which queues have work. Touched by one event loop only."""

    def __init__(self, pool: Pool, channel: str) -> None:
        self._pool = pool
        self._channel = channel
        self._hearing = Hearing()
        self._echoes: dict[str, asyncio.TimerHandle] = {}  # by queue
        self._task: asyncio.Task[None] | None = None
        self._listening = False
        self._warned = False
        self._ping = ""  # the last that was sent
        self._proof: asyncio.Future[None] | None = None  # that it was heard
        self._pause = _FIRST_PAUSE

    def look(self, queues: Iterable[str]) -> None:
        """Work is about to be looked for: only what is heard from now on is news."""
        self._hearing.look(queues)

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        """Return when one of the queues was heard of since the last look, or after `timeout` seconds."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"listen {self._channel}")
        if self._hearing.has_news(queues):
            return
        if not self._listening:
            timeout = min(timeout, POLL_SECONDS * random.uniform(0.75, 1.25))
        await self._hearing.wait(frozenset(queues), timeout)

    async def close(self) -> None:
        task, self._task = self._task, None
        for echo in self._echoes.values():
            echo.cancel()
        self._hearing.end()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _run(self) -> None:
        while True:
            try:
                connection = await self._pool.connect()
                try:
                    await self._listen(connection)
                finally:
                    self._listening = False
                    await connection.close()
            except Deaf:
                self._warn_once()
            except (psycopg.Error, EngineError) as error:
                logger.info(
                    "lost the listening connection, polling until it is back: %s", type(error).__name__
                )
            await asyncio.sleep(self._pause * random.uniform(0.5, 1.5))
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    async def _listen(self, connection: Connection) -> None:
        connection.add_notify_handler(lambda note: self._hear(note.payload))  # what comes with an answer
        await connection.execute(f"listen {self._channel}".encode())
        await self._prove(connection)
        self._listening, self._pause = True, _FIRST_PAUSE
        self._hearing.hear_all()
        while True:
            with suppress(TimeoutError):
                await self._hear_until(asyncio.get_running_loop().create_future(), PROVE_EVERY, connection)
            await self._prove(connection)

    async def _prove(self, connection: Connection) -> None:
        """Send a notification to ourselves: connected is not working."""
        loop = asyncio.get_running_loop()
        self._ping, self._proof = f"{_PING}{uuid.uuid4().hex}", loop.create_future()
        overrun = loop.call_later(2 * PROVE_SECONDS, sever, connection)
        try:
            await connection.execute("select pg_notify(%s, %s)", [self._channel, self._ping])
            await self._hear_until(self._proof, PROVE_SECONDS, connection)
        except TimeoutError:
            raise Deaf from None
        finally:
            overrun.cancel()

    async def _hear_until(self, heard: asyncio.Future[None], seconds: float, connection: Connection) -> None:
        """Hear notifications until that one, or TimeoutError; the loss of the connection is raised."""
        line = connection.pgconn

        def listen() -> None:
            try:
                line.consume_input()
            except psycopg.Error as error:
                watch.leave()
                if not heard.done():
                    heard.set_exception(error)
            while note := line.notifies():
                self._hear(note.extra.decode())

        watch = Watch(line.socket, listen)
        try:
            async with asyncio.timeout(seconds):
                await heard
        finally:
            watch.leave()

    def _hear(self, payload: str) -> None:
        if payload == self._ping and self._proof is not None and not self._proof.done():
            self._proof.set_result(None)
        if payload.startswith(_PING):
            return
        self._hearing.hear(payload)
        asyncio.get_running_loop().call_soon(self._hear_again, payload)  # after those whom this has woken

    def _hear_again(self, queue: str) -> None:
        """A moment later: a transaction that left the word to this one may be seen only then."""
        if echo := self._echoes.get(queue):
            echo.cancel()
        loop = asyncio.get_running_loop()
        self._echoes[queue] = loop.call_later(ECHO_AFTER, self._hearing.hear, queue)

    def _warn_once(self) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "LISTEN does not work on this connection (a pooler in transaction mode?); polling instead"
            )
