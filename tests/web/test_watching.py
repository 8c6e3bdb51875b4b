"""What is told of how all does: health, metrics, limits, alerts, and why a job does not run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock import Penstock
from penstock.alerts import gauges
from penstock.alerts.names import Scope as Kind
from penstock.alerts.rules import Subject
from penstock.engine import Want, WorkerInfo
from penstock.telemetry.gone import remember
from penstock.web.auth import COOKIE, PROOF
from web.kit import Shop, open_shop


async def test_probes_tell_nothing_but_whether_it_goes(shop: Shop) -> None:
    for path in ("/healthz", "/readyz"):
        answer = await shop.ask("GET", path, None)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_health_names_the_queue_that_nobody_works_on(shop: Shop) -> None:
    await shop.enqueue()
    found = (await shop.ask("GET", "/health", "reader")).json()
    assert found["queues"]["email_queue"]["waiting"] == 1
    assert found["engine"]["status"] == "ok"


async def test_why_names_the_pause_that_holds_a_job_back(shop: Shop) -> None:
    job_id = await shop.enqueue()
    await shop.ask("POST", "/queues/email_queue/pause", "operator")
    causes = (await shop.ask("GET", f"/jobs/{job_id}/why", "reader")).json()["causes"]
    assert causes[0]["because"] == "paused"
    assert causes[0]["next"] == "penstock resume email_queue"


async def test_a_story_has_errors_for_all_and_stacks_for_those_who_may_see_payloads(shop: Shop) -> None:
    job_id = await shop.dead()
    (error,) = (await shop.ask("GET", f"/jobs/{job_id}/story", "reader")).json()["errors"]
    assert (error["message"], "traceback" in error) == ("no such order", False)
    (whole,) = (await shop.ask("GET", f"/jobs/{job_id}/story", "auditor")).json()["errors"]
    assert "no such order" in whole["traceback"]


async def test_an_owner_reads_the_story_of_a_job_of_theirs_and_nothing_of_others_in_it(shop: Shop) -> None:
    tasks = shop.app.tasks
    theirs, own = (tasks["report"].using(owner=owner).call() for owner in ("bea", "ana"))
    flow = shop.app.flow("mixed")
    before = [flow.add(theirs), flow.add(own)]
    flow.add(tasks["fail"].using(owner="ana").call(), after=before)
    made = await flow.aenqueue()
    await shop.work()
    jobs = (await shop.ask("GET", f"/flows/{made.id}")).json()["jobs"]
    first, second, last = (
        next(job["job_id"] for job in jobs if (job["task"], job["owner"]) == each)
        for each in (("report", "bea"), ("report", "ana"), ("fail", "ana"))
    )
    told = (await shop.ask("GET", f"/jobs/{last}/story", "ana")).json()
    (error,) = told["errors"]
    assert (error["message"], "worker" in error, "traceback" in error) == ("no such order", False, False)
    assert (told["worker"], told["dead_letter"], told["after"]) == (None, True, [second])
    assert (await shop.ask("GET", f"/jobs/{last}/story", "bea")).status_code == 404
    whole = (await shop.ask("GET", f"/jobs/{last}/story", "reader")).json()
    assert set(whole["after"]) == {first, second}
    assert whole["errors"][0]["worker"]


async def test_what_workers_counted_is_told_as_numbers_as_a_series_and_for_prometheus(shop: Shop) -> None:
    await shop.enqueue("report")
    await shop.work()
    stats = (await shop.ask("GET", "/stats", "reader")).json()
    assert {q["queue"]: q["completed"] for q in stats["queues"]}["default"] == 1
    points = (await shop.ask("GET", "/stats/series?span=hour", "reader")).json()["points"]
    assert sum(point["throughput_per_minute"] for point in points) == 1
    text = (await shop.ask("GET", "/metrics", "reader")).text
    assert 'penstock_jobs_completed_total{queue="default",task="report"} 1.0' in text


async def test_limits_are_told_as_they_were_declared(tmp_path: object) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db", name="shop")
    app.queue("slow", rate="1/2s", max_active=3)
    async with open_shop(app) as shop:
        await shop.work()  # it declares them
        (limit,) = (await shop.ask("GET", "/limits", "reader")).json()["limits"]
        assert (limit["name"], limit["limit"]["said"], limit["limit"]["concurrency"]) == ("slow", "1/2s", 3)
        assert (await shop.ask("GET", "/limits/keys?group=slow", "reader")).json() == {
            "keys": [],
            "next": None,
        }


async def test_alerts_that_fire_and_have_fired_are_told(shop: Shop) -> None:
    told = (await shop.ask("GET", "/alerts", "reader")).json()
    assert told == {"alerts": [], "channels": []}
    assert (await shop.ask("GET", "/alerts/history", "reader")).json() == {"entries": []}


# -- people in a browser -----------------------------------------------------------------------------------
async def test_a_session_changes_nothing_without_the_proof_that_a_page_of_ours_asks(shop: Shop) -> None:
    from penstock.model.access import Scope
    from web.kit import UNLIMITED

    token = (await shop.app.ops.tokens.create("op", {Scope.READ, Scope.OPERATE}, "*")).text
    async with open_shop(shop.app, auth=None, limits=UNLIMITED) as site, site.client(None) as browser:
        assert (await browser.get("/session")).status_code == 401
        begun = (await browser.post("/session", json={"token": token})).json()
        secret = browser.cookies[COOKIE]
        assert (await browser.get("/queues")).status_code == 200
        pause = "/queues/email_queue/pause"
        assert (await browser.post(pause)).status_code == 401
        forged = {"Origin": "https://elsewhere.test", PROOF: begun["proof"]}
        assert (await browser.post(pause, headers=forged)).status_code in {401, 403}
        cross = {"Sec-Fetch-Site": "cross-site", PROOF: begun["proof"]}
        assert (await browser.post(pause, headers=cross)).status_code in {401, 403}
        assert (await browser.post(pause, headers={PROOF: begun["proof"]})).status_code == 200
        assert (await browser.delete("/session", headers={PROOF: begun["proof"]})).status_code == 204
        kept = {"Cookie": f"{COOKIE}={secret}"}
        assert (await browser.get("/session", headers=kept)).status_code == 401


async def test_the_timetable_has_ticks_to_come_ticks_that_were_and_changes_of_clocks(tmp_path: Path) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db", name="shop")

    @app.task
    async def report() -> None: ...

    app.schedule("nightly", report.call(), cron="30 2 * * *", tz="Europe/Berlin")
    app.schedule("often", report.call(), every=1)
    app.schedule("after", report.call(), cron="0 4 * * *", tz="Europe/Berlin", after=["nightly"])
    async with open_shop(app) as shop:
        await shop.work()  # it tells of them
        week = "/timetable?span=week&since=2099-03-26T00:00:00Z"
        plan = (await shop.ask("GET", week, "reader")).json()
        lanes = {lane["id"]: lane for lane in plan["lanes"]}
        assert (len(lanes["nightly"]["runs"]), lanes["often"]["more"]) == (7, True)
        assert lanes["after"]["after"] == ["nightly"]
        (seam,) = plan["seams"]
        assert seam == {"zone": "Europe/Berlin", "at": "2099-03-29T01:00:00Z", "forward": 3600.0}
        assert "2099-03-29T01:00:00Z" in lanes["nightly"]["runs"]  # 2:30 does not come: just after

        today = (await shop.ask("GET", "/timetable", "reader")).json()["lanes"]
        assert [len(lane["runs"]) >= 1 for lane in today] == [True] * 3, "what is daily is always in sight"

        async def often() -> Any:
            return (await shop.ask("GET", "/timetable")).json()["lanes"][2]

        while not (await often())["ticks"]:
            await shop.work()
        await app.ops.timetable.pause("often")
        await shop.work()
        found = await often()
        assert (found["id"], found["runs"], found["last"]["state"]) == ("often", [], "completed")
        (tick, *_) = (await shop.ask("GET", "/schedules/often", "reader")).json()["ticks"]
        assert tick["state"] == "completed"
        fired = (await shop.ask("POST", "/schedules/nightly/fire", "operator")).json()["job_id"]
        (by_hand,) = (await shop.ask("GET", "/schedules/nightly", "reader")).json()["ticks"]
        assert (by_hand["job_id"], by_hand["note"]) == (fired, "fired by hand")


async def test_what_stood_is_told_by_the_minute_and_what_was_done_by_queue(shop: Shop) -> None:
    await shop.enqueue()
    await shop.enqueue("report")
    queues = {q["name"]: q for q in (await shop.ask("GET", "/queues", "reader")).json()["queues"]}
    assert queues["email_queue"]["workers"] == 0
    now = datetime.now(UTC)
    values = {"waiting": 3.0, "active": 0.0, "oldest_age": 7.0, "stalled_count": 1.0}
    system = Subject(Kind.SYSTEM, "system", {"dlq_size": 2.0, "workers": 1.0})
    await gauges.Keeper(shop.app.engine).keep(now, [system, Subject(Kind.QUEUE, "email_queue", values)])
    for path in ("/stats/gauges", "/stats/gauges?span=day&queue=email_queue"):
        points = (await shop.ask("GET", path, "reader")).json()["points"]
        (seen,) = [point for point in points if point["waiting"] is not None]
        assert (seen["waiting"], seen["stalled"], seen["dead_letters"], seen["relay_lag"]) == (3, 1, 2, None)
    await shop.work()
    done = (await shop.ask("GET", "/stats/lately", "reader")).json()["completed"]
    assert (len(done["default"]), sum(done["default"])) == (30, 1)


async def test_relay_findings_and_rules_are_told_as_the_commands_tell_them(tmp_path: Path) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db", outbox=f"sqlite:///{tmp_path}/own.db", name="shop")
    async with open_shop(app) as shop:
        away = (await shop.ask("GET", "/relay", "reader")).json()
        assert away["outbox"]
        assert away["problem"]
        await app.outbox.apply()
        relay = (await shop.ask("GET", "/relay", "reader")).json()
        assert (relay["waiting"], relay["refused"], relay["problem"]) == (0, 0, None)
        found = (await shop.ask("GET", "/health/findings", "reader")).json()
        assert found["safe"]
        assert {"schema", "outbox"} <= {each["name"] for each in found["findings"]}
        rules = (await shop.ask("GET", "/alerts/rules", "reader")).json()["rules"]
        assert "stalled_count > 0 for 5m" in [rule["condition"] for rule in rules]
    async with open_shop(Penstock(f"sqlite:///{tmp_path}/jobs.db", name="shop")) as shop:
        assert not (await shop.ask("GET", "/relay", "reader")).json()["outbox"]


async def test_workers_are_told_with_what_they_run_and_what_they_were_ordered(shop: Shop) -> None:
    engine = shop.app.engine
    await engine.register(WorkerInfo(id="w1", name="host:1", queues=("default",), slots=2), 600.0)
    job = await shop.enqueue("report")
    (claim,) = (
        await engine.claim(Want("w1", "r", {"default": 2}, 2, shop.app.registry.fingerprints(), 2))
    ).claims
    await engine.progress(claim.id, claim.token, '{"percent": 40}')
    await engine.beat("w1", 600.0, 64 * 2**20)
    assert (await shop.ask("POST", "/workers/w1/quiet", "operator")).json() == {
        "id": "w1", "name": "host:1", "order": "quiet",
    }  # fmt: skip
    told = (await shop.ask("GET", "/workers", "reader")).json()
    (worker,) = told["workers"]
    assert (worker["order"], worker["memory"], worker["active"]) == ("quiet", 64 * 2**20, 1)
    assert [(run["job_id"], run["progress"]) for run in worker["running"]] == [(job, {"percent": 40})]
    health = (await shop.ask("GET", "/health", "reader")).json()
    assert health["workers"]["host:1"]["status"] == "paused"
    await remember(engine, "w0", "its process was killed", [], "host:0")
    (lost,) = (await shop.ask("GET", "/workers", "reader")).json()["lost"]
    assert (lost["name"], lost["why"], lost["jobs"]) == ("host:0", "its process was killed", [])
    await shop.ask("POST", "/workers/w1/stop", "operator")
    assert (await shop.ask("POST", "/workers/w1/resume", "operator")).status_code == 409
