"""What doctor says of a Redis server: what is unsafe is named, with what it means and what to do."""

from __future__ import annotations

import time

import pytest

from conformance.kit import put
from engines.redis_kit import fresh_engine
from penstock.engine import Finding, Level
from penstock.engines.redis import examine
from penstock.engines.redis.address import read_url
from penstock.engines.redis.engine import RedisEngine
from servers import REDIS_MAKES, RedisServer, free_port, redis_server


async def findings(engine: RedisEngine) -> dict[str, Finding]:
    return {finding.name: finding for finding in await engine.examine()}


@pytest.mark.parametrize("make", REDIS_MAKES)
async def test_a_durable_server_with_nothing_but_jobs_is_well(make):
    with RedisServer(make, appendonly="yes", appendfsync="always", maxmemory="100mb") as server:
        async with fresh_engine(server) as engine:
            await put(engine)
            found = await findings(engine)
            assert {finding.level for finding in found.values()} == {Level.OK}
            assert "every acknowledged job survives" in found["persistence"].text
            assert "nobody else" in found["neighbours"].text


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"])
async def test_a_server_that_throws_keys_away_is_unsafe(policy):
    with RedisServer(maxmemory_policy=policy) as server:
        async with fresh_engine(server) as engine:
            eviction = (await findings(engine))["eviction"]
            assert eviction.level is Level.UNSAFE
            assert policy in eviction.text
            assert "noeviction" in eviction.text


@pytest.mark.parametrize(
    ("settings", "level", "loses"),
    [
        ({"appendonly": "yes", "appendfsync": "always"}, Level.OK, "survives"),
        ({"appendonly": "yes", "appendfsync": "everysec"}, Level.OK, "last two seconds"),
        ({"appendonly": "yes", "appendfsync": "no"}, Level.WARNING, "30 seconds"),
        ({"save": "60 1"}, Level.UNSAFE, "since the last snapshot"),
        ({}, Level.UNSAFE, "every job"),
    ],
)
async def test_what_a_crash_would_lose_is_told(settings, level, loses):
    with RedisServer(**settings) as server:
        async with fresh_engine(server) as engine:
            persistence = (await findings(engine))["persistence"]
            assert persistence.level is level
            assert loses in persistence.text


async def test_keys_that_look_like_a_cache_are_reported_by_their_first_word_only():
    with RedisServer() as server:
        server.ask("SET", "session:secret-token", "x", "EX", 600)
        async with fresh_engine(server) as engine:
            neighbours = (await findings(engine))["neighbours"]
            assert neighbours.level is Level.WARNING
            assert "session…" in neighbours.text
            assert "secret" not in neighbours.text


async def test_a_memory_that_is_nearly_full_is_told():
    with RedisServer() as server:
        async with fresh_engine(server) as engine:
            used = int(server.info("memory")["used_memory"])
            server.ask("CONFIG", "SET", "maxmemory", int(used * 1.05))
            memory = (await findings(engine))["memory"]
            assert memory.level is Level.WARNING
            assert "maxmemory" in memory.text


async def test_a_replica_is_told_and_so_are_those_that_follow():
    with RedisServer() as server, RedisServer() as other:
        async with fresh_engine(server) as engine, fresh_engine(other) as lost:
            other.ask("REPLICAOF", "127.0.0.1", free_port())
            found = {f.name: f for f in await examine.examine(*_parts(lost))}
            assert found["role"].level is Level.WARNING
            assert "primary" in (await findings(engine))["role"].text


def _parts(engine: RedisEngine):
    return engine._server.ask, engine._connector.address, engine._prefix


async def test_a_server_that_forbids_config_or_info_is_examined_as_far_as_it_goes():
    with RedisServer(appendonly="yes") as server:
        server.ask("ACL", "SETUSER", "few", "on", ">hush", "~*", "+@all", "-config")
        server.ask("ACL", "SETUSER", "none", "on", ">hush", "~*", "+@all", "-config", "-info")
        async with fresh_engine(url=f"redis://few:hush@127.0.0.1:{server.port}") as engine:
            assert "is not told" in (await findings(engine))["persistence"].text
        async with fresh_engine(url=f"redis://none:hush@127.0.0.1:{server.port}") as engine:
            assert (await findings(engine))["info"].level is Level.WARNING


def test_a_way_that_leaves_the_machine_is_to_be_encrypted_and_guarded():
    def names(url: str) -> set[str]:
        return {finding.name for finding in examine._way_in(read_url(url))}

    assert names("redis://cache.example") == {"tls", "password"}
    assert names("rediss://:hush@cache.example") == set()
    assert names("redis://localhost") == set()


async def test_an_old_server_is_refused():
    info = {"redis_version": "6.2.7"}
    assert examine._version(info).level is Level.UNSAFE
    assert "Redis 7" in examine._version(info).text


@pytest.mark.parametrize(
    ("ahead", "level", "told"),
    [
        (-10.0, Level.WARNING, "-10.0 s from this machine's, and jobs go by it; let both use NTP"),
        (2.5, Level.WARNING, "+2.5 s from this machine's"),
        (1.5, Level.OK, "+1.500 s"),
        (-1.5, Level.OK, "-1.500 s"),
    ],
)
async def test_a_server_whose_clock_is_off_by_more_than_two_seconds_is_warned_of(
    monkeypatch, ahead, level, told
):
    monkeypatch.setattr(time, "time", lambda: 1_000_000.25)

    async def ask(*words: str) -> list[bytes]:
        assert words == ("TIME",)
        micros = round((time.time() + ahead) * 1e6)
        return [b"%d" % (micros // 1_000_000), b"%d" % (micros % 1_000_000)]

    found = await examine._clock(ask)
    assert (found.name, found.level) == ("clock", level)
    assert told in found.text


@pytest.mark.parametrize(
    ("info", "failed"),
    [
        ({"aof_last_write_status": "err"}, ["append-only file"]),
        ({"rdb_last_bgsave_status": "err"}, ["snapshot"]),
        (
            {"aof_last_write_status": "err", "rdb_last_bgsave_status": "err"},
            ["append-only file", "snapshot"],
        ),
        ({"aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok"}, []),
        ({}, []),
    ],
)
def test_a_write_to_disk_that_failed_is_warned_of(info, failed):
    found = list(examine._writes(info))
    assert [(finding.name, finding.level) for finding in found] == [("disk", Level.WARNING)] * len(failed)
    for finding, what in zip(found, failed, strict=True):
        assert f"the last write of the {what} failed" in finding.text


@pytest.mark.parametrize("make", REDIS_MAKES)
def test_servers_tell_of_their_writes_by_the_names_that_are_looked_for(make):
    told = redis_server(make).info("persistence")
    assert {told["aof_last_write_status"], told["rdb_last_bgsave_status"]} == {"ok"}


async def test_doctor_may_look_before_anything_is_there():
    engine = RedisEngine(redis_server().url(), schema="never_there")
    assert "schema" in await findings(engine)
    await engine.close()
