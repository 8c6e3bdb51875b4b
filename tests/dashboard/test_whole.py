"""The pages of the whole: what is shown there is so, and what is done there is done."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime

import pytest
from playwright.async_api import Route, expect

from dashboard.kit import HOSTILE, Shop
from dashboard.test_acting import confirm
from penstock.engine import NewJob, Order, Sample, WorkerInfo
from penstock.model.breaker import Circuit
from penstock.model.outcome import Completed
from penstock.model.states import State
from penstock.tasks.ids import new_id
from penstock.telemetry.gone import remember
from penstock.telemetry.tally import Tally

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_the_overview_names_what_needs_somebody_and_mends_it_on_the_spot(shop: Shop) -> None:
    await shop.app.engine.count([Sample("email", "send_receipt", {"completed": 3.0})])
    await shop.app.ops.pause("parcels")
    page = await shop.page("operator", "/")
    attention = page.get_by_role("region", name="What needs attention")
    fact = attention.locator(".fact").filter(has_text="Queue parcels is paused")
    await fact.get_by_role("button", name="Resume…").click()
    await confirm(page, "Resume", "the van is back")
    await expect(fact).to_have_count(0)
    assert not any(queue.paused for queue in await shop.app.ops.queues())
    await expect(page.locator(".metric")).to_have_count(7)
    limits = ["1,000", "30 s", "5 %", "100", "down", "for 5 min"]
    await expect(page.locator(".metric .limit:not(:empty)")).to_have_text(
        [re.compile(f"{t}$") for t in limits]
    )
    await page.get_by_role("button", name="day").click()
    await page.get_by_label("Queue", exact=True).select_option("email")
    await expect(page).to_have_url(re.compile("span=day&queue=email|queue=email&span=day"))
    await expect(page.get_by_role("region", name="Throughput").locator("canvas")).to_be_visible(
        timeout=15_000
    )
    drawn = page.get_by_role("region", name="Throughput").get_by_role("img")
    await expect(drawn).to_have_attribute("aria-label", re.compile("completed: lately .*/min, at most"))
    await page.locator("main").get_by_role("link", name="email").last.click()
    await expect(page.get_by_role("heading", name="email", level=1)).to_be_visible()
    await expect(page.get_by_role("region", name="Its tasks")).to_contain_text("send_receipt")
    assert shop.complaints == []


async def test_a_number_of_the_worst_queue_names_it_and_its_line_is_of_that_queue(shop: Shop) -> None:
    tally = Tally()
    for _ in range(3):
        tally.run("parcels", "deliver", Completed(), 0.1, 45.0)
    await shop.app.engine.count(tally.take(9))
    page = await shop.page("reader", "/")
    card = page.locator(".metric").filter(has_text="Run time, p95")
    await expect(card.locator(".of")).to_have_text("parcels")
    await expect(card.get_by_role("img", name="Run time, p95 of parcels, lately")).to_be_visible()
    await expect(page.locator(".metric").filter(has_text="Completed/min").locator(".of")).to_be_empty()


async def test_a_queue_that_only_a_quiet_worker_serves_leads_to_that_worker(shop: Shop) -> None:
    engine = shop.app.engine
    await engine.register(WorkerInfo(id="hushed", name="vm:21090", queues=("abroad",), slots=2), 600.0)
    await shop.app.ops.workforce.order("hushed", Order.QUIET, None)
    problem = {
        "status": "degraded",
        "text": "queue abroad is stalled: 7 waiting, and no live worker serves it",
        "next": "penstock worker --queue abroad",
    }

    async def stalled(route: Route) -> None:  # as it is after half a minute
        told = await (await route.fetch()).json()
        await route.fulfill(json={**told, "problems": [*told["problems"], problem]})

    page = await shop.page("operator", "/jobs")
    await page.route(f"{shop.url}/health", stalled)
    for path in ("/", "/health"):
        await page.goto(f"/dashboard{path}")
        fact = page.locator(".fact").filter(has_text="ueue abroad is stalled")
        await expect(fact).to_contain_text("vm:21090 is quiet.")
        await expect(fact.locator(".command")).to_have_count(0)
        await expect(fact.get_by_role("link", name="Workers")).to_be_visible()
    await engine.rescue_worker("hushed", frozenset(), lambda held: pytest.fail(str(held)))
    await fact.get_by_role("link", name="Workers").click()
    await expect(page).to_have_url(re.compile("/workers$"))


async def test_an_open_breaker_has_one_line(shop: Shop) -> None:
    await shop.app.ops.set_breaker("smtp", Circuit.OPEN)
    now = datetime.now(UTC).isoformat()
    alert = {
        "rule": "breaker_open",
        "subject": "system",
        "severity": "error",
        "message": "Circuit breaker open, its jobs wait: smtp",
        "phase": "firing",
        "since": now,
        "fired_at": now,
        "clear_at": None,
        "told": [],
    }
    page = await shop.page("operator", "/jobs")
    await page.route(
        f"{shop.url}/alerts", lambda route: route.fulfill(json={"alerts": [alert], "channels": []})
    )
    async with page.expect_response(f"{shop.url}/alerts"):
        await page.goto("/dashboard/")
    line = re.compile("Breaker smtp is open|Circuit breaker open")
    facts = page.get_by_role("region", name="What needs attention").locator(".fact").filter(has_text=line)
    await expect(facts).to_have_count(1)
    await expect(facts).to_contain_text("Breaker smtp is open")
    await facts.get_by_role("button", name="Close it…").click()
    await confirm(page, "Close the breaker")
    await expect(facts).to_contain_text("Circuit breaker open")  # the alert is not over yet


async def test_a_queue_that_fails_is_not_called_ok(shop: Shop) -> None:
    await shop.app.engine.count([Sample("media", "render", {"failed": 30.0})])
    held = NewJob(new_id(), "media", "render", "{}", delay=600)
    await shop.app.engine.enqueue([held])
    page = await shop.page("reader", "/health")
    await expect(page.locator(".fact").filter(has_text="queue media: 100 % of what ended")).to_be_visible()
    row = page.get_by_role("region", name="Health of queues").get_by_role("row").filter(has_text="media")
    await expect(row.locator(".pill")).to_have_text("✕failing")
    await expect(row.locator(".state.failed")).to_have_text("✕ 100 %")
    await shop.app.ops.cancel(held.id)


async def test_no_two_labels_of_an_axis_are_the_same(shop: Shop) -> None:
    tally = Tally()
    for _ in range(5):
        tally.run("brief", "blink", Completed(), 0.0004, 0.0014)
    await shop.app.engine.count(tally.take(9))
    page = await shop.page("reader", "/jobs")
    await page.add_init_script("""
        const [write, wipe] = ["fillText", "clearRect"].map(name => CanvasRenderingContext2D.prototype[name]);
        CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
            (this.canvas.written ??= []).push(text);
            return write.call(this, text, ...at);
        };
        CanvasRenderingContext2D.prototype.clearRect = function (...at) {
            this.canvas.written = [];
            return wipe.call(this, ...at);
        };
    """)
    await page.goto("/dashboard/?queue=brief")
    for title in ("Throughput", "Error rate", "Run time", "Wait time"):
        canvas = page.get_by_role("region", name=title, exact=True).locator("canvas")
        await expect(canvas).to_be_visible()
        labels = await canvas.evaluate("e => e.written.filter(text => !/^[0-9]+:[0-9]+$/.test(text))")
        assert len(labels) > 1, title
        assert len(labels) == len(set(labels)), (title, labels)


async def test_queues_have_colours_of_their_own_and_a_column_that_was_there_stays(shop: Shop) -> None:
    held = NewJob(new_id(), "media", "render", "{}", delay=600)
    await shop.app.engine.enqueue([held])
    page = await shop.page("reader", "/queues")
    row = page.get_by_role("row").filter(has_text="media")
    await expect(row.locator("a[href*=delayed]")).to_be_visible()
    await page.wait_for_function("""() => {
        const colours = [...document.querySelectorAll("td .queue .dot")].map(e => getComputedStyle(e).color);
        return colours.length > 3 && new Set(colours).size === colours.length;
    }""")
    await shop.app.ops.cancel(held.id)
    await expect(row.locator("a[href*=delayed]")).to_have_count(0)
    await expect(page.get_by_role("columnheader", name="delayed")).to_be_visible()


async def test_the_last_label_of_the_time_line_is_not_cut(shop: Shop) -> None:
    page = await shop.page("reader", "/schedules?since=2099-03-26T00:01:00Z&zone=UTC")
    await expect(page.locator(".band .axis .strong")).to_have_text(re.compile("27"))
    assert await page.locator(".band").evaluate("e => e.scrollWidth <= e.clientWidth")


async def test_schedules_are_drawn_with_what_they_wait_for_and_where_clocks_change(shop: Shop) -> None:
    page = await shop.page("operator", "/schedules?span=week&since=2099-03-26T00:00:00Z&zone=Europe/Berlin")
    await expect(page.locator(".band .lane")).to_have_count(3)
    gather = page.locator(".band .lane").filter(has_text="gather")
    await expect(gather.locator(".tick")).to_have_count(7)
    await expect(gather.locator(".seam")).to_have_attribute("title", re.compile("clocks go forward 1 h"))
    await expect(page.get_by_role("list", name="Clock changes")).to_contain_text(
        "Europe/Berlin: clocks go forward"
    )
    await expect(page.locator(".band .arrows line")).to_have_count(7)
    await page.get_by_role("button", name="now", exact=True).click()
    await expect(page.locator(".band .now")).to_be_visible()
    row = page.get_by_role("row").filter(has_text="publish")
    await row.get_by_role("button", name="Pause").click()
    await confirm(page, "Pause", "not this week")
    await expect(row.get_by_text("paused")).to_be_visible()
    await row.get_by_role("button", name="Resume").click()
    await confirm(page, "Resume")
    await expect(row.get_by_role("button", name="Pause")).to_be_visible()
    await row.get_by_role("link", name="publish").click()
    await page.get_by_role("button", name="Fire now").click()
    await confirm(page, "Fire now")
    await expect(page.get_by_text("Fired as")).to_be_visible()
    assert shop.complaints == []


async def test_a_worker_is_made_quiet_and_stopped_by_a_person(shop: Shop) -> None:
    before = {worker.id for worker in await shop.app.ops.workers()}
    second = asyncio.create_task(shop.app.worker(slots=1, lease=1.5).run())
    while not (new := {worker.id for worker in await shop.app.ops.workers()} - before):
        await asyncio.sleep(0.01)
    (worker,) = new
    page = await shop.page("operator", "/workers")
    row = page.get_by_role("row").filter(has=page.get_by_title(worker))
    await row.get_by_role("button", name="Quiet").click()
    await confirm(page, "Quiet", "it looks odd")
    await expect(row.get_by_text("quiet", exact=True)).to_be_visible()
    await expect(row.get_by_text(re.compile("[0-9] MiB"))).to_be_visible()
    await row.get_by_role("button", name="Resume").click()
    await confirm(page, "Resume")
    await expect(row.get_by_text("running")).to_be_visible()
    await row.get_by_role("button", name="Stop").click()
    await expect(page.get_by_role("dialog")).to_contain_text(f"penstock workers stop {worker}")
    await confirm(page, "Stop", "it eats memory")
    assert await asyncio.wait_for(second, 20) == 0
    await expect(row).to_have_count(0)
    done = [(deed.action, deed.why) for deed in await shop.app.ops.audit.entries() if deed.target == worker]
    assert done == [
        ("worker stop", "it eats memory"),
        ("worker resume", None),
        ("worker quiet", "it looks odd"),
    ]


async def test_a_task_is_enqueued_by_a_form_of_its_schema(shop: Shop) -> None:
    await shop.app.ops.pause("parcels")
    page = await shop.page("operator", "/tasks/deliver")
    await page.get_by_label("tenant").fill(HOSTILE)
    await page.get_by_label("lines").fill("[1, 2")
    await page.get_by_role("button", name="Enqueue").click()
    await expect(page.get_by_role("alert")).to_contain_text("is not JSON: list of whole number")
    await expect(page.get_by_label("lines")).to_be_focused()
    await page.get_by_role("button", name="Begin with an example of lines").click()
    await expect(page.get_by_label("lines")).to_have_value("[\n  0\n]")
    await page.get_by_label("lines").fill('[1, "two"]')
    await page.get_by_role("button", name="Enqueue").click()
    await expect(page.get_by_role("alert")).to_have_count(2)  # how is missing, and two is no number
    await page.get_by_label("lines").fill("[1, 2]")
    await page.get_by_label("how", exact=True).select_option("courier")
    await page.get_by_label("express").select_option("true")
    await page.get_by_text("Options").click()
    await page.get_by_label("Delay, in seconds").fill("soon")
    await page.get_by_role("button", name="Enqueue").click()
    await expect(page.get_by_role("alert")).to_have_count(1)
    await page.get_by_label("Delay, in seconds").fill("")
    await page.get_by_label("Tags").fill("fragile, north")
    await page.get_by_role("button", name="Enqueue").click()
    await expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}$"))
    job = await shop.app.ops.job(page.url.rpartition("/")[2])
    assert set(job.tags) == {"fragile", "north"}
    assert job.args == {"tenant": HOSTILE, "how": "courier", "express": True, "lines": [1, 2]}
    await page.goto("/dashboard/limits?open=parcels%3Edeliver")
    key = (
        page.get_by_role("region", name="Keys of parcels>deliver", exact=True).last.get_by_role("row").nth(1)
    )
    await expect(key).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(key.get_by_role("meter")).to_have_attribute("aria-valuetext", "0 of 1")
    await shop.app.ops.cancel(job.id)
    await shop.app.ops.resume("parcels")
    assert (await shop.app.ops.job(job.id)).state is State.CANCELLED
    assert [each for each in shop.complaints if "status of 400" not in each] == []


async def test_hostile_names_and_reasons_are_words_and_the_audit_log_is_searched(shop: Shop) -> None:
    engine = shop.app.engine
    await engine.register(WorkerInfo(id="odd", name=HOSTILE, queues=("email",), slots=2), 600.0)
    await shop.app.ops.workforce.order("odd", Order.QUIET, HOSTILE)
    await remember(engine, "lost", HOSTILE, [], HOSTILE)
    page = await shop.page("admin", "/audit")
    await page.get_by_label("Did", exact=True).fill("worker QUIET")
    await page.get_by_label("To", exact=True).fill("odd")
    await page.get_by_role("button", name="Search").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="More").click()
    await expect(page.get_by_role("region", name="One entry")).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(page).to_have_url(re.compile("action=worker\\+QUIET&target=odd&open="))
    for path in ("/workers", "/queues/email", "/health"):
        await page.goto(f"/dashboard{path}")
        await expect(page.locator("main").get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    assert await page.locator("main img, main svg[onload]").count() == 0
    await engine.rescue_worker("odd", frozenset(), lambda held: pytest.fail(str(held)))
    assert shop.complaints == []


async def test_health_has_each_check_and_alerts_have_their_rules(shop: Shop) -> None:
    page = await shop.page("reader", "/health")
    await expect(page.get_by_role("region", name="Health of queues")).to_contain_text("email")
    await expect(page.get_by_role("region", name="Health of workers")).to_contain_text("running")
    await expect(page.get_by_role("region", name="What the doctor found")).to_contain_text("schema")
    await page.keyboard.press("g")
    await page.keyboard.press("a")
    await expect(page.get_by_role("region", name="Rules")).to_contain_text("stalled_count > 0 for 5m")
    await page.keyboard.press("g")
    await page.keyboard.press("q")
    await expect(page.get_by_role("row").filter(has_text="parcels")).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("o")
    await expect(page).to_have_url(re.compile("/queues/default$"))
    assert shop.complaints == []
