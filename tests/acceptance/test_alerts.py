"""Alerts of real processes: what goes wrong in them is told to a web server, and so is that it is over.

The trouble is real in every case. Where a rule waits for minutes, the clock of whoever looks is put forward.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from acceptance.alerting import make_app
from acceptance.fleet import HERE, START_SECONDS, Site, Tree, eventually, new_url
from alerts_kit import SECRET, Looking, sink
from penstock.alerts.rules import BUILT_IN
from penstock.engine import DeadFilter
from penstock.model.breaker import Circuit
from penstock.model.job import Edge, NewJob, Ties
from penstock.model.signing import HEADER, verify
from penstock.model.states import State
from penstock.tasks.ids import new_id
from servers import free_port

APP = f"{HERE / 'alerting.py'}:app"
SCHEDULED = f"{HERE / 'alerting.py'}:scheduled"
LONG = 3_600  # seconds of a lease that is not over, however far ahead who looks may be


class Ahead:
    """The time, and however much later somebody wants it to be."""

    def __init__(self) -> None:
        self._by = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._by

    def advance(self, seconds: float) -> None:
        self._by += timedelta(seconds=seconds)


@contextmanager
def site_of(folder: Path, engine: str) -> Iterator[Site]:
    site = Site(folder / "site", new_url(engine, folder))
    with closing(site):
        yield site


@asynccontextmanager
async def looking_at(site: Site, **options: Any) -> AsyncIterator[Looking]:
    """Somebody who looks from here, by the rules as they are built in; the processes do not."""
    site.env["PENSTOCK_ALERTS"] = "off"
    ahead = Ahead()
    app = make_app(site.url, clock=ahead, **options)
    await app.migrate()
    async with app, sink() as place:
        yield Looking(app, place, ahead)


async def until(condition: Callable[[], Awaitable[Any]], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not await condition():
        assert time.monotonic() < deadline, what()
        await asyncio.sleep(0.02)


def rules_in(lines: list[str], phase: str) -> set[str]:
    """The rules whose alerts were told to fire, or to be resolved."""
    resolved = [line for line in lines if line.startswith("[resolved]")]
    found = resolved if phase == "resolved" else [line for line in lines if line not in resolved]
    return {line.rpartition("(")[2].rstrip(")").partition(",")[0] for line in found} & BUILT_IN.keys()


async def test_what_goes_wrong_with_jobs_is_told_and_so_is_that_it_is_over(tmp_path: Path) -> None:
    with site_of(tmp_path, "postgres") as site:
        async with looking_at(site) as looking:
            app, ops = looking.app, looking.app.ops
            calls = [app.tasks["works"].call() for _ in range(1_001)]
            calls += [app.tasks["breaks"].call() for _ in range(101)]
            calls += [app.tasks["mails"].call() for _ in range(3)]
            await app.aenqueue_many([*calls, app.tasks["overruns"].call()])
            late, odd = (NewJob(new_id(), "default", name) for name in ("works", "old.task"))
            ties = Ties(after=(Edge(new_id(), "wait"),), deadline=0.1, at_deadline="skip")
            await app.engine.enqueue([late._replace(key=late.id, ties=ties), odd._replace(key=odd.id)])
            flooded = await looking.look()
            assert "queue_depth_high" in rules_in(flooded, "firing"), flooded

            tree = site.start(app=APP)
            await until(lambda: _ended(looking, all_but=1), tree.log)
            tree.signal(signal.SIGTERM)
            assert tree.exit_code(20) == 0, tree.log()
            wrong = {"error_rate_high", "dlq_threshold", "job_timed_out", "job_failures", "task_unknown"}
            wrong |= {"dependency_missed", "breaker_open"}
            firing = await looking.look(31)
            assert wrong - rules_in(firing, "firing") == set(), (firing, tree.log())
            assert "[warning] Dead letter queue size: 105 (dlq_threshold)" in firing

            chosen = await ops.bulk.chosen("purge", DeadFilter())
            await ops.bulk.purge(DeadFilter(), len(chosen.ids), chosen.confirm)
            await ops.cancel(odd.id)
            await ops.set_breaker("smtp", Circuit.CLOSED)
            over = await looking.until_over()
            assert {*wrong, "queue_depth_high"} - rules_in(over, "resolved") == set(), over


async def _ended(looking: Looking, all_but: int) -> bool:
    counts = [state.counts for state in await looking.app.engine.queues()]
    unfinished = sum(n for each in counts for state, n in each.items() if not state.finished)
    return unfinished == all_but and not any(each.get(State.ACTIVE) for each in counts)


async def test_a_killed_worker_what_it_held_and_a_run_that_takes_long_are_told_and_so_is_their_end(
    tmp_path: Path,
) -> None:
    with site_of(tmp_path, "postgres") as site:
        async with looking_at(site) as looking:
            app = looking.app
            held = await app.tasks["dies"].aenqueue()
            dying = site.start("--queue", "alone", app=APP, lease=1)
            await until(lambda: _is(looking, held.id, State.ACTIVE), dying.log)
            dying.kill()
            firing = await looking.look(2)
            assert "worker_down" in rules_in(firing, "firing"), firing
            firing = await looking.look(290) + await looking.look(31)
            assert "stalled_jobs" in rules_in(firing, "firing"), firing

            time.sleep(1)  # its lease, by the engine's own clock
            another = site.start("--queue", "alone", "--queue", "default", app=APP, lease=LONG)
            await until(lambda: _is(looking, held.id, State.COMPLETED), another.log)
            over = await looking.until_over()
            assert {"worker_down", "stalled_jobs"} <= rules_in(over, "resolved"), over

            signal_to_end = tmp_path / "end"
            long = await _enqueued_now(site, str(signal_to_end))
            await until(lambda: _is(looking, long, State.ACTIVE), another.log)
            firing = await looking.look(81)
            assert "job_timeout" in rules_in(firing, "firing"), firing
            signal_to_end.touch()
            await until(lambda: _is(looking, long, State.COMPLETED), another.log)
            assert "job_timeout" in rules_in(await looking.until_over(), "resolved")


async def _is(looking: Looking, job_id: str, state: State) -> bool:
    job = await looking.app.engine.get(job_id)
    return job is not None and job.state is state


async def _enqueued_now(site: Site, until: str) -> str:
    """By the engine's own clock: by ours it would be due much later."""
    async with make_app(site.url) as app:
        return (await app.tasks["lasts"].aenqueue(until=until)).id


