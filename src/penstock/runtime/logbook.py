"""What runs have logged, kept as notes for people who look at the job. Bounded, and best effort."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence

from penstock.engine import Engine
from penstock.model.errors import EngineError
from penstock.model.job import Claim
from penstock.model.joblines import KIND, key_of
from penstock.tasks.joblog import Line

log = logging.getLogger("penstock.worker")

KEPT = 1_000  # runs of one worker whose lines are kept; of failed ones they are with the error, too
KEPT_FOR = 86_400.0  # seconds
PAUSE = 0.25  # seconds in which what is told is gathered
AT_ONCE = 50  # runs after each pause; what comes faster is not kept
PATIENCE = 2.0  # seconds that writing one may take


class Logbook:
    """Touched by the event loop only."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: dict[str, str] = {}
        self._written: OrderedDict[str, None] = OrderedDict()
        self._writing: asyncio.Task[None] | None = None

    def add(self, claim: Claim, lines: Sequence[Line]) -> None:
        """What a run has logged so far."""
        key = key_of(claim.id, claim.attempt)
        if key in self._waiting or len(self._waiting) < AT_ONCE:
            self._waiting[key] = json.dumps(list(lines))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write what is left, if that can be done at once."""
        if self._writing is not None and not self._writing.done():
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self._write_all()

    async def _write(self) -> None:
        while self._waiting:
            await asyncio.sleep(PAUSE)
            await self._write_all()

    async def _write_all(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while self._waiting:
                    key = next(iter(self._waiting))
                    text = self._waiting[key]
                    await self._engine.put_note(KIND, key, text, ttl=KEPT_FOR)
                    if self._waiting.get(key) == text:
                        del self._waiting[key]
                    self._written[key] = None
                    self._written.move_to_end(key)
                await self._forget()
        except (EngineError, TimeoutError) as error:
            self._waiting.clear()
            log.warning("what some runs have logged is not kept: %s", str(error) or "no answer in time")

    async def _forget(self) -> None:
        old = [key for key, _ in zip(self._written, range(len(self._written) - KEPT), strict=False)]
        if old:
            await self._engine.remove_notes(KIND, old)
            for key in old:
                del self._written[key]
