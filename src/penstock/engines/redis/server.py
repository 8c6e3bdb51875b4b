"""Running scripts: one round trip each, tried again only where nothing can be doubled by it."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Coroutine
from typing import Any

from penstock.engines.redis import failures
from penstock.engines.redis.connector import Connector
from penstock.engines.redis.scripts import Script, scripts
from penstock.engines.redis.wire import Lost, ServerError, Wire, frame
from penstock.model.errors import EngineError, EngineFull, EngineUnavailable, OutcomeUnknown

CALL_SECONDS = 10.0
TRIES = 5
PAUSE = 0.05  # seconds; twice as long with every try
_CROWD = 3  # how often a script may be unknown before that is a problem: somebody may flush them all the time


class Server:
    """One connection for all commands of this process, opened when needed and opened again when lost."""

    def __init__(self, connector: Connector, prefix: bytes) -> None:
        self._connector = connector
        self._prefix = prefix
        self._scripts = scripts()
        self._wire: Wire | None = None
        self._connecting = asyncio.Lock()
        self._pid: int | None = None

    @property
    def is_open(self) -> bool:
        return self._pid == os.getpid()

    def open(self) -> None:
        self._pid = os.getpid()

    async def close(self) -> None:
        pid, self._pid = self._pid, None
        wire, self._wire = self._wire, None
        if wire is not None and pid == os.getpid():
            await wire.close()

    def run(self, verb: str, now: bytes, *arguments: bytes, repeatable: bool) -> Coroutine[Any, Any, Any]:
        """The answer of a script: see `send`."""
        return self.send(verb, self.call(verb, now, *arguments), repeatable=repeatable)

    async def send(self, verb: str, call: bytes, *, repeatable: bool) -> Any:
        """The answer to a call of a script.

        `repeatable` says that doing it twice does no harm: then it is tried again even after a lost answer.
        """
        tried = loaded = 0
        while True:
            try:
                wire = self._wire
                if wire is None or not wire.usable or self._pid != os.getpid():
                    wire = await self._connected()
                return await wire.call(call)
            except Lost as error:
                problem: EngineError = OutcomeUnknown(
                    f"the connection was lost before the answer came: {error}"
                )
            except ServerError as error:
                found = await self._understood(error, self._scripts[verb])
                loaded += found is None
                if found is None and loaded % _CROWD:
                    continue
                problem = found or EngineUnavailable(
                    "the server forgets our scripts as fast as they are loaded"
                )
            except EngineUnavailable as error:
                problem = error
            tried += 1
            if tried == TRIES or not _may_pass(problem, repeatable=repeatable):
                raise problem
            await asyncio.sleep(PAUSE * 2**tried * random.uniform(0.5, 1.5))

    def call(self, verb: str, now: bytes, *arguments: bytes) -> bytes:
        """What is sent to have a script run."""
        return frame(b"EVALSHA", self._scripts[verb].sha, b"1", self._prefix, now, *arguments)

    async def ask(self, *words: bytes | str | int) -> Any:
        """The answer to a plain command that changes nothing; ServerError where it is refused."""
        wire = await self._connected()
        try:
            return await wire.call(frame(*words))
        except Lost as error:
            raise EngineUnavailable(f"the connection was lost: {error}") from None

    async def _understood(self, error: ServerError, script: Script) -> EngineError | None:
        """What a refusal means; None where only the script was unknown, which it is no more."""
        if error.code != failures.NO_SCRIPT:
            return await self._problem(error)
        try:
            wire = await self._connected()
            await wire.call(frame(b"SCRIPT", b"LOAD", script.text))
        except Lost as lost:
            return EngineUnavailable(f"the connection was lost while loading a script: {lost}")
        except ServerError as refusal:
            return await self._problem(refusal)
        except EngineUnavailable as unavailable:
            return unavailable
        return None

    async def _problem(self, error: ServerError) -> EngineError:
        if error.code in failures.ELSEWHERE:
            self._connector.told(error)
            wire, self._wire = self._wire, None
            if wire is not None:
                await wire.close()
        return failures.translate(error)

    async def _connected(self) -> Wire:
        self._check_process()
        if self._wire is not None and self._wire.usable:
            return self._wire
        async with self._connecting:
            if self._wire is None or not self._wire.usable:
                self._wire = await self._connector.connect(CALL_SECONDS)
                if self._pid is None:
                    await self._wire.close()
                    self._check_process()
            return self._wire

    def _check_process(self) -> None:
        if self._pid is None:
            raise EngineError("this engine is not open; call `await engine.open()` first")
        if self._pid != os.getpid():
            raise EngineError("this engine was opened in another process; after fork, open a new one")


def _may_pass(problem: EngineError, *, repeatable: bool) -> bool:
    """Whether the same call may do better in a moment, and does no harm."""
    if isinstance(problem, OutcomeUnknown):
        return repeatable
    return isinstance(problem, EngineUnavailable) and not isinstance(problem, EngineFull)
