"""`penstock alerts`: what fires, what has, what would have, and whether a channel can be reached."""

from __future__ import annotations

import asyncio
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self

from cli_kit import Run, loaded_shop, runner  # noqa: F401 - fixtures

from alerts_kit import SECRET
from penstock import Penstock
from penstock.alerts.watch import AlertWatch

YAML = """
channels:
  ops:
    webhook: http://127.0.0.1:{port}/
    secret: {secret}
    ports: [{port}]
    allow: [127.0.0.1]
alerts:
  queue_depth_high:
    condition: waiting > 1
  worker_down: off
"""


def watch_once(shop: Penstock, jobs: int) -> None:
    async def look() -> None:
        async with shop:
            for n in range(jobs):
                await shop.tasks["send_receipt"].aenqueue(order_id=n)
            alerting = shop.alerting
            assert alerting is not None
            watch = AlertWatch(shop.engine, shop.registry, alerting, "one")
            await watch.round()
            await watch.sender.idle()
            await watch.hear()

    asyncio.run(look())


class Place:
    """A web server in a thread."""

    def __enter__(self) -> Self:
        bodies: list[bytes] = []
        self.bodies = bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_without_a_file_there_are_rules_and_nobody_is_told(run: Run) -> None:
    assert run("alerts").out == "No alerts. What has been: penstock alerts history\n"
    assert run("alerts", "history").out.startswith("Nothing in the last 30 days.")
    listed = run("alerts", "rules").out
    assert "queue_depth_high" in listed
    assert "waiting > 1000" in listed
    assert "nobody" in listed
    assert run("alerts", "rules", "--json").json[0]["condition"] == "waiting > 1000"
    assert run("alerts", "channels").out.startswith("No channels are declared")
    refused = run("alerts", "send", "slack")
    assert (refused.code, "there is no channel 'slack'" in refused.err) == (2, True)


def test_what_fires_is_listed_told_and_remembered(run: Run, shop: Penstock) -> None:
    with Place() as place:
        Path("penstock.yaml").write_text(YAML.format(port=place.port, secret=SECRET))
        watch_once(shop, 2)
        assert len(place.bodies) == 1
    said = run("alerts").out
    assert "queue_depth_high" in said
    assert "Queue email depth high: 2 jobs waiting" in said
    (alert,) = run("alerts", "--json").json
    assert (alert["phase"], alert["told"], alert["severity"]) == ("firing", ["ops"], "warning")
    (entry,) = run("alerts", "history", "--json").json
    assert (entry["event"], entry["rule"]) == ("firing", "queue_depth_high")
    assert "firing" in run("alerts", "history").out
    assert run("alerts", "channels", "--json").json[0]["told_at"] is not None
    assert "webhook" in run("alerts", "channels").out


def test_rules_are_tried_on_the_past(run: Run, shop: Penstock) -> None:
    Path("penstock.yaml").write_text("alerts: {queue_depth_high: {condition: waiting > 1}, worker_down: off}")
    watch_once(shop, 2)
    said = run("alerts", "test").out
    assert "Queue email depth high: 2 jobs waiting" in said
    assert "still fires" in said
    assert "Not tried: job_timeout" in said
    only = run("alerts", "test", "--rule", "dlq_threshold", "--since", "1h").out
    assert only.startswith("Nothing would have fired.\n0 alerts in 1 recorded minute since ")
    found = run("alerts", "test", "--json").json
    assert [episode["rule"] for episode in found["episodes"]] == ["queue_depth_high"]
    assert "there is no rule 'x'" in run("alerts", "test", "--rule", "x").err


def test_a_test_message_says_whether_the_channel_was_reached(run: Run) -> None:
    with Place() as place:
        Path("penstock.yaml").write_text(YAML.format(port=place.port, secret=SECRET))
        assert run("alerts", "send", "ops").out == "Channel ops was told.\n"
        assert b"This is a test" in place.bodies[0]
    said = run("alerts", "send", "ops", "--json")
    assert (said.code, said.json["sent"]) == (1, False)
    assert "nobody answers there" in said.err
    assert SECRET not in said.err + said.out


def test_a_file_that_is_wrong_is_told_with_its_line(run: Run) -> None:
    Path("penstock.yaml").write_text("alerts:\n  deep:\n    condition: waitin > 1\n")
    said = run("alerts", "rules")
    assert said.code == 2
    assert "penstock.yaml: line 2: alerts.deep: has no severity" in said.err


def test_switched_off_there_are_none(run: Run, monkeypatch: Any) -> None:
    monkeypatch.setenv("PENSTOCK_ALERTS", "off")
    assert "switched off" in run("alerts", "rules").err