async def test_an_outbox_that_nobody_empties_is_told_and_so_is_its_end(tmp_path: Path) -> None:
    with site_of(tmp_path, "sqlite") as site:
        file = tmp_path / "shop.db"
        site.env["PENSTOCK_OUTBOX"] = f"sqlite:///{file}"
        async with looking_at(site, outbox=f"sqlite:///{file}") as looking:
            app = looking.app
            await app.outbox.apply()
            assert app.alerting is not None
            looking.alerting = replace(looking.alerting, relay_lag=app.alerting.relay_lag)
            with closing(sqlite3.connect(file)) as database, database:
                app.tasks["works"].using(connection=database).enqueue()
            firing = await looking.look(61)
            assert "relay_lag_high" in rules_in(firing, "firing"), firing
            relay = site.launch("relay", "--app", APP)

            async def emptied() -> bool:
                return await app.outbox.lag() == 0

            await until(emptied, relay.log)
            assert "relay_lag_high" in rules_in(await looking.until_over(), "resolved")


# -- with the processes that look in the real life -----------------------------------------------------------
YAML = """
every: 1s
group_every: 0
recover_after: 0
channels:
  ops: {{webhook: "http://127.0.0.1:{port}/", secret: {secret}, ports: [{port}], allow: [127.0.0.1]}}
  hung: {{webhook: "http://127.0.0.1:{port}/hang", secret: {secret}, ports: [{port}], allow: [127.0.0.1]}}
alerts:
  schedule_not_fired: {{condition: schedule_lateness > 2}}
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


@contextmanager
def place() -> Iterator[Place]:
    with Place() as made:
        thread = Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_when_the_last_worker_has_died_the_server_tells_and_a_channel_that_hangs_is_in_nobodys_way(
    tmp_path: Path,
) -> None:
    with site_of(tmp_path, "sqlite") as site, place() as told:
        (site.folder / "penstock.yaml").write_text(YAML.format(port=told.server_port, secret=SECRET))
        port = free_port()
        server = site.launch("serve", "--app", SCHEDULED, "--port", str(port))
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=5) as client:
            dying = site.start(app=SCHEDULED, lease=1)
            eventually(lambda: _done(client, "beats"), START_SECONDS, dying.log())
            dying.kill()
            eventually(lambda: _enqueued(client), START_SECONDS, server.log())
            hears(told, server, "worker_down", "firing", "Worker down: default (0/1)")
            hears(told, server, "schedule_not_fired", "firing", "Schedule beat did not fire")
            begun = time.monotonic()
            assert _enqueued(client), "while a channel hangs"
            assert time.monotonic() - begun < 2

            site.start(app=SCHEDULED)
            hears(told, server, "worker_down", "resolved", "Worker down: default")
            hears(told, server, "schedule_not_fired", "resolved", "Schedule beat")
        eventually(lambda: "channel hung was not told" in server.log(), START_SECONDS, server.log())
        listed = json.loads(site.run("alerts", "channels", "--json", "--app", SCHEDULED).stdout)
        assert {each["channel"]: each["problem"] for each in listed} == {
            "ops": None,
            "hung": "it did not answer in time",
        }


def _done(client: httpx.Client, task: str) -> bool:
    try:
        found = client.get("/jobs", params={"task": task}).json()["jobs"]
    except httpx.TransportError:
        return False
    return any(job["status"] == "completed" for job in found)


def _enqueued(client: httpx.Client) -> bool:
    try:
        return client.post("/jobs/default", json={"task": "works"}).status_code == 202
    except httpx.TransportError:
        return False


def hears(place: Place, watching: Tree, rule: str, phase: str, message: str) -> None:
    def heard() -> bool:
        found = [alert for alert in list(place.told) if (alert["rule"], alert["phase"]) == (rule, phase)]
        return any(alert["message"].startswith(message) for alert in found)

    eventually(heard, START_SECONDS, f"{rule} {phase}\n{watching.log()}")


def test_every_built_in_rule_is_brought_about_here() -> None:
    text = Path(__file__).read_text()
    assert [name for name in BUILT_IN if f'"{name}"' not in text] == []
