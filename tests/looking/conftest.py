"""An app on each engine, whose clock stands still, and hands that take its jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conformance.kit import Place, make_request
from conftest import lent, make_place
from penstock import Penstock
from penstock.engine import Settlement, Want, WorkerInfo
from penstock.model.clock import FakeClock
from penstock.model.job import Claim
from penstock.model.outcome import Outcome
from penstock.runtime.announce import announce
from penstock.why import Because, Cause, Explanation


class World:
    """A shop, and what a test does with its jobs."""

    def __init__(self, app: Penstock, clock: FakeClock) -> None:
        self.app = app
        self.clock = clock

    async def declare(self) -> None:
        """As a worker does before it claims."""
        await announce(self.app.engine, self.app.registry)

    async def hire(self, *queues: str, name: str = "w", slots: int = 10, ttl: float = 1e6) -> None:
        """A live worker that takes jobs from these queues."""
        worker = WorkerInfo(id=name, name=f"host:{name}", queues=queues or ("default",), slots=slots)
        await self.app.engine.register(worker, ttl)

    async def take(self, queue: str = "default", most: int = 1, worker: str = "w") -> list[Claim]:
        tasks = self.app.registry.fingerprints()
        want = Want(worker, make_request(), {queue: most}, most, tasks, most)
        return (await self.app.engine.claim(want)).claims

    async def end(self, claim: Claim, outcome: Outcome) -> None:
        settled = await self.app.engine.settle([Settlement(claim.id, claim.token, outcome)])
        assert settled.accepted == [True]

    async def work(self) -> None:
        """A real worker runs what it can."""
        await self.app.worker().run(burst=True)

    async def why(self, job: Any) -> Explanation:
        return await self.app.ops.why(getattr(job, "id", job))

    async def causes(self, job: Any) -> list[Because]:
        return [cause.because for cause in (await self.why(job)).causes]

    async def cause(self, job: Any) -> Cause:
        """The decisive one."""
        return (await self.why(job)).causes[0]


@pytest.fixture(params=["memory", "postgres", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with lent(make_place(request.param, tmp_path, request)) as found:
        yield found


@pytest.fixture
def shop(place: Place, clock: FakeClock) -> Penstock:
    from penstock.tasks.settings import Settings

    settings = Settings(migrate=True, accept_unsafe="persistence")
    url = "sqlite://:memory:" if place.kind == "memory" else place.address
    return Penstock(url, schema=place.schema or "penstock", clock=clock, settings=settings)


@pytest.fixture
async def world(shop: Penstock, clock: FakeClock) -> AsyncIterator[World]:
    async with shop:
        yield World(shop, clock)
