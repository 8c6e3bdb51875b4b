"""Redis Cluster: one prefix is one slot; its node is found from any other, and found again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from conformance.kit import QUEUE, claim, counts, news, put, register
from engines.redis_kit import PATIENCE, fresh_engine, insist, live
from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import EngineUnavailable
from penstock.model.states import State
from servers import REDIS_MAKES, RedisServer, free_port, fresh_schema

LAST = 16_383


@dataclass
class Cluster:
    """Two nodes; `away` holds the slot of `schema`, `near` does not."""

    near: RedisServer
    away: RedisServer
    schema: str
    slot: int

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.near.port}"


@pytest.fixture(params=REDIS_MAKES)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    schema = fresh_schema()
    with ExitStack() as stack:
        nodes = [stack.enter_context(_node(request.param)) for _ in range(2)]
        slot = nodes[0].ask("CLUSTER", "KEYSLOT", f"{{{schema}}}:")
        halves = (0, LAST // 2), (LAST // 2 + 1, LAST)
        for node, half in zip(nodes, halves, strict=True):
            node.ask("CLUSTER", "ADDSLOTSRANGE", *half)
        nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", nodes[1].port, nodes[1].bus)
        near, away = nodes if slot > LAST // 2 else reversed(nodes)
        yield Cluster(near, away, schema, slot)


class _Node(RedisServer):
    bus = 0


def _node(make) -> _Node:
    bus = free_port()
    node = _Node(make, cluster_enabled="yes", cluster_port=str(bus), cluster_node_timeout="1000")
    node.bus = bus
    return node


async def ready(cluster: Cluster) -> None:
    async with asyncio.timeout(PATIENCE):
        for node in (cluster.near, cluster.away):
            while b"cluster_state:ok" not in node.ask("CLUSTER", "INFO"):
                await asyncio.sleep(0.02)


async def test_the_node_of_our_slot_is_found_from_any_other(cluster):
    await ready(cluster)
    async with fresh_engine(url=cluster.url, schema=cluster.schema) as engine:
        await live(engine)
        assert cluster.near.ask("DBSIZE") == 0
        assert cluster.away.ask("DBSIZE") > 0


async def test_a_listener_that_is_sent_elsewhere_follows(cluster):
    await ready(cluster)
    async with fresh_engine(url=cluster.url, schema=cluster.schema) as engine:
        engine._connector._told = None
        await live(engine)
        async with asyncio.timeout(PATIENCE):
            while cluster.away.info("clients")["blocked_clients"] == "0":
                engine._bell.look({QUEUE: 1})
                await engine.wait([QUEUE], 0.01)


async def test_while_its_slot_moves_nothing_runs_and_then_everything_does(cluster):
    """Half of the keys would be here and half there: whole or not at all."""
    await ready(cluster)
    async with fresh_engine(url=cluster.url, schema=cluster.schema) as engine:
        await register(engine, ttl=300)
        await engine.enqueue(news(5))
        near, away = (node.ask("CLUSTER", "MYID") for node in (cluster.near, cluster.away))
        cluster.near.ask("CLUSTER", "SETSLOT", cluster.slot, "IMPORTING", away)
        cluster.away.ask("CLUSTER", "SETSLOT", cluster.slot, "MIGRATING", near)
        keys = cluster.away.ask("CLUSTER", "GETKEYSINSLOT", cluster.slot, 1_000)
        cluster.away.ask("MIGRATE", "127.0.0.1", cluster.near.port, "", 0, 5_000, "KEYS", *keys[1:])
        with pytest.raises(EngineUnavailable, match="ASK"):
            await engine.enqueue(news(1))
        cluster.away.ask("MIGRATE", "127.0.0.1", cluster.near.port, "", 0, 5_000, "KEYS", keys[0])
        for node in (cluster.near, cluster.away):
            node.ask("CLUSTER", "SETSLOT", cluster.slot, "NODE", near)
        assert len(await insist(lambda: claim(engine))) == 5
        assert await counts(engine) == {State.ACTIVE: 5}
        await live(engine, "after")


async def test_a_node_that_is_gone_is_unavailable_and_found_when_it_is_back(cluster):
    await ready(cluster)
    both = f"{cluster.url},127.0.0.1:{cluster.away.port}"
    async with fresh_engine(url=both, schema=cluster.schema) as engine:
        await put(engine)
        cluster.away.stop("KILL")
        with pytest.raises(EngineUnavailable):
            await engine.queues()
        cluster.away.start()
        await insist(engine.migrate)
        await insist(lambda: live(engine))


async def test_a_cluster_reached_by_a_plain_url_is_known_as_one(cluster):
    await ready(cluster)
    engine = RedisEngine(cluster.near.url(), schema=cluster.schema)
    await engine.migrate()  # MOVED is followed all the same
    assert {f.name: f for f in await engine.examine()}["version"].text.endswith("cluster")
