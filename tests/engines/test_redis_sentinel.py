"""Sentinel: the primary is found, and found again when another takes over; what a failover may lose."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import pytest

from conformance.kit import claim, counts, new, put, read, register, settle, take
from engines.redis_kit import PATIENCE, fresh_engine, insist, live
from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import EngineUnavailable, OutcomeUnknown
from penstock.model.states import State
from servers import REDIS_MAKES, RedisServer

SERVICE = "jobs"


@dataclass
class Group:
    """A primary, its replica, and the sentinels that watch them."""

    primary: RedisServer
    replica: RedisServer
    sentinels: list[RedisServer]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/{SERVICE}"

    async def in_step(self) -> None:
        """Return when the replica has all that the primary has, and the sentinels know of it."""
        async with asyncio.timeout(PATIENCE):
            while self._behind() or not all(map(self._knows, self.sentinels)):
                await asyncio.sleep(0.02)

    def _behind(self) -> bool:
        primary, replica = self.primary.info("replication"), self.replica.info("replication")
        if replica.get("master_link_status") != "up":
            return True
        return replica["slave_repl_offset"] != primary["master_repl_offset"]

    def _knows(self, sentinel: RedisServer) -> bool:
        told = sentinel.info("sentinel")["master0"]
        return f"slaves=1,sentinels={len(self.sentinels)}" in told and "status=ok" in told


@pytest.fixture(params=REDIS_MAKES)
def group(request: pytest.FixtureRequest) -> Iterator[Group]:
    with ExitStack() as stack:
        primary = stack.enter_context(RedisServer(request.param, repl_diskless_sync_delay="0"))
        replica = stack.enter_context(RedisServer(request.param, replicaof=f"127.0.0.1 {primary.port}"))
        sentinels = [stack.enter_context(_sentinel(request.param, primary)) for _ in range(3)]
        yield Group(primary, replica, sentinels)


def _sentinel(make, primary: RedisServer) -> RedisServer:
    watch = {
        f"sentinel monitor {SERVICE}": f"127.0.0.1 {primary.port} 2",
        f"sentinel down-after-milliseconds {SERVICE}": "300",
        f"sentinel failover-timeout {SERVICE}": "3000",
    }
    return RedisServer(make, sentinel=True, **watch)


async def test_work_goes_on_when_the_primary_dies_and_another_takes_over(group):
    async with fresh_engine(url=group.url) as engine:
        await live(engine)
        await register(engine, ttl=300)
        held, waiting = await take(engine), await put(engine)
        await group.in_step()
        group.primary.stop("KILL")
        with suppress(OutcomeUnknown):
            await insist(lambda: settle(engine, held))
        assert await insist(lambda: settle(engine, held, again=True))
        [again] = await insist(lambda: claim(engine))
        assert again.id == waiting
        assert group.replica.info("replication")["role"] == "master"
        await live(engine, "after")


async def test_a_primary_that_was_demoted_is_left_and_its_listeners_with_it(group):
    async with fresh_engine(url=group.url) as engine:
        await live(engine)
        await group.in_step()
        group.sentinels[0].ask("SENTINEL", "FAILOVER", SERVICE)
        async with asyncio.timeout(PATIENCE):
            while not _is_primary(group.replica):
                await asyncio.sleep(0.02)
        group.primary.ask("REPLICAOF", "127.0.0.1", group.replica.port)  # the sentinels take their time
        await insist(lambda: live(engine, "after"))
        assert group.replica.info("commandstats").keys() >= {"cmdstat_evalsha"}


def _is_primary(server: RedisServer) -> bool:
    try:
        return server.info("replication")["role"] == "master"
    except ConnectionError:  # the sentinels cut all connections when they change roles
        return False


async def test_sentinels_that_do_not_answer_or_do_not_know_are_told_apart(group):
    group.sentinels[0].stop("KILL")
    async with fresh_engine(url=group.url) as engine:
        await live(engine)
    unknown = RedisEngine(group.url.replace(f"/{SERVICE}", "/other"), schema="x")
    with pytest.raises(EngineUnavailable, match="do not know 'other'"):
        await unknown.migrate()
    for sentinel in group.sentinels[1:]:
        sentinel.stop("KILL")
    with pytest.raises(EngineUnavailable, match="no sentinel answers"):
        await RedisEngine(group.url, schema="x").migrate()


async def test_a_sentinel_that_takes_calls_and_says_nothing_does_not_keep_us_from_the_others(group):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = group.url.replace("://", f"://127.0.0.1:{silent.getsockname()[1]},", 1)
        async with fresh_engine(url=url) as engine:
            await put(engine)


async def test_sentinels_with_a_password_of_their_own(group):
    for sentinel in group.sentinels:
        sentinel.ask("ACL", "SETUSER", "watch", "on", ">s3cret", "+@all")
        sentinel.ask("ACL", "SETUSER", "default", "off")
    with pytest.raises(EngineUnavailable, match="NOAUTH") as told:
        await RedisEngine(group.url, schema="x").migrate()
    assert "s3cret" not in str(told.value)
    url = f"{group.url}?sentinel_username=watch&sentinel_password=s3cret"
    async with fresh_engine(url=url) as engine:
        await live(engine)


async def test_a_failover_loses_only_what_the_replica_had_not_received():
    """F40: the link is cut, the primary goes on, then the replica takes over."""
    with RedisServer(repl_diskless_sync_delay="0") as primary, RedisServer() as replica:
        replica.ask("REPLICAOF", "127.0.0.1", primary.port)
        group = Group(primary, replica, [])
        async with fresh_engine(primary) as before:
            await register(before, ttl=300)
            await register(before, "other", ttl=300)
            held = await take(before)
            seen = await put(before)
            await group.in_step()
            replica.ask("REPLICAOF", "NO", "ONE")
            unseen = new()
            await before.enqueue([unseen])
            [early, late] = await claim(before, worker="other")
            assert (early.id, late.id) == (seen, unseen.id)
            assert await settle(before, early)
            async with fresh_engine(replica, schema=before.schema) as after:
                assert await after.get(unseen.id) is None
                assert await counts(after) == {State.WAITING: 1, State.ACTIVE: 1}
                assert await settle(after, held)  # its claim was received: still its holder's
                assert not await settle(after, early)  # these claims were not
                assert not await settle(after, late)
                assert not await settle(after, late, again=True)
                [once_more] = await claim(after)
                assert once_more.id == seen
                assert once_more.token != early.token
                assert (await read(after, seen)).attempt == 1
