"""What the tests of the ledger share: Redis with a ledger beside it, which may be flushed."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from conformance.kit import claim, register, settle
from penstock.ledger.engine import LedgeredEngine
from penstock.model.clock import FakeClock
from penstock.model.job import Claim
from penstock.opening import make_engine
from servers import RedisServer, postgres_server

LONG = 3_600.0


@pytest.fixture(scope="module", name="redis")
def redis_that_may_be_lost() -> Iterator[RedisServer]:
    """A server that may be flushed, and stopped."""
    with RedisServer() as server:
        yield server


@pytest.fixture(params=["postgres", "sqlite"], name="ledger")
def database_of_the_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return postgres_server().url() if request.param == "postgres" else f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(name="engine")
async def engine_with_ledger(
    redis: RedisServer, ledger: str, clock: FakeClock
) -> AsyncIterator[LedgeredEngine]:
    made = make_engine(redis.url(), f"t_{secrets.token_hex(6)}", clock, ledger)
    assert isinstance(made, LedgeredEngine)
    await made.migrate()
    await made.open()
    await register(made, ttl=LONG)
    yield made
    await made.close()
    redis.ask("FLUSHALL")


async def row(engine: LedgeredEngine, job_id: str) -> tuple[str, int, bool]:
    """Status, attempts, and whether it was dispatched."""
    line = (await engine._books.lines([job_id]))[job_id]
    return line.status, line.attempts, line.dispatched_as is not None


async def flush(engine: LedgeredEngine, redis: RedisServer) -> None:
    """Redis loses all; workers begin again. Fences go by the time, which has moved on."""
    redis.ask("FLUSHALL")
    assert isinstance(engine._clock, FakeClock)
    engine._clock.advance(1)
    await engine._inner.migrate()
    await register(engine, ttl=LONG)


async def run_one(engine: LedgeredEngine) -> Claim:
    [held] = await claim(engine)
    assert await settle(engine, held)
    return held
