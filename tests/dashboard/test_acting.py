"""What operators do, with real effects; and that it is written down."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from dashboard.kit import Shop
from penstock.model.states import State

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def confirm(page: Page, action: str, reason: str = "") -> None:
    dialog = page.get_by_role("dialog")
    if reason:
        await dialog.get_by_label("Why?").fill(reason)
    await dialog.get_by_role("button", name=action, exact=True).click()
    await expect(dialog).to_have_count(0)


async def test_a_queue_is_paused_and_resumed_and_the_audit_says_why(shop: Shop) -> None:
    page = await shop.page("admin", "/queues")
    row = page.get_by_role("row").filter(has_text="email")
    await row.get_by_role("button", name="Pause").click()
    await confirm(page, "Pause", "the mail server moves")
    await expect(row.get_by_text("paused")).to_be_visible()
    assert [q.paused for q in await shop.app.ops.queues() if q.name == "email"] == [True]
    await row.get_by_role("button", name="Resume").click()
    await confirm(page, "Resume")
    await expect(row.get_by_text("open")).to_be_visible()
    await page.get_by_role("link", name="Audit").first.click()
    await expect(page.get_by_text("the mail server moves")).to_be_visible()


async def test_a_failed_job_is_retried_from_its_page(shop: Shop) -> None:
    job_id = await shop.failed()
    page = await shop.page("operator", f"/jobs/{job_id}")
    await expect(page.get_by_text("there is no order -1").first).to_be_visible()
    await page.get_by_role("button", name="Retry", exact=True).click()
    await confirm(page, "Retry")
    await expect(page.get_by_text("1 retried")).to_be_visible()
    await expect(page.get_by_role("button", name="Retry", exact=True)).to_have_count(0)
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    letter = await shop.app.ops.dead_letter(job_id)
    assert letter.recovered_as is not None
    # in lists it is marked, and told apart from what is still to be seen to
    waits = await shop.failed(-2)
    later = await shop.app.tasks["send_receipt"].using(delay=3600).aenqueue(order_id=6)
    await page.goto("/dashboard/jobs?q=task:send_receipt recovered:yes")
    row = page.get_by_role("row").filter(has=page.locator(f'a[href$="{job_id}"]'))
    await expect(row.get_by_title(f"Recovered as {letter.recovered_as}")).to_be_visible()
    await expect(page.get_by_title(waits)).to_have_count(0)
    await page.goto("/dashboard/jobs?q=task:send_receipt after:1h")
    await expect(page.get_by_title(waits)).to_be_visible()
    # to retry all that match is for what has failed, not for what is planned
    await page.get_by_role("group", name="All that match").get_by_role("button", name="Retry").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("failed) matched at")).to_be_visible()
    told = dialog.locator(".command code")
    await expect(told).to_have_text("penstock bulk retry --task send_receipt --state failed --since 1h")
    await dialog.get_by_role("button", name=re.compile(r"^Retry \d+$")).click()
    await expect(dialog.get_by_text("; all were still eligible.")).to_be_visible()
    assert (await shop.app.ops.job(later.id)).state is State.DELAYED
    assert (await shop.app.ops.dead_letter(waits)).recovered_as is not None


async def test_a_delayed_job_is_cancelled_with_a_reason(shop: Shop) -> None:
    job = await shop.app.tasks["send_receipt"].using(delay=3600).aenqueue(order_id=5)
    page = await shop.page("operator", f"/jobs/{job.id}")
    await expect(page.get_by_text("Why is it not running?")).to_be_visible()
    await page.get_by_role("button", name="Cancel").click()
    await confirm(page, "Cancel it", "ordered by mistake")
    await expect(page.locator("main .state.cancelled")).to_be_visible()
    found = await shop.app.ops.job(job.id)
    assert (found.state, found.note) == (State.CANCELLED, "ordered by mistake")


async def test_a_schedule_is_fired_now(shop: Shop) -> None:
    page = await shop.page("operator", "/schedules/nightly")
    await expect(page.get_by_text("America/Sao_Paulo")).to_be_visible()
    await page.get_by_role("button", name="Fire now").click()
    await confirm(page, "Fire now")
    await page.get_by_text("Fired as").get_by_role("link").click()
    await expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}$"))
    await page.go_back()
    fired = page.get_by_role("region", name="What it has fired").get_by_role("row").filter(has_text="by hand")
    await expect(fired.locator(".state")).to_have_text(re.compile("completed|waiting|active"))
    await page.get_by_role("button", name="Pause").click()
    await confirm(page, "Pause")
    await expect(page.get_by_text("It is paused")).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await confirm(page, "Resume")
    await expect(page.get_by_role("region", name="The next runs").get_by_role("row")).to_have_count(11)


async def test_a_breaker_is_opened_and_closed_and_a_dialog_says_what_went_wrong_and_gives_the_focus_back(
    shop: Shop,
) -> None:
    page = await shop.page("operator", "/limits")
    row = page.get_by_role("row").filter(has_text="smtp")
    away = {"error": {"code": "unavailable", "message": "the engine does not answer"}}
    await page.route("**/breakers/smtp/open", lambda route: route.fulfill(status=503, json=away))
    await row.get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Open the breaker").click()
    await expect(dialog.get_by_role("alert")).to_have_text("the engine does not answer")
    await page.evaluate(
        "navigator.clipboard.writeText = async () => { throw 0 }; document.execCommand = () => false"
    )
    await dialog.get_by_role("button", name="Copy").click()
    await expect(dialog.get_by_text("Not copied")).to_be_visible()
    await dialog.get_by_role("button", name="Keep as it is").click()
    await expect(row.get_by_role("button", name="Open")).to_be_focused()
    await page.unroute("**/breakers/smtp/open")
    await row.get_by_role("button", name="Open").click()
    await expect(dialog.get_by_role("alert")).to_have_count(0)
    await confirm(page, "Open the breaker")
    await expect(row.get_by_role("button", name="Close")).to_be_focused()
    await row.get_by_role("button", name="Close").click()
    await confirm(page, "Close the breaker")
    await expect(row.get_by_text("closed")).to_be_visible()


async def test_a_job_is_enqueued_from_the_catalogue_and_bad_arguments_are_told_at_their_field(
    shop: Shop,
) -> None:
    page = await shop.page("operator", "/tasks/send_receipt")
    await page.get_by_label("order_id").fill("1.5")
    await page.get_by_role("button", name="Enqueue").click()
    await expect(page.get_by_role("alert").first).to_contain_text("integer")
    await page.get_by_label("order_id").fill("12345678901234567890")
    await page.get_by_role("button", name="Enqueue").click()
    await expect(page.locator("main .state.completed")).to_be_visible(timeout=20_000)
    await expect(page.get_by_text("12345678901234567890", exact=True)).to_be_visible()
    made = await shop.app.ops.job(page.url.rsplit("/", 1)[1])
    assert made.args == {"order_id": 12345678901234567890}


async def test_what_is_wrong_with_an_argument_is_not_told_at_the_option_of_that_name(shop: Shop) -> None:
    page = await shop.page("operator", "/tasks/label")
    form = page.get_by_role("form", name="Enqueue label")
    options = form.locator("details")
    for name in ("key", "delay", "tags"):
        await form.locator(f"#arg-{name}").fill("many")
    await form.get_by_role("button", name="Enqueue").click()
    await expect(form.get_by_role("alert")).to_have_count(3)
    await expect(form.locator("#arg-key")).to_be_focused()
    await expect(options.get_by_role("alert")).to_have_count(0)
    for name in ("key", "delay", "tags"):
        await form.locator(f"#arg-{name}").fill("")
    await options.locator("summary").click()
    await form.get_by_label("Delay, in seconds").fill("soon")
    await form.get_by_role("button", name="Enqueue").click()
    await expect(form.get_by_label("Delay, in seconds")).to_be_focused()
    await expect(form.get_by_role("alert")).to_have_count(1)
    await expect(options.get_by_role("alert")).to_have_count(1)
    # with nothing but defaults: that is said of the job
    await form.get_by_label("Delay, in seconds").fill("")
    await form.get_by_role("button", name="Enqueue").click()
    await page.get_by_role("tab", name="Arguments").click()
    await expect(page.get_by_text("None were given: the task's defaults stand")).to_be_visible()


async def test_a_page_shows_what_happens_without_being_loaded_again(shop: Shop) -> None:
    page = await shop.page("operator", "/jobs?q=key:seen-live")
    await expect(page.get_by_text("No job matches")).to_be_visible()
    await shop.app.tasks["send_receipt"].using(key="seen-live").aenqueue(order_id=77)
    await expect(page.locator("main .state.completed")).to_be_visible(timeout=10_000)
