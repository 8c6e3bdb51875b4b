"""The server goes away and comes back: workers wait, and go on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance import jobs
from acceptance.fleet import EFFECTS, Site, eventually, new_database, opened
from acceptance.world import World
from servers import PostgresServer, RedisServer

Server = PostgresServer | RedisServer


@pytest.fixture(params=["postgres", "redis"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that may be crashed: nobody else's."""
    durable = {"appendonly": "yes", "appendfsync": "always"}
    with PostgresServer() if request.param == "postgres" else RedisServer(**durable) as server:
        yield server


@pytest.fixture
def outpost(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A site on that server."""
    url = server.url() if isinstance(server, RedisServer) else new_database(server.url())
    site = Site(tmp_path, url)
    monkeypatch.setenv(EFFECTS, str(site.effects_path))
    with opened(jobs.app, site.url), contextlib.closing(site):
        yield World(site)


def test_work_resumes_within_five_seconds_of_a_crash_of_the_server_and_no_process_exits(
    server: Server, outpost: World
) -> None:
    site = outpost.site
    tree = outpost.start(lease=30)
    before = tree.workers()
    enqueued = jobs.app.enqueue_many(jobs.on_loop.call(seconds=0.1) for _ in range(300))
    eventually(lambda: len(site.effects()) > 20, 20, "under load")
    server.crash()
    back_at = time.monotonic()
    eventually(lambda: any(e["t"] > back_at for e in site.effects()), 30, "work resumes")
    assert next(e["t"] for e in site.effects() if e["t"] > back_at) - back_at <= 5.0
    for job in enqueued:
        job.result(timeout=60)
    starts = [e["job"] for e in site.effects() if e["f"] == "start"]
    assert sorted(starts) == sorted(job.id for job in enqueued), "each was started once"
    assert (tree.running, tree.workers()) == (True, before)


def test_a_worker_outlives_an_outage_of_many_leases_and_goes_on_by_itself(
    server: Server, outpost: World
) -> None:
    tree = outpost.start(lease=1)
    server.stop()
    eventually(lambda: tree.log().count("could not start") >= 2, 60, "tried anew, in vain")
    server.start()
    jobs.on_loop.enqueue(seconds=0).result(timeout=40)
    assert tree.running
