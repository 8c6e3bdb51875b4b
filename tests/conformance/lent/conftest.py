"""The suites about the way in and the end of a run, over engines that do both on a lent connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from conformance.kit import Place
from conftest import MakeEngine, make_place
from conftest import lent as lent_place
from lent_kit import POSTGRES_KINDS, SQLITE_KINDS, User
from penstock.engine import Engine, Settled, Settlement, Want
from penstock.lent import lent
from penstock.model.clock import Clock, FakeClock
from penstock.model.job import Enqueued, NewJob
from penstock.model.outcome import Completed

KINDS = {
    "sqlite": next(kind for kind in SQLITE_KINDS if kind.name == "aiosqlite"),
    "postgres": next(kind for kind in POSTGRES_KINDS if kind.name == "asyncpg"),
}


class OnLentEngine:
    """An engine, but what is put in is put in by the user of a connection of his own."""

    def __init__(self, engine: Engine, place: Place, clock: Clock | None, user: User) -> None:
        self._engine = engine
        self._verbs = place.on_lent(clock)
        self._user = user
        self._turn = asyncio.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> list[Enqueued]:
        # Shielded: after a cancellation half-way the connection would be good for nothing.
        return await asyncio.shield(self._enqueue(jobs)) if jobs else []

    async def _enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        async with self._turn:
            await self._user.begin()
            try:
                answers = await self._verbs.aenqueue(lent(self._user.raw), jobs, again=True)  # type: ignore[arg-type]
            except BaseException:
                await self._user.rollback()
                raise
            await self._user.commit()
            return answers

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        """One run that completed is ended by the user; the rest is the engine's."""
        if len(ends) != 1 or type(ends[0].outcome) is not Completed or want is not None or again:
            return await self._engine.settle(ends, want, again=again)
        return Settled([await asyncio.shield(self._complete(ends[0]))], [])

    async def _complete(self, end: Settlement) -> bool:
        async with self._turn:
            await self._user.begin()
            try:
                accepted = await self._verbs.asettle(lent(self._user.raw), end)  # type: ignore[arg-type]
            except BaseException:
                await self._user.rollback()
                raise
            await self._user.commit()
            return accepted


@pytest.fixture(params=["sqlite", "postgres"])
def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with lent_place(make_place(request.param, tmp_path, request)) as found:
        yield found


@pytest.fixture
async def make_engine(shared_place: Place, clock: FakeClock) -> AsyncIterator[MakeEngine]:
    async with AsyncExitStack() as stack:
        migrated: list[bool] = []

        async def make(clock: Clock | None = clock) -> Any:
            engine = shared_place.engine(clock)
            if not migrated:
                await engine.migrate()
                migrated.append(True)
            await engine.open()
            stack.push_async_callback(engine.close)
            user = await stack.enter_async_context(KINDS[shared_place.kind].open(shared_place.address))
            return OnLentEngine(engine, shared_place, clock, user)

        yield make


@pytest.fixture
async def engine(make_engine: MakeEngine) -> Engine:
    return await make_engine()


@pytest.fixture
def place(shared_place: Place) -> Place:
    return shared_place
