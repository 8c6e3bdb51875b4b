"""Real workers on a Redis server in trouble: full, forgetful, paused; or not safe to begin with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance import jobs
from acceptance.fleet import EFFECTS, JOBS, Site, eventually, opened
from acceptance.world import World
from penstock.model.errors import EngineFull
from servers import RedisServer

RESUMES = 5.0


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer(appendonly="yes") as server:
        yield server


@pytest.fixture
def world(server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    site = Site(tmp_path, server.url())
    monkeypatch.setenv(EFFECTS, str(site.effects_path))
    with opened(jobs.app, site.url):
        yield World(site)
    site.close()


def test_workers_go_on_after_forgotten_scripts_killed_connections_and_a_pause(
    server: RedisServer, world: World
) -> None:
    """F39: proven by a job that is done, not by a connection that is made."""
    tree = world.start()
    before = tree.workers()
    for trouble in (["SCRIPT", "FLUSH"], ["CLIENT", "KILL", "TYPE", "normal"], ["CLIENT", "PAUSE", 3_000]):
        server.ask(*trouble)
        over = time.monotonic() + (3.0 if "PAUSE" in trouble else 0.0)
        job = jobs.on_loop.enqueue()
        job.result(timeout=30)
        assert time.monotonic() - over <= RESUMES, trouble
    assert (tree.running, tree.workers()) == (True, before)


def test_a_full_server_refuses_new_jobs_while_running_ones_end_and_recovers_by_itself(
    server: RedisServer, world: World
) -> None:
    """F38."""
    tree = world.start()
    running = [jobs.on_loop.enqueue(seconds=1.0) for _ in range(4)]
    world.started(*[job.id for job in running])
    server.ask("CONFIG", "SET", "maxmemory", int(server.info("memory")["used_memory"]) // 2)
    began = time.monotonic()
    with pytest.raises(EngineFull, match="maxmemory"):
        jobs.on_loop.enqueue()
    assert time.monotonic() - began < RESUMES
    for job in running:
        world.becomes(job.id, "completed")
    assert all(worker.alive for worker in world.workers())
    server.ask("CONFIG", "SET", "maxmemory", 0)
    assert jobs.on_loop.enqueue().result(timeout=10) is not None
    assert tree.running


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"appendonly": "yes", "maxmemory_policy": "allkeys-lru"}, "eviction"),
        ({"appendonly": "no"}, "persistence"),
    ],
)
def test_a_worker_refuses_a_server_that_may_lose_jobs_unless_told_by_name(
    settings: dict[str, str], name: str, tmp_path: Path
) -> None:
    """F36, F37."""
    with RedisServer(**settings) as server:
        site = Site(tmp_path, server.url())
        assert site.run("migrate", "--app", JOBS).returncode == 0
        done = site.run("worker", "--app", JOBS)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1, said
        assert f"PENSTOCK_ACCEPT_UNSAFE={name}" in said
        accepted = site.start(env={"PENSTOCK_ACCEPT_UNSAFE": name})
        try:
            with opened(jobs.app, site.url):
                World(site).up(accepted)
            eventually(lambda: f"{name}:" in accepted.log(), 10, "it says what it was told to accept")
        finally:
            site.close()
