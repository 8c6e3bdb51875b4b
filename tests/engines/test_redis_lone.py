"""A job that is claimed alone goes a short way through the script, which leaves what the long way leaves."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.kit import make_id, new, register, want
from engines.redis_kit import commands, fresh_engine, keys
from penstock.engines.redis import settle
from penstock.engines.redis.engine import RedisEngine
from penstock.model.clock import FakeClock
from penstock.model.job import Claim, NewJob
from servers import RedisServer, redis_server

SHORT = ("q", "other")
LONG = (*SHORT, "a", "b", "c", "d", "e")  # more queues than the short way looks into
READ = {
    b"string": ("GET", ()),
    b"hash": ("HGETALL", ()),
    b"set": ("SMEMBERS", ()),
    b"list": ("LRANGE", (0, -1)),
    b"zset": ("ZRANGE", (0, -1, "WITHSCORES")),
}


def everything(engine: RedisEngine, server: RedisServer) -> dict[str, Any]:
    """All keys, and what they hold."""
    held = {}
    for key in keys(engine, server):
        name = f"{{{engine.schema}}}:{key}"
        command, bounds = READ[server.ask("TYPE", name)]
        held[key] = server.ask(command, name, *bounds)
    return held


async def claimed(jobs: Sequence[NewJob], queues: Sequence[str], worker: str) -> tuple[list[Claim], Any, int]:
    """What a claim from these queues takes and leaves, and how often it went the long way."""
    server = redis_server()
    async with fresh_engine(server, clock=FakeClock()) as engine:
        await register(engine, worker)
        await engine.enqueue(jobs)
        before = commands(server).get("hkeys", 0)  # by which the long way looks for parked jobs
        claims = await engine.claim(want(*queues, worker=worker, request="r" * 32, limit=3))
        went_long = commands(server).get("hkeys", 0) - before
        return claims.claims, everything(engine, server), went_long


@pytest.fixture(autouse=True)
def same_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = SimpleNamespace(urandom=lambda size: bytes(range(16)) * (size // 16))
    monkeypatch.setattr(settle, "os", fixed)


@pytest.mark.parametrize(
    "more",
    [{}, {"key": "k"}, {"owner": "ana"}, {"options": '{"timeout":5}'}, {"args": '{"a": 1}', "priority": 1}],
)
async def test_what_is_taken_and_left_is_the_same_by_the_short_way_and_by_the_long(
    more: dict[str, Any],
) -> None:
    worker, job = make_id(), new("q", **more)
    short, by_short, detours = await claimed([job], SHORT, worker)
    long, by_long, went_long = await claimed([job], LONG, worker)
    assert [claim.id for claim in short] == [job.id]
    assert short == long
    assert by_short == by_long
    assert (detours, went_long) == (0, 1)


@pytest.mark.parametrize("more", [{"expire_after": 60.0}, {"lane": "q?task"}])
async def test_what_is_not_plain_goes_the_long_way(more: dict[str, Any]) -> None:
    worker, job = make_id(), new("q", **more)
    short, by_short, _ = await claimed([job], SHORT, worker)
    long, by_long, _ = await claimed([job], LONG, worker)
    assert short == long
    assert by_short == by_long


async def test_jobs_in_two_queues_are_both_taken() -> None:
    worker, jobs = make_id(), [new("q"), new("other")]
    short, by_short, _ = await claimed(jobs, SHORT, worker)
    long, by_long, _ = await claimed(jobs, LONG, worker)
    assert {claim.id for claim in short} == {job.id for job in jobs}
    assert short == long
    assert by_short == by_long
