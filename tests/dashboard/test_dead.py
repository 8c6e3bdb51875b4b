"""Dead letters: by cause, a canary, then the rest; other arguments; notes; gone for good."""

from __future__ import annotations

import asyncio
import contextlib
import re

import pytest
from playwright.async_api import Route, expect

from dashboard.jobs_kit import HOSTILE, mended
from dashboard.kit import Shop
from dashboard.test_jobs import accessible, fits_a_phone

BIG = 1234567890123456789  # a number that JavaScript does not have
pytestmark = pytest.mark.asyncio(loop_scope="package")


async def charged(shop: Shop, name: str, *amounts: int) -> list[str]:
    jobs = [await shop.app.tasks["charge"].aenqueue(shop=name, amount=amount) for amount in amounts]
    for job in jobs:
        with contextlib.suppress(Exception):
            await job.aresult(timeout=20)
    return [job.id for job in jobs]


async def test_one_is_recovered_and_watched_then_the_rest_at_a_rate_and_people_leave_notes(
    shop: Shop,
) -> None:
    dead = await charged(shop, HOSTILE, 1, 22, 333, 4)
    page = await shop.page("operator", "/dead-letters")
    cause = page.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="onerror")
    await expect(cause).to_contain_text("4")
    await cause.click()
    await expect(
        page.get_by_role("heading", name="charge: Unrecoverable: the bank says no to …")
    ).to_be_visible()
    await page.get_by_label("A note on this cause").fill(f"the bank was down {HOSTILE}")
    await page.get_by_role("button", name="Add").click()
    await expect(page.get_by_role("region", name="Notes on this cause")).to_contain_text(f"down {HOSTILE}")
    await accessible(page)
    await fits_a_phone(page)
    dialog = page.get_by_role("dialog")
    await page.get_by_role("button", name="Recover one").click()
    await dialog.get_by_role("button", name="Recover it").click()
    canary = page.get_by_label("The canary")
    await expect(canary.get_by_text("It failed again: ")).to_be_visible(timeout=20_000)
    mended.add(HOSTILE)
    # another one: not what the canary has left
    await page.get_by_role("button", name="Recover another").click()
    await expect(dialog.locator(".command code")).to_have_text(f"penstock dlq recover {dead[2]}")
    await dialog.get_by_role("button", name="Recover it").click()
    await canary.get_by_role("button", name="Recover the other 3").click(timeout=20_000)
    form = page.get_by_role("form", name="Recover the rest")
    await form.get_by_label("How many a second").fill("100")
    await form.get_by_label("Why?").fill("the bank is back")
    await form.get_by_role("button", name="Recover 3").click()
    await expect(page.get_by_text("3 of 3 recovered.")).to_be_visible(timeout=20_000)
    # its cause is gone: that is said, what was done stays, and no other cause takes its place
    await expect(cause).to_have_count(0)
    await expect(page.get_by_text("Nothing is left here; 5 recovered.")).to_be_visible()
    await expect(page.get_by_text("3 of 3 recovered.")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("heading", name="This cause is gone")).to_be_visible()
    await expect(page.get_by_text("Nothing is left here; 5 recovered. It was charge")).to_be_visible()
    for job_id in dead:
        letter = await shop.app.ops.dead_letter(job_id)
        assert letter.recovered_as is not None
    (deed, *_) = [
        deed for deed in await shop.app.ops.audit.entries(20) if deed.action == "dead letters recover"
    ]
    assert (deed.why, deed.after["recovered"]) == ("the bank is back", 3)
    assert await page.locator("main img, main svg[onload]").count() == 0
    assert shop.complaints == []


async def test_a_canary_is_never_what_an_earlier_one_has_left_while_there_are_others(shop: Shop) -> None:
    dead = await charged(shop, "thrice", 1, 2)
    page = await shop.page("operator", "/dead-letters")
    await page.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="thrice").click()
    dialog = page.get_by_role("dialog")
    for name, tried in (("Recover one", dead[1]), ("Recover another", dead[0])):
        await page.get_by_role("button", name=name).click()
        await expect(dialog.locator(".command code")).to_have_text(f"penstock dlq recover {tried}")
        await dialog.get_by_role("button", name="Recover it").click()
        await expect(dialog).to_have_count(0)
        await expect(page.get_by_text("It failed again: ")).to_be_visible()
    await page.get_by_role("button", name="Recover another").click()
    await expect(dialog).to_contain_text("All that are left have come since the first one was tried.")


