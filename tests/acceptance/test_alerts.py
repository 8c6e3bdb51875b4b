"""Alerts of real workers: a queue is flooded, a worker is killed, and a web server hears of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from acceptance import jobs
from acceptance.fleet import JOBS, START_SECONDS, Site, Tree, eventually, new_url, opened
from acceptance.world import World
from penstock.alerts.signing import HEADER, verify

SECRET = "a secret of thirty-two characters"
YAML = """
every: 1s
group_every: 0
recover_after: 0
channels:
  ops: {{webhook: "http://127.0.0.1:{port}/", secret: {secret}, ports: [{port}], allow: [127.0.0.1]}}
  hung: {{webhook: "http://127.0.0.1:{port}/hang", secret: {secret}, ports: [{port}], allow: [127.0.0.1]}}
alerts:
  queue_depth_high: {{condition: waiting > 20}}
"""


class Place(ThreadingHTTPServer):
    """Keeps what it is told; under /hang it never answers."""

    daemon_threads = True

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Place

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/hang":
            time.sleep(60)
        if verify([SECRET], self.headers[HEADER], body, time.time()):
            self.server.told += json.loads(body)["alerts"]
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        thread = Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_workers_tell_of_a_flood_and_of_a_killed_worker_and_of_their_end(
    tmp_path: Path, place: Place
) -> None:
    site = Site(tmp_path / "site", new_url("postgres", tmp_path))
    (site.folder / "penstock.yaml").write_text(YAML.format(port=place.server_port, secret=SECRET))
    world = World(site)
    try:
        with opened(jobs.app, site.url):
            jobs.app.enqueue_many([jobs.after_it.call() for _ in range(21)])
            watching = world.start("--queue", "default", lease=3)
            hears(place, watching, "queue_depth_high", "firing", "Queue alone depth high: 21 jobs waiting")
            assert jobs.on_loop.enqueue().result(timeout=10)  # while a channel hangs

            dying = world.start("--queue", "alone", lease=3)
            hears(place, watching, "queue_depth_high", "resolved", "Queue alone depth high")
            hears(place, watching, "worker_down", "resolved", "Worker down: alone")
            place.told.clear()
            long = jobs.blocks_the_loop.enqueue(seconds=60)
            eventually(lambda: world.state(long.id) == "active", 10)
            dying.kill()
            hears(place, watching, "worker_down", "firing", "Worker down: alone (0/1)")

            world.start("--queue", "alone", lease=3)
            hears(place, watching, "worker_down", "resolved", "Worker down: alone (0/1)")
            assert "channel hung was not told" in watching.log()
            listed = json.loads(site.run("alerts", "channels", "--json", "--app", JOBS).stdout)
            assert {each["channel"]: each["problem"] for each in listed} == {
                "ops": None,
                "hung": "it did not answer in time",
            }
    finally:
        site.close()


def hears(place: Place, watching: Tree, rule: str, phase: str, message: str) -> None:
    def heard() -> bool:
        found = [alert for alert in list(place.told) if (alert["rule"], alert["phase"]) == (rule, phase)]
        return any(alert["message"].startswith(message) for alert in found)

    eventually(heard, START_SECONDS, f"{rule} {phase}\n{watching.log()}")
