"""Jobs and one job: found, walked through, acted on, and everything there is of one."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from dashboard.jobs_kit import HOSTILE, mended
from dashboard.kit import Shop
from penstock import State
from penstock.engine import JobFilter
from penstock.model.job import NewJob
from penstock.searching import Fit
from penstock.tasks.ids import new_id

pytestmark = pytest.mark.asyncio(loop_scope="package")

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


async def accessible(page: Page) -> None:
    """No serious violation, as the page is now."""
    await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run()")
    bad = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert not bad, [(v["id"], [n["html"] for n in v["nodes"]][:3]) for v in bad]


async def fits_a_phone(page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    await page.set_viewport_size({"width": 1280, "height": 900})


async def delayed(shop: Shop, owner: str, many: int) -> list[str]:
    jobs = [
        NewJob(new_id(), "slow", "charge", '{"shop":"x","amount":1}', delay=3600, owner=owner)
        for _ in range(many)
    ]
    for n in range(0, many, 500):
        await shop.app.engine.enqueue(jobs[n : n + 500])
    return [job.id for job in jobs]


async def test_jobs_are_found_by_every_word_and_the_address_keeps_the_search(shop: Shop) -> None:
    made = shop.app.tasks["send_receipt"].using(owner="ana", key="receipt:7000", delay=3600, tags=["billing"])
    job = await made.aenqueue(order_id=7000)
    page = await shop.page("operator", "/jobs")
    row = page.get_by_title(job.id)
    await page.keyboard.press("/")
    await expect(page.locator("#search")).to_be_focused()
    await page.keyboard.type("state:del")
    await expect(page.locator('#search-words option[value="state:delayed"]')).to_have_count(1)
    text = "state:delayed task:send_receipt queue:email owner:ana key:receipt:7000 tag:billing after:2h"
    text += " args.order_id:7000"
    await page.locator("#search").fill(text)
    await page.keyboard.press("Enter")
    await expect(row).to_be_visible()
    await expect(page).to_have_url(re.compile(re.escape("q=state%3Adelayed")))
    await page.reload()
    await expect(row).to_be_visible()
    await page.get_by_role("button", name="Without args.order_id:7000").click()
    await expect(page.get_by_text("args.order_id:7000", exact=True)).to_have_count(0)
    await page.goto(f"/dashboard/jobs?q={quote('task:send_receipt args.order_id:7001')}")
    await expect(page.get_by_text("No job matches")).to_be_visible()
    await page.goto(f"/dashboard/jobs?q={quote('state:odd task:send_receipt args.to:x')}")
    await expect(page.get_by_text("not understood: state:odd")).to_be_visible()
    await expect(page.get_by_text("Not all of this is understood")).to_be_visible()
    await expect(page.locator("tr.row")).to_have_count(0)
    await expect(page.get_by_role("alert")).to_contain_text("only by order_id")
    # to ask again would be of no use: what to add is
    await page.goto(f"/dashboard/jobs?q={quote('args.order_id:7000')}")
    await expect(page.get_by_role("alert")).to_contain_text("Add task:NAME to the search.")
    await expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    await page.locator("#search").fill(job.id)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/jobs/{job.id}$"))
    await page.get_by_role("button", name="Cancel", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    await expect(page.locator("main .state.cancelled").first).to_be_visible()


async def test_all_that_match_are_acted_on_as_of_the_look_and_it_says_how_many_still_were(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.matching.COUNTED", 2)  # so five take some looks
    monkeypatch.setattr("penstock.matching.LOOK", 2)
    first, *others = await delayed(shop, "many", 5)
    page = await shop.page("admin", "/jobs?q=owner:many")
    await expect(page.get_by_title(first)).to_be_visible()
    await page.get_by_role("group", name="All that match").get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("5 jobs (5 delayed)")).to_be_visible()
    await expect(dialog.locator(".command code")).to_have_text("penstock bulk cancel --owner many")
    await expect(dialog.get_by_role("listitem")).to_have_count(4)  # three of them, and how many more
    await accessible(page)
    (late,) = await delayed(shop, "many", 1)
    await shop.app.ops.cancel(first)
    await dialog.get_by_label("Why?").fill("ordered by mistake")
    await dialog.get_by_role("button", name="Cancel 5").click()
    await expect(dialog.get_by_text("4 of 5 cancelled; 1 was not eligible any more.")).to_be_visible()
    await dialog.get_by_role("button", name="Close").click()
    states = [(await shop.app.ops.job(job_id)).state for job_id in (*others, late)]
    assert states == [State.CANCELLED] * 4 + [State.DELAYED]
    (deed, *_) = [deed for deed in await shop.app.ops.audit.entries(10) if deed.action == "jobs cancel"]
    assert deed.who.startswith("token:admin:")
    assert (deed.why, deed.after) == ("ordered by mistake", {"done": 4, "not_eligible": 0})
    # single rows: chosen by key, deleted
    await page.goto("/dashboard/jobs?q=owner:many state:cancelled")
    await expect(page.locator("tr.row")).to_have_count(5)
    await page.get_by_role("checkbox", name="Choose all shown").click()
    await expect(page.get_by_text("5 chosen")).to_be_visible()
    await page.get_by_role("checkbox", name="Choose all shown").click()
    await page.keyboard.press("j")
    await page.keyboard.press("x")
    await expect(page.get_by_text("1 chosen")).to_be_visible()
    await page.get_by_role("group", name="Chosen jobs").get_by_role("button", name="Delete").click()
    await dialog.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.locator("tr.row")).to_have_count(4)
    assert shop.complaints == []


async def test_a_job_is_deleted_from_its_page_and_the_list_is_as_it_was_searched(shop: Shop) -> None:
    for order_id in (1, 2):
        job = await shop.app.tasks["send_receipt"].using(owner="back", delay=3600).aenqueue(order_id=order_id)
        await shop.app.ops.cancel(job.id)
    page = await shop.page("operator", "/jobs?q=owner:back")
    await page.get_by_title(job.id).click()
    await page.get_by_role("tab", name="Result").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.locator(".command code")).to_have_text(f"penstock bulk delete --key {job.id}")
    seen = await shop.app.ops.matching.preview("delete", JobFilter(key=job.id), Fit())
    assert [each.id for each in seen.examples] == [job.id]
    await dialog.get_by_role("button", name="Delete", exact=True).click()
    await expect(page).to_have_url(re.compile("/jobs.q=owner:back$"))
    await expect(page.locator("tr.row")).to_have_count(1)
    await expect(page.get_by_role("heading", level=1)).to_be_focused()


async def walk_down(page: Page, last: str) -> None:
    while not await page.get_by_title(last).count():
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        await page.wait_for_timeout(20)
        assert await page.locator("tr.row").count() < 120


async def test_a_long_list_stays_small_in_the_page_and_is_walked_to_its_end(shop: Shop) -> None:
    ids = await delayed(shop, "long", 1_500)
    page = await shop.page("reader", "/jobs?q=owner:long")
    await expect(page.get_by_title(ids[-1])).to_be_visible()
    await expect(page.get_by_text("200 so far")).to_be_visible()
    await walk_down(page, ids[0])
    await expect(page.get_by_text("1,500 jobs")).to_be_visible()
    await page.evaluate("scrollTo(0, 0)")
    await expect(page.get_by_title(ids[-1])).to_be_visible()
    for _ in range(60):
        await page.keyboard.press("j")
    await expect(page.locator("tr.cursor").get_by_title(ids[-60])).to_be_in_viewport()
    await page.keyboard.press("k")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/jobs/{ids[-59]}$"))
    await expect(
        page.locator("main").get_by_role("button", name=re.compile("Retry|Cancel|Delete|Run now"))
    ).to_have_count(0)
    await expect(page).to_have_title(re.compile(f"^Job: {ids[-59][:8]}.* · Penstock$"))
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await page.go_back()
    await expect(page.locator("tr.cursor").get_by_title(ids[-59])).to_be_in_viewport()
    await expect(page.get_by_text("1,500 jobs")).to_be_attached()


async def grown(shop: Shop, many: int) -> list[str]:
    ids = await delayed(shop, "grown", many)
    await shop.app.tasks["send_receipt"].aenqueue(order_id=1)  # pages hear of this one
    return ids


async def test_a_list_says_what_is_new_does_not_move_under_the_pointer_and_never_shows_a_part_as_the_whole(
    shop: Shop,
) -> None:
    first = await grown(shop, 100)
    page = await shop.page("reader", "/jobs?q=owner:grown")
    await expect(page.get_by_text("100 jobs")).to_be_visible()
    await page.mouse.move(0, 0)
    (*_, newest) = await grown(shop, 300)  # far more than one look at the top brings
    await expect(page.get_by_title(newest)).to_be_visible()
    await walk_down(page, first[0])
    await expect(page.get_by_text("400 jobs")).to_be_visible()
    (*_, newest) = await grown(shop, 60)
    await expect(page.get_by_text("400 so far")).to_be_visible()
    await page.get_by_role("button", name="50 or more new").click()
    await expect(page.get_by_title(newest)).to_be_in_viewport()
    await page.get_by_title(newest).hover()
    (late,) = await grown(shop, 1)
    await expect(page.get_by_role("button", name="1 new")).to_be_visible()
    await expect(page.locator("tr.row").first.get_by_title(newest)).to_be_visible()
    await page.mouse.move(0, 0)
    await expect(page.locator("tr.row").first.get_by_title(late)).to_be_visible()
    await walk_down(page, first[0])
    await expect(page.get_by_text("461 jobs")).to_be_visible()


async def test_a_job_shows_its_life_errors_logs_steps_effects_and_flow_and_hostile_words_as_words(
    shop: Shop,
) -> None:
    flow = shop.app.flow(HOSTILE[:60])
    first = flow.add(shop.app.tasks["ship"].using(owner="bea").call(parcel=HOSTILE))
    last = flow.add(shop.app.tasks["send_receipt"].call(order_id=1), after=[first])
    made = await flow.aenqueue()
    await made[last].aresult(timeout=20)
    job = made[first].id
    page = await shop.page("operator", f"/jobs/{job}")
    main = page.locator("main")
    await expect(main.locator(".head .state.completed")).to_be_visible()
    await expect(main.locator(".life span")).to_have_count(4)  # waited, failed, waited, completed
    await expect(main.get_by_role("list", name="Attempts").get_by_role("listitem")).to_have_count(2)
    seen = {
        "Arguments": HOSTILE,
        "Result": "onerror=alert",
        "Errors": "ConnectionError: <img",
        "Logs": f"shipping {HOSTILE}",
        "Steps": f"label {HOSTILE}",
        "Flow": "send_receipt",
    }
    for tab, text in seen.items():
        await page.get_by_role("tab", name=tab).click()
        await expect(page.get_by_role("tabpanel").get_by_text(text).first).to_be_visible()
        if tab in ("Logs", "Flow"):
            await accessible(page)
        await fits_a_phone(page)
        assert await main.locator("img, svg[onload]").count() == 0
    await page.get_by_role("tab", name="Errors").click()
    stack = page.get_by_role("tabpanel").locator("details").first
    await expect(stack).not_to_have_attribute("open", "")
    await stack.locator("summary").click()
    await expect(stack).to_contain_text("jobs_kit.py")
    await page.get_by_role("tab", name="Flow").click()
    await page.get_by_role("tabpanel").get_by_role("link", name="send_receipt").click()
    await expect(page).to_have_url(re.compile(f"/jobs/{made[last].id}"))
    reader = await shop.page("reader", f"/jobs/{job}?tab=logs")
    await expect(reader.get_by_text("Not shown to you")).to_be_visible()
    assert shop.complaints == []


async def test_why_a_job_does_not_run_is_said_first_with_the_button_that_mends_it(shop: Shop) -> None:
    await shop.app.ops.pause("slow")
    job = await shop.app.tasks["ship"].aenqueue(parcel="p")
    reader = await shop.page("reader", f"/jobs/{job.id}")
    await expect(reader.get_by_text("paused")).to_be_visible()
    await expect(reader.get_by_role("button", name="Resume the queue")).to_have_count(0)
    page = await shop.page("operator", f"/jobs/{job.id}")
    await page.get_by_role("button", name="Resume the queue").click()
    await page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
    await expect(page.locator("main .head .state.completed")).to_be_visible(timeout=20_000)


async def test_a_job_that_waits_for_a_failed_one_offers_to_retry_that_one(shop: Shop) -> None:
    flow = shop.app.flow("held")
    boom = flow.add(shop.app.tasks["charge"].call(shop="held", amount=1))
    join = flow.add(shop.app.tasks["send_receipt"].call(order_id=1), after={boom: "wait"})
    made = await flow.aenqueue()
    with pytest.raises(Exception, match="the bank says no"):
        await made[boom].aresult(timeout=20)
    page = await shop.page("operator", f"/jobs/{made[join].id}")
    why = page.get_by_role("region", name="Why it does not run")
    await why.get_by_role("link", name=made[boom].id).click()
    await expect(page).to_have_url(re.compile(f"/jobs/{made[boom].id}$"))
    await page.go_back()
    await expect(why.get_by_role("link", name="To that job")).to_be_visible()
    await expect(why.get_by_role("button", name="Run now")).to_have_count(0)
    mended.add("held")
    await why.get_by_role("button", name="Retry that job").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.locator(".command code")).to_have_text(f"penstock retry {made[boom].id}")
    await dialog.get_by_role("button", name="Retry", exact=True).click()
    await expect(page.get_by_text("1 retried")).to_be_visible()
    await expect(page.locator("main .head .state.completed")).to_be_visible(timeout=20_000)
    assert shop.complaints == []
