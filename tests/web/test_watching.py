"""What is told of how all does: health, metrics, limits, alerts, and why a job does not run."""

from __future__ import annotations

from penstock import Penstock
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
        assert (await browser.post(pause, headers=forged)).status_code == 401
        cross = {"Sec-Fetch-Site": "cross-site", PROOF: begun["proof"]}
        assert (await browser.post(pause, headers=cross)).status_code in {401, 403}
        assert (await browser.post(pause, headers={PROOF: begun["proof"]})).status_code == 200
        assert (await browser.delete("/session", headers={PROOF: begun["proof"]})).status_code == 204
        kept = {"Cookie": f"{COOKIE}={secret}"}
        assert (await browser.get("/session", headers=kept)).status_code == 401
