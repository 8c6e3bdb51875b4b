"""The dashboard inside an app of somebody's own, below a prefix."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from dashboard.kit import Shop, serving

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_below_a_prefix_pages_actions_and_live_events_work_and_cookies_stay_there(shop: Shop) -> None:
    async with serving(shop.app, "/ops/penstock") as url:
        context = await shop.browser.new_context()
        page = await context.new_page()
        page.on("pageerror", lambda error: shop.complaints.append(str(error)))
        await page.goto(f"{url}/dashboard/queues#enter={await shop.app.ops.sessions.invite('ana')}")
        row = page.get_by_role("row").filter(has_text="email")
        await row.get_by_role("button", name="Pause").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Pause", exact=True).click()
        await expect(row.get_by_text("paused")).to_be_visible()
        await shop.app.ops.resume("email")
        await page.get_by_role("link", name="Jobs").first.click()
        await expect(page).to_have_url(re.compile("/ops/penstock/dashboard/jobs$"))
        await page.goto(f"{url}/dashboard/jobs?q=key:seen-below")
        await expect(page.get_by_text("No job matches")).to_be_visible()
        await shop.app.tasks["send_receipt"].using(key="seen-below").aenqueue(order_id=78)
        await expect(page.locator("main .state.completed")).to_be_visible(timeout=10_000)
        assert [cookie["path"] for cookie in await context.cookies()] == ["/ops/penstock"]
        await context.close()
    assert shop.complaints == []
