"""Every page: nothing that harms, nothing that keeps people out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from dashboard.kit import HOSTILE, Shop

pytestmark = pytest.mark.asyncio(loop_scope="package")

PAGES = [
    "/", "/jobs", "/dead-letters", "/queues", "/queues/email", "/schedules?span=week", "/schedules/nightly",
    "/workers", "/limits?open=parcels%3Edeliver", "/alerts", "/tasks", "/tasks/deliver", "/audit", "/health",
    "/help",
]  # fmt: skip
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
