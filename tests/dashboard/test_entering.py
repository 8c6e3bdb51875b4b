"""Who comes in, what they see, and how it ends."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect

from dashboard.kit import Shop
from penstock.model.access import Scope

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_without_a_valid_token_nothing_is_shown(shop: Shop) -> None:
    page = await shop.page(who=None)
    await expect(page.get_by_text("penstock token create")).to_be_visible()
    await page.get_by_role("textbox", name="Token").fill("pst_0123456789abcdef_" + "x" * 43)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("a valid token is needed")
    blind = (await shop.app.ops.tokens.create("blind", {Scope.OPERATE}, "*")).text
    await page.get_by_role("textbox", name="Token").fill(blind)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("lacks the scope read: it has operate")


async def test_a_link_from_the_terminal_signs_one_browser_in(shop: Shop) -> None:
    link = f"/#enter={await shop.app.ops.sessions.invite('ana')}"
    page = await shop.page(who=None, path=link)
    await expect(page.get_by_text("local:ana")).to_be_visible()
    assert page.url == f"{shop.url}/dashboard/", "it is not kept in the address"
    await page.reload()
    await expect(page.get_by_text("local:ana")).to_be_visible()
    other = await shop.page(who=None, path=link)
    await expect(other.get_by_text("This link has been used already")).to_be_visible()


async def test_signing_out_ends_the_session_for_good(shop: Shop) -> None:
    page = await shop.page("reader")
    (cookie,) = await page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("textbox", name="Token")).to_be_visible()
    await page.context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": shop.url}])
    await page.reload()
    await expect(page.get_by_role("textbox", name="Token")).to_be_visible()


async def test_a_session_ends_with_its_token_and_every_tab_says_so_and_comes_back_to_its_place(
    shop: Shop,
) -> None:
    made = await shop.app.ops.tokens.create("guest", {Scope.READ}, "*")
    shop.tokens["guest"] = made.text
    page = await shop.page("guest", "/queues/email?span=day")
    other = await page.context.new_page()
    await other.goto("/dashboard/health")
    await expect(other.get_by_role("heading", name="Health")).to_be_visible()
    await shop.app.ops.tokens.revoke(made.token.id)
    async with asyncio.timeout(5):  # the promise
        while (await page.request.get("/queues")).status != 401:
            await asyncio.sleep(0.1)
    for tab in (page, other):
        await expect(tab.get_by_role("status")).to_contain_text("Your session has ended")
        await expect(tab.locator("main table")).to_have_count(0)
    await page.get_by_role("textbox", name="Token").fill(shop.tokens["reader"])
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="email", level=1)).to_be_visible()
    assert page.url.endswith("/queues/email?span=day")
    await expect(other.get_by_role("heading", name="Health")).to_be_visible()
    await other.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("status")).to_contain_text("signed out in another tab")
    await expect(page).to_have_title("Sign in · Penstock")
    assert shop.complaints == []


READ = [
    "/", "/queues", "/queues/email", "/jobs", "/dead-letters", "/schedules", "/schedules/nightly", "/workers",
    "/limits", "/tasks/send_receipt", "/alerts", "/health",
]  # fmt: skip


async def test_a_reader_sees_no_action(shop: Shop) -> None:
    await shop.failed()
    page = await shop.page("reader")
    acts = re.compile("Pause|Resume|Retry|Cancel|Recover|Purge|Fire|Open|Close|Enqueue|Run now|Quiet|Stop$")
    for path in READ:
        await page.goto(f"/dashboard{path}")
        await expect(page.locator("main table, main .card").first).to_be_visible()
        await expect(page.locator("main").get_by_role("button", name=acts)).to_have_count(0)
    await page.goto("/dashboard/audit")
    await expect(page.get_by_text("for administrators")).to_be_visible()


async def test_keys_search_and_walk_through_a_list(shop: Shop) -> None:
    job_id = await shop.failed()
    page = await shop.page("operator", "/jobs?q=state:failed")
    await expect(page.get_by_title(job_id)).to_be_visible()
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox").or_(page.locator("#search"))).to_be_focused()
    await page.keyboard.press("Escape")
    await page.keyboard.press("j")
    await page.keyboard.press("o")
    await expect(page).to_have_url(re.compile("/dashboard/jobs/[0-9a-f-]{36}$"))
    await page.keyboard.press("?")
    await expect(page.get_by_role("heading", name="Keys and search")).to_be_visible()