async def test_arguments_are_mended_field_by_field_before_a_job_is_recovered(shop: Shop) -> None:
    (job_id,) = await charged(shop, "edited", BIG)
    page = await shop.page("operator", f"/jobs/{job_id}")
    await page.get_by_label("A note on this dead letter").fill("ask Bea")
    await page.get_by_role("button", name="Add").click()
    await expect(page.get_by_text("ask Bea")).to_be_visible()
    await page.goto("/dashboard/dead-letters")
    await page.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="edited").click()
    row = page.get_by_role("row").filter(has=page.locator(f'a[href$="{job_id}"]'))
    await row.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("textbox", name="amount")).to_have_value(str(BIG))
    await dialog.get_by_role("textbox", name="amount").fill("nine")
    await dialog.get_by_role("button", name="Recover", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_contain_text("valid integer")
    await accessible(page)
    mended.add("edited too")
    await dialog.get_by_role("textbox", name="amount").fill(str(BIG))
    await dialog.get_by_role("textbox", name="shop").fill("edited too")
    told = f"""penstock dlq recover {job_id} --args '{{"shop":"edited too","amount":{BIG}}}'"""
    await expect(dialog.locator(".command code")).to_have_text(told)
    await dialog.get_by_role("button", name="Recover", exact=True).click()
    await expect(dialog).to_have_count(0)
    letter = await shop.app.ops.dead_letter(job_id)
    assert letter.recovered_as is not None
    made = await shop.app.ops.job(letter.recovered_as)
    assert made.args == {"shop": "edited too", "amount": BIG}


async def test_a_cause_is_purged_by_its_count_and_a_reader_sees_no_action(shop: Shop) -> None:
    dead = await charged(shop, "gone", 1, 2)
    reader = await shop.page("reader", "/dead-letters")
    group = reader.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="gone")
    await group.click()
    await expect(reader.get_by_role("region", name="Dead letters of this cause")).to_be_visible()
    await expect(reader.locator("section section button, section .card button")).to_have_count(0)
    # on a phone: a list, or one of it
    await reader.set_viewport_size({"width": 390, "height": 800})
    await expect(group).to_be_hidden()
    await reader.get_by_role("button", name="All causes").click()
    await expect(reader.get_by_role("region", name="Dead letters of this cause")).to_have_count(0)
    await group.click()
    await expect(reader.get_by_role("heading", name="charge")).to_be_in_viewport()
    page = await shop.page("operator", "/dead-letters")
    cause = page.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="gone")
    await cause.click()
    await page.get_by_role("button", name="Purge all").click()
    told = page.get_by_role("dialog").locator(".command code")
    await expect(told).to_have_text(f"penstock dlq purge {dead[1]}; penstock dlq purge {dead[0]}")
    await page.get_by_role("dialog").get_by_role("button", name="Purge 2").click()
    await expect(cause).to_have_count(0)
    # who looks at it meanwhile is told, and not shown another
    await charged(shop, "another", 1)
    await expect(page.get_by_text("Nothing is left here. What there was has been purged")).to_be_visible()
    await expect(reader.get_by_text("Nothing is left here.")).to_be_visible()
    await expect(reader.get_by_role("heading", name="no to … gone")).to_be_visible()


async def test_a_recovery_is_stopped_or_handed_over_and_a_page_that_was_left_in_the_middle_says_so(
    shop: Shop,
) -> None:
    dead = await charged(shop, "slowly", 1, 2, 3, 4, 5, 6)
    mended.add("slowly")
    page = await shop.page("operator", "/dead-letters")
    await page.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="slowly").click()
    await page.get_by_role("button", name="Recover all").click()
    form = page.get_by_role("form", name="Recover the rest")
    await form.get_by_label("How many a second").fill("1")
    await form.get_by_role("button", name="Recover 6").click()
    await expect(page.get_by_text("1 of 6 recovered…")).to_be_visible()
    await expect(page).to_have_url(re.compile("running=1"))
    page.on("dialog", lambda dialog: dialog.accept())
    await page.reload()
    await expect(page.get_by_text("A recovery at 1 a second was begun here")).to_be_visible()
    await page.get_by_role("button", name="Go on").click()
    await form.get_by_label("How many a second").fill("1")
    await form.get_by_role("button", name="Recover ").click()
    recovery = page.get_by_role("group", name="The recovery")
    await recovery.get_by_role("button", name="Stop").click()
    await expect(recovery).to_contain_text("Stopped: the others are as they were.")
    await recovery.get_by_role("button", name="Close").click()
    await page.get_by_role("button", name="Recover all").click()
    await form.get_by_label("How many a second").fill("1")
    await form.get_by_role("button", name="Recover ").click()
    await page.get_by_role("button", name="Hand over to the service").click()
    await expect(page.get_by_text(re.compile(r"(\d) of \1 recovered\. "))).to_be_visible()
    letters = [await shop.app.ops.dead_letter(job_id) for job_id in dead]
    assert all(letter.recovered_as for letter in letters)
    assert shop.complaints == []


async def test_a_recovery_goes_on_while_other_pages_are_looked_at_and_nothing_else_is_done_to_its_cause(
    shop: Shop,
) -> None:
    dead = await charged(shop, "meanwhile", 1, 2, 3)
    mended.add("meanwhile")
    page = await shop.page("operator", "/dead-letters")
    first, others = asyncio.Event(), asyncio.Event()

    async def one_then_when_told(route: Route) -> None:
        if first.is_set():
            await others.wait()
        first.set()
        await route.continue_()

    await page.route("**/dead-letters/recover", one_then_when_told)
    cause = page.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="meanwhile")
    await cause.click()
    await page.get_by_role("button", name="Recover all").click()
    form = page.get_by_role("form", name="Recover the rest")
    await form.get_by_label("How many a second").fill("1")
    await form.get_by_role("button", name="Recover 3").click()
    for name in ("Recover one", "Recover all", "Purge all"):
        button = page.get_by_role("button", name=name)
        await expect(button).to_be_disabled()
        await expect(button).to_have_attribute("title", re.compile("are being recovered"))
    await page.get_by_role("link", name="Queues").first.click()
    await expect(page.get_by_text("The recovery goes on while this tab is open.")).to_be_visible()
    async with page.expect_event("dialog") as asked:
        await page.close(run_before_unload=True)
    assert (await asked.value).type == "beforeunload"
    await (await asked.value).dismiss()
    await page.get_by_role("link", name="Dead letters").first.click()
    await cause.click()
    await expect(page.get_by_role("group", name="The recovery")).to_contain_text("1 of 3 recovered…")
    await expect(page).to_have_url(re.compile("running=1"))
    await page.get_by_role("link", name="Queues").first.click()
    await expect(page.get_by_role("heading", name="Queues", level=1)).to_be_visible()
    others.set()
    await expect(page.get_by_text(re.compile("meanwhile: 3 of 3 recovered.$"))).to_be_visible()
    letters = [await shop.app.ops.dead_letter(job_id) for job_id in dead]
    assert all(letter.recovered_as for letter in letters)
    assert shop.complaints == []
