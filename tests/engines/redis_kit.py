"""What the Redis tests share: an engine under a prefix of its own, and a hand inside the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from conformance.kit import QUEUE, register, settle, take
from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import EngineUnavailable
from servers import RedisServer, fresh_schema, redis_server

T = TypeVar("T")

PATIENCE = 20.0


@asynccontextmanager
async def fresh_engine(server: RedisServer | None = None, **options: Any) -> AsyncIterator[RedisEngine]:
    """A migrated and open engine; `url` may be another way to the server."""
    url = options.pop("url", None) or (server or redis_server()).url()
    engine = RedisEngine(url, **{"schema": fresh_schema(), **options})
    await engine.migrate()
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


def keys(engine: RedisEngine, server: RedisServer | None = None) -> set[str]:
    """Every key under the engine's prefix, without it."""
    prefix = f"{{{engine.schema}}}:"
    found = (server or redis_server()).ask("KEYS", f"{prefix}*")
    return {key.decode().removeprefix(prefix) for key in found}


def commands(server: RedisServer) -> dict[str, int]:
    """How often each command was run so far, by clients and by scripts."""
    told = server.info("commandstats")
    return {
        name.removeprefix("cmdstat_"): int(text.partition("calls=")[2].partition(",")[0])
        for name, text in told.items()
    }


async def live(engine: RedisEngine, worker: str = "w") -> None:
    """Enqueue, be woken, claim and settle: what every way to a server must allow."""
    await register(engine, worker)
    waiting = asyncio.create_task(engine.wait([QUEUE], PATIENCE))
    held = await take(engine, worker=worker)
    await waiting
    assert await settle(engine, held)


async def insist(verb: Callable[[], Awaitable[T]]) -> T:
    """Ask as often as a worker would while there is no server."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await verb()
            except EngineUnavailable:
                await asyncio.sleep(0.05)
