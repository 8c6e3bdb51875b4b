"""Those who see a part of it, those who want in from elsewhere, and what is seldom there to be seen."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from dashboard.kit import Shop, serving
from dashboard.test_acting import confirm
from penstock import Penstock
from penstock.alerts.book import Book, key_of
from penstock.alerts.life import Phase, Standing
from penstock.alerts.rules import Severity
from penstock.engine import Rescued
from penstock.model.access import Scope
from penstock.model.states import State
from penstock.telemetry.gone import remember

pytestmark = pytest.mark.asyncio(loop_scope="package")

PHONE = {"width": 390, "height": 800}
NOBODY = "00000000-0000-7000-8000-000000000000"


async def test_an_owner_sees_the_pages_that_are_theirs_and_mends_a_job_of_theirs_also_on_a_phone(
    shop: Shop,
) -> None:
    may = {Scope.READ, Scope.OPERATE, Scope.PAYLOAD}
    shop.tokens["ana"] = (await shop.app.ops.tokens.create("ana", may, "ana")).text
    failing = await shop.app.tasks["send_receipt"].using(owner="ana").aenqueue(order_id=-7)
    with pytest.raises(Exception, match="no order"):
        await failing.aresult(timeout=20)
    page = await shop.page("ana")
    await expect(page).to_have_url(re.compile("/dashboard/jobs$"))
    rail = page.get_by_role("navigation", name="Pages", exact=True)
    await expect(rail.locator(".item")).to_have_text(["≡Jobs", "✕Dead letters", "ƒTasks"])
    await expect(page.locator("header .pill").first).to_have_text("ready")
    for path in ("/queues", "/dead-letters"):
        await page.goto(f"/dashboard{path}")
        await expect(page.locator("main h1")).to_be_visible()
        await expect(page.locator("main .banner")).to_have_count(0)
    await page.goto(f"/dashboard/jobs/{failing.id}")
    await expect(page.get_by_role("region", name="How it ended")).to_contain_text("there is no order -7")
    await expect(page.get_by_role("list", name="Attempts").get_by_role("listitem")).to_have_count(1)
    await expect(page.get_by_role("tabpanel")).to_contain_text("there is no order -7")
    await expect(page.get_by_role("button", name="Edit and retry…")).to_be_visible()
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Retry", exact=True).click()
    await confirm(page, "Retry")
    assert (await shop.app.ops.dead_letter(failing.id)).recovered_as is not None
    await page.get_by_role("button", name="More").click()
    sheet = page.locator(".sheet")
    await expect(sheet).to_contain_text("ana operator, jobs of ana")
    await expect(sheet).to_contain_text("sqlite")
    await sheet.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("textbox", name="Token")).to_be_visible()
    assert shop.complaints == []


async def test_what_is_not_there_is_named_with_where_to_look_next(shop: Shop) -> None:
    page = await shop.page("reader")
    for path, what, leads in (
        (f"/jobs/{NOBODY}", "job", "All jobs"),
        ("/tasks/gone", "task", "Jobs of that name"),
        ("/schedules/gone", "schedule", "All schedules"),
    ):
        await page.goto(f"/dashboard{path}")
        await expect(page.get_by_role("heading", level=1)).to_have_text(f"There is no such {what}")
        await expect(page.locator("main")).to_contain_text(path.rpartition("/")[2])
        await expect(page.locator("main").get_by_role("link", name=leads)).to_be_visible()
    await page.context.close()  # it asks again and again for what is not there


@pytest.mark.parametrize("elsewhere", ["http://evil.test", "http://127.0.0.1:9999"])
async def test_a_page_from_elsewhere_changes_nothing_with_the_cookie_of_a_session(
    shop: Shop, elsewhere: str
) -> None:
    """The second is of the same site, as browsers see it: they send the cookie along."""
    page = await shop.page("operator")
    form = f"""<form method="post" action="{shop.url}/queues/email/pause" enctype="text/plain">
        <input name='{{"reason":"' value='"}}'><button>Win a prize</button></form>"""
    await page.route(
        f"{elsewhere}/**", lambda route: route.fulfill(body=form, content_type="text/html; charset=utf-8")
    )
    await page.goto(f"{elsewhere}/")
    asked = (
        f"fetch('{shop.url}/queues/email/pause', {{method: 'POST', mode: 'no-cors', credentials: 'include'}})"
    )
    await page.evaluate(f"{asked}.catch(() => undefined)")
    async with page.expect_response(re.compile("/queues/email/pause")) as answer:
        await page.get_by_role("button", name="Win a prize").click()
    assert (await answer.value).status in {401, 403}
    assert [queue.paused for queue in await shop.app.ops.queues() if queue.name == "email"] == [False]
    await page.context.close()  # its console tells of the refusal


async def test_alerts_that_fire_lead_on_and_a_lost_worker_is_shown_with_what_was_taken_back(
    shop: Shop,
) -> None:
    book, now = Book(shop.app.engine), datetime.now(UTC)
    for n in range(6):
        rule, subject = ("deep", "parcels") if n else ("job_timed_out", "email/send_receipt")
        alert = Standing(
            rule=f"{rule}_{n}" if n else rule,
            subject=subject,
            severity=Severity.WARNING if n else Severity.CRITICAL,
            message=f"it is {n} deep",
            phase=Phase.FIRING,
            since=now - timedelta(minutes=7 + n),
            fired_at=now - timedelta(minutes=7 - n),
        )
        assert await book.write(key_of(alert.rule, subject), 0, alert)
    page = await shop.page("operator", "/")
    facts = page.get_by_role("region", name="What needs attention").locator(".fact")
    first = facts.filter(has_text="it is 0 deep")
    await expect(first).to_contain_text(re.compile("fired 7 min ago by rule job_timed_out"))
    await expect(facts.filter(has_text=re.compile("[0-9]+ more alerts? fires?"))).to_be_visible()
    await first.get_by_role("link", name="Failed jobs").click()
    await expect(page).to_have_url(re.compile("q=state%3Afailed\\+task%3Asend_receipt"))
    await page.get_by_role("link", name="Alerts").first.click()
    row = page.get_by_role("region", name="Alerts that are not over").get_by_role("row")
    await row.filter(has_text="it is 3 deep").get_by_role("link", name="Queue").click()
    await expect(page.get_by_role("heading", name="parcels", level=1)).to_be_visible()

    job_id = await shop.failed()
    taken = [Rescued(job_id, "email", "send_receipt", "lost-7", State.WAITING)]
    await remember(shop.app.engine, "lost-7", "its process was killed", taken, "host:7")
    await page.get_by_role("link", name="Workers").first.click()
    lost = page.get_by_role("region", name="Lost workers").get_by_role("row").filter(has_text="host:7")
    await expect(lost).to_contain_text("its process was killed")
    await expect(lost).to_contain_text("send_receipt put back")  # then: by now it has failed
    await expect(lost.locator(".state")).to_have_count(0)
    await lost.get_by_role("link", name="send_receipt").click()
    await expect(page).to_have_url(re.compile(job_id))
    assert shop.complaints == []


async def test_the_relay_is_seen_to_be_behind_and_to_catch_up(shop: Shop, tmp_path: Path) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db", outbox=f"sqlite:///{tmp_path}/own.db", name="shop")

    @app.task
    async def hello() -> None: ...

    await app.outbox.apply()
    async with app, serving(app) as url:
        with closing(sqlite3.connect(tmp_path / "own.db")) as database, database:
            hello.using(connection=database).enqueue()
        page = await entered(shop, f"{url}/dashboard/limits", await app.ops.sessions.invite("ana"))
        rows = page.locator("dt", has_text="Rows that wait").locator("xpath=following-sibling::dd[1]")
        await expect(rows).to_have_text("1")
        await app.relay().run(burst=True)
        await expect(rows).to_have_text("0")
        await page.context.close()
    assert shop.complaints == []


async def test_the_next_runs_of_a_schedule_that_fires_by_the_second_are_told_by_the_second(
    shop: Shop, tmp_path: Path
) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db", name="shop")

    @app.task
    async def hello() -> None: ...

    app.schedule("often", hello.call(), every=30)
    app.schedule("seldom", hello.call(), cron="0 3 * * *")
    async with app, serving(app) as url:
        await app.worker().run(burst=True)
        page = await entered(shop, f"{url}/dashboard/schedules/often", await app.ops.sessions.invite("ana"))
        runs = page.get_by_role("region", name="The next runs").get_by_role("row")
        await expect(runs.nth(1)).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))
        await expect(runs.nth(2)).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))
        await page.goto(f"{url}/dashboard/schedules/seldom")
        await expect(runs.nth(1)).to_contain_text("03:00")
        await expect(runs.nth(1)).not_to_contain_text("03:00:00")
        await page.context.close()
    assert shop.complaints == []


async def entered(shop: Shop, url: str, invitation: str) -> Page:
    page = await (await shop.browser.new_context()).new_page()
    page.on("pageerror", lambda error: shop.complaints.append(str(error)))
    await page.goto(f"{url}#enter={invitation}")
    return page
