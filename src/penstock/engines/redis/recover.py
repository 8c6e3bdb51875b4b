"""New jobs of dead letters: read, made anew here, and put in by a script that makes each once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from penstock.engine import Recovery
from penstock.engines.redis.codec import raw_id, text_id
from penstock.engines.redis.enqueue import of_one
from penstock.engines.redis.records import read_letter
from penstock.model.ids import is_id
from penstock.model.job import DeadLetter, NewJob

Do: TypeAlias = Callable[..., Awaitable[Any]]


class Recoveries:
    """`read` may be asked again after a lost answer. So may the script: what is recovered stays so."""

    def __init__(self, read: Do, change: Do) -> None:
        self._read = read
        self._change = change

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        """The id of the job each was recovered as, also where that happened earlier."""
        wanted = [recovery for recovery in recoveries if is_id(recovery.dead_id)]
        found = dict(zip(wanted, await self._letters(wanted), strict=True))
        there = {recovery: letter for recovery, letter in found.items() if letter is not None}
        told = await self._recover(there)
        return [told.get(recovery) for recovery in recoveries]

    async def _letters(self, wanted: Sequence[Recovery]) -> list[DeadLetter | None]:
        if not wanted:
            return []
        raws = [raw_id(recovery.dead_id) for recovery in wanted]
        letters = await self._read("dead_letter", *raws)
        return [read_letter(raw, text) if text else None for raw, text in zip(raws, letters, strict=True)]

    async def _recover(self, there: dict[Recovery, DeadLetter]) -> dict[Recovery, str | None]:
        if not there:
            return {}
        arguments: list[bytes] = []
        for recovery, letter in there.items():
            dead = raw_id(recovery.dead_id)
            arguments += (dead, *of_one(_heir(recovery, letter), dead))
        told = await self._change("recover", *arguments)
        return {
            recovery: text_id(raw) if raw else None for recovery, raw in zip(there, told, strict=True)
        }  # fmt: skip


def _heir(recovery: Recovery, letter: DeadLetter) -> NewJob:
    return NewJob(
        id=recovery.new_id,
        queue=letter.queue,
        task=letter.task,
        args=letter.args_json if recovery.args is None else recovery.args,
        key=letter.key,
        unique=letter.unique,
        priority=letter.priority,
        delay=recovery.delay,
        max_attempts=letter.max_attempts,
        owner=letter.owner,
        options=letter.options_json,
    )
