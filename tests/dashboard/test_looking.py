"""Every page: nothing that harms, nothing that keeps people out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, ViewportSize, expect

from dashboard.kit import HOSTILE, Shop

pytestmark = pytest.mark.asyncio(loop_scope="package")

PAGES = [
    "/", "/jobs", "/dead-letters", "/queues", "/queues/email", "/schedules?span=week", "/schedules/nightly",
    "/workers", "/limits?open=parcels%3Edeliver", "/alerts", "/tasks", "/tasks/deliver", "/audit", "/health",
    "/help",
]  # fmt: skip
PHONE: ViewportSize = {"width": 390, "height": 800}
AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


async def test_no_page_keeps_people_out(shop: Shop) -> None:
    job_id = await shop.failed()
    page = await shop.page("admin")
    wrong = []
    for path in [*PAGES, f"/jobs/{job_id}"]:
        await page.emulate_media(color_scheme="light", reduced_motion="reduce")
        await page.goto(f"/dashboard{path}")
        await expect(page.locator("main h1").first).to_be_visible()
        await page.evaluate(AXE.read_text())
        wrong += [(path, "light", *each) for each in await serious(page)]
        await page.emulate_media(color_scheme="dark")  # only colours differ
        wrong += [
            (path, "dark", *each) for each in await serious(page, "color-contrast", "link-in-text-block")
        ]
    assert wrong == []
    assert shop.complaints == []


async def serious(page: Page, *rules: str) -> list[tuple[Any, ...]]:
    """What axe holds against a page, of these rules or of all."""
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = await page.evaluate("options => axe.run(options)", options)
    bad = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    return [(v["id"], [node["html"] for node in v["nodes"]][:3]) for v in bad]


async def test_hostile_words_are_shown_as_words(shop: Shop) -> None:
    job = await shop.app.tasks["hostile"].using(owner=HOSTILE[:100], key=HOSTILE[:100]).aenqueue(text=HOSTILE)
    with pytest.raises(Exception, match="img"):
        await job.aresult(timeout=20)
    page = await shop.page("operator", f"/jobs/{job.id}")
    await expect(page.locator("main").get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    told = page.get_by_role("region", name="How it ended")
    await expect(told).to_contain_text("⟨U+202E⟩javascript:alert(1).")  # our own full stop stays at the end
    key = page.locator("dd code").filter(has_text="onerror")
    assert await key.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"
    for path in ("/jobs?q=task:hostile", "/dead-letters", f"/jobs?q={'<img src=x onerror=alert(1)>'}"):
        await page.goto(f"/dashboard{path}")
        await expect(page.locator("main h1")).to_be_visible()
        await expect(page.get_by_text("onerror=alert").first).to_be_visible()
    assert await page.locator("main img, main svg[onload]").count() == 0
    assert shop.complaints == []


async def test_the_page_fits_a_phone(shop: Shop) -> None:
    page = await shop.page("admin")
    await page.set_viewport_size({"width": 390, "height": 800})
    for path in PAGES:
        await page.goto(f"/dashboard{path}")
        await expect(page.locator("main h1").first).to_be_visible()
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, path


async def test_a_wrong_address_or_a_page_that_breaks_says_so_and_leads_on(shop: Shop) -> None:
    page = await shop.page("reader", "/tasks/%E0%A4%A")
    await expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    await page.get_by_role("link", name="To the overview").click()
    await expect(page).to_have_title("Overview · Penstock")
    await expect(page.get_by_role("heading", name="Overview")).to_be_focused()
    await page.route(re.compile("/queues$"), lambda route: route.fulfill(json={"queues": [None]}))
    await page.goto("/dashboard/queues/")
    await expect(page.get_by_role("heading", name="This page has broken")).to_be_visible()
    await page.unroute_all()
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("row").filter(has_text="email")).to_be_visible()
    assert shop.complaints == []


async def test_an_age_is_never_cut(shop: Shop) -> None:
    await shop.failed()
    page = await shop.page("operator")
    await page.clock.set_fixed_time(datetime.now(UTC) + timedelta(minutes=58))
    await page.goto("/dashboard/jobs")
    await expect(page.locator("td time").first).to_have_text(re.compile("^5[89] min$"))
    assert await cut(page, "time") == []
    await page.goto("/dashboard/dead-letters")
    await page.get_by_role("group", name="Causes").get_by_role("button").first.click()
    await page.set_viewport_size(PHONE)
    await expect(page.locator("td time").first).to_have_text(re.compile("^5[89] min ago$"))
    assert await cut(page, "time") == []


async def cut(page: Page, what: str) -> list[str]:
    """What does not fit the cell it is in."""
    cells: list[str] = (
        await page.locator("td")
        .filter(has=page.locator(what))
        .evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)")
    )
    return cells


async def test_on_a_phone_what_can_be_done_with_a_row_is_in_sight_and_a_shadow_says_that_there_is_more(
    shop: Shop,
) -> None:
    await shop.failed()
    page = await shop.page("operator")
    await page.set_viewport_size(PHONE)
    places = {"/queues": "Pause", "/workers": "Stop", "/limits": "Open", "/schedules": "Fire now"}
    for path, act in places.items():
        await page.goto(f"/dashboard{path}")
        button = page.locator("td.actions").get_by_role("button", name=act).first
        await expect(button).to_be_visible()
        assert await right_of(button) <= PHONE["width"], path
        await expect(page.locator(".table[data-right]").filter(has=button)).to_have_count(1)
    await page.goto("/dashboard/dead-letters")
    await page.get_by_role("group", name="Causes").get_by_role("button").first.click()
    purge = page.locator("td.actions").get_by_role("button", name="Purge").first
    await expect(purge).to_be_visible()
    assert await right_of(purge) <= PHONE["width"]
    table = page.locator(".table[data-right]:not([data-left])").filter(has=purge)
    await table.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
    await expect(page.locator(".table[data-left]:not([data-right])").filter(has=purge)).to_have_count(1)


async def test_on_a_phone_sentences_are_read_whole_and_a_cause_has_its_buttons_below_its_name(
    shop: Shop,
) -> None:
    await shop.failed()
    page = await shop.page("operator")
    await page.set_viewport_size(PHONE)
    for path, table in (("/alerts", "Rules"), ("/health", "What the doctor found")):
        await page.goto(f"/dashboard{path}")
        told = page.get_by_role("region", name=table).locator("td.wrap")
        await expect(told.first).to_be_visible()
        for each in await told.all():
            assert await right_of(each) <= PHONE["width"], await each.inner_text()
    await page.goto("/dashboard/dead-letters")
    await page.get_by_role("group", name="Causes").get_by_role("button").first.click()
    button = await page.get_by_role("button", name="Recover one…").bounding_box()
    title = await page.locator(".titled h2").bounding_box()
    assert button is not None
    assert title is not None
    assert button["y"] >= title["y"] + title["height"]


async def right_of(found: Locator) -> float:
    box = await found.bounding_box()
    assert box is not None
    return box["x"] + box["width"]
