"""Completed rows are written together: those that come while others are on their way go with the next."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from penstock.model.errors import EngineError
from penstock.table.crew import Crew
from penstock.table.store import Store
from penstock.table.values import Ended, Ready

MOST = 100  # rows in one transaction


class _Waiting(NamedTuple):
    ready: Ready
    answer: asyncio.Future[Ended | EngineError]


class Settler:
    """One transaction at a time, as large as what has come together meanwhile. Touched by the loop only."""

    def __init__(self, store: Store, crew: Crew) -> None:
        self._store = store
        self._crew = crew
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def complete(self, ready: Ready) -> Ended:
        """What became of the row. Raises why its output cannot be written."""
        answer: asyncio.Future[Ended | EngineError] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(ready, answer))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        ended = await answer
        if isinstance(ended, EngineError):
            raise ended
        return ended

    async def _write(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            for waiting, ended in zip(group, await self._written(group), strict=True):
                if not waiting.answer.done():
                    waiting.answer.set_result(ended)
        self._writing = None

    async def _written(self, group: list[_Waiting]) -> list[Ended | EngineError]:
        try:
            return await self._crew.finish(self._store.complete, [waiting.ready for waiting in group])
        except EngineError as error:
            return [error] * len(group)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            return [EngineError(f"{type(error).__name__}: {error}")] * len(group)
