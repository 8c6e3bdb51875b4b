"""Taking jobs back from workers that are gone: given up first and for good, then emptied.

Between the two a holder may still settle by its token, and another rescuer may be faster: a job that is not
held by that token any more is left alone.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from penstock.engine import Judge, Rescued, Settlement
from penstock.engines.redis.codec import STATES, Run, read_run, text_id
from penstock.engines.redis.instants import number
from penstock.engines.redis.records import read_held
from penstock.engines.redis.settle import pack_end
from penstock.model.errors import EngineError, EngineUnavailable
from penstock.model.job import Held

logger = logging.getLogger(__name__)

Do: TypeAlias = Callable[..., Awaitable[Any]]
STEP = 500  # jobs taken from one worker at once
_ROUNDS = 20


class _Judged(NamedTuple):
    held: Held
    end: Settlement


class Rescue:
    """One rescue."""

    def __init__(self, do: Do, judge: Judge) -> None:
        self._do = do
        self._judge = judge

    async def expired(self, limit: int) -> list[Rescued]:
        """From every worker past its time; all that they held counts as started."""
        rescued: list[Rescued] = []
        for _ in range(_ROUNDS):
            found, taken = await self._take("", limit - len(rescued), lambda _: True)
            rescued += taken
            if len(rescued) == limit or len(taken) == found:
                break  # else somebody was faster: look for what they left
        return rescued

    async def one(self, worker: str, started: frozenset[str]) -> list[Rescued]:
        """From one worker, whether its time has passed or not."""
        rescued: list[Rescued] = []
        while True:
            found, taken = await self._take(worker, STEP, started.__contains__)
            rescued += taken
            if found < STEP or not taken:
                return rescued

    async def _take(
        self, worker: str, limit: int, started: Callable[[str], bool]
    ) -> tuple[int, list[Rescued]]:
        """How many jobs were judged, and those that were taken back."""
        found = await self._do("lost", number(limit), worker.encode())
        judged: list[_Judged] = []
        workers = {worker} - {""}
        for raw, run_raw, head in zip(*[iter(found)] * 3, strict=True):
            run = read_run(run_raw)
            workers.add(run.worker)
            judged += self._judged(raw, run, head, started)
        taken = await self._settle(judged)
        if workers:
            await self._do("take_back", b"0", *(name.encode() for name in sorted(workers)))
        return len(judged), taken

    def _judged(self, raw: bytes, run: Run, head: bytes, started: Callable[[str], bool]) -> list[_Judged]:
        try:
            held = read_held(raw, run, head, started=started(run.token.hex()))
            return [_Judged(held, Settlement(held.id, run.token.hex(), self._judge(held)))]
        except Exception:
            logger.exception(
                "cannot judge job %s of a lost worker; it stays for the next rescue", text_id(raw)
            )
            return []

    async def _settle(self, judged: list[_Judged]) -> list[Rescued]:
        """In one script; where that fails one by one, so that a bad record holds up nobody else."""
        if not judged:
            return []
        ends = [pack_end(one.end, taken=True) for one in judged]
        try:
            told = await self._do("take_back", number(len(ends)), *ends)
        except EngineUnavailable:
            raise
        except EngineError as error:
            if len(judged) == 1:
                logger.error("cannot take back job %s: %s", judged[0].held.id, error)
                return []
            return [one for each in judged for one in await self._settle([each])]
        return [
            Rescued(one.held.id, one.held.queue, one.held.task, one.held.worker, STATES[chr(letter)])
            for one, letter in zip(judged, told, strict=True)
            if letter != ord("-")
        ]
