"""What the Redis tests share: an engine under a prefix of its own, and a hand inside the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from penstock.engines.redis.engine import RedisEngine
from servers import RedisServer, fresh_schema, redis_server


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
