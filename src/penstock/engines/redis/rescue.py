"""Taking jobs back from workers that are gone: given up first and for good, then emptied.

Between the two a holder may still settle by its token, and another rescuer may be faster: a job that is not
held by that token any more is left alone.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from penstock.engine import Judge, Rescued, Settlement
from penstock.engines.redis.codec import STATES, read_run, text_id
from penstock.engines.redis.instants import number
from penstock.engines.redis.records import read_held
from penstock.engines.redis.settle import pack_end
from penstock.model.job import Held

logger = logging.getLogger(__name__)

Do: TypeAlias = Callable[..., Awaitable[Any]]
STEP = 500  # jobs taken from one worker at once
_ROUNDS = 20


class _Judged(NamedTuple):
    held: Held
    end: bytes  # as the script takes it


class _Taken(NamedTuple):
    listed: int  # jobs that were looked at
    missed: int  # of those, jobs with which somebody was faster
    rescued: list[Rescued]


class Rescue:
    """One rescue."""

    def __init__(self, do: Do, judge: Judge) -> None:
        self._do = do
        self._judge = judge

    async def expired(self, limit: int) -> list[Rescued]:
        """From every worker past its time; all that they held counts as started."""
        rescued: list[Rescued] = []
        for _ in range(_ROUNDS):
            taken = await self._take("", limit - len(rescued), lambda _: True)
            rescued += taken.rescued
            if len(rescued) == limit or not taken.missed:
                break  # else somebody was faster: look for what they left
        return rescued

    async def one(self, worker: str, started: frozenset[str]) -> list[Rescued]:
        """From one worker, whether its time has passed or not."""
        rescued: list[Rescued] = []
        while True:
            taken = await self._take(worker, STEP, started.__contains__)
            rescued += taken.rescued
            if taken.listed < STEP or not taken.rescued:
                return rescued

    async def _take(self, worker: str, limit: int, started: Callable[[str], bool]) -> _Taken:
        found = await self._do("lost", number(limit), worker.encode())
        judged: list[_Judged] = []
        for raw, run, head in zip(*[iter(found)] * 3, strict=True):
            judged += self._judged(raw, run, head, started)
        missed, rescued = await self._settle(judged)
        workers = {one.held.worker for one in judged} | ({worker} - {""})
        if workers:
            await self._do("take_back", b"0", *(name.encode() for name in sorted(workers)))
        return _Taken(len(found) // 3, missed, rescued)

    def _judged(self, raw: bytes, run: bytes, head: bytes, started: Callable[[str], bool]) -> list[_Judged]:
        """What becomes of a job; nothing of one whose record or whose end makes no sense."""
        try:
            read = read_run(run)
            token = read.token.hex()
            held = read_held(raw, read, head, started=started(token))
            return [_Judged(held, pack_end(Settlement(held.id, token, self._judge(held)), taken=True))]
        except Exception:
            logger.exception(
                "cannot judge job %s of a lost worker; it stays for the next rescue", text_id(raw)
            )
            return []

    async def _settle(self, judged: list[_Judged]) -> tuple[int, list[Rescued]]:
        """In one script. It stops at a job that it cannot end; another goes on behind that one."""
        missed, rescued = 0, []
        while judged:
            told, why = await self._do("take_back", number(len(judged)), *(one.end for one in judged))
            for one, letter in zip(judged, told.decode(), strict=False):
                if letter == "-":
                    missed += 1
                else:
                    held = one.held
                    rescued.append(Rescued(held.id, held.queue, held.task, held.worker, STATES[letter]))
            if why:
                logger.error("cannot take back job %s: %s", judged[len(told)].held.id, why.decode())
            judged = judged[len(told) + 1 :]
        return missed, rescued
