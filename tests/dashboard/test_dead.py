"""Dead letters: by cause, a canary, then the rest; other arguments; notes; gone for good."""

from __future__ import annotations

import contextlib

import pytest
from playwright.async_api import expect

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
    await page.get_by_role("button", name="Recover one").click()
    canary = page.get_by_label("The canary")
    await expect(canary.get_by_text("It failed again: ")).to_be_visible(timeout=20_000)
    mended.add(HOSTILE)
    await page.get_by_role("button", name="Recover another").click()
    await canary.get_by_role("button", name="Recover the other 3").click(timeout=20_000)
    form = page.get_by_role("form", name="Recover the rest")
    await form.get_by_label("How many a second").fill("100")
    await form.get_by_label("Why?").fill("the bank is back")
    await form.get_by_role("button", name="Recover 3").click()
    await expect(page.get_by_text("3 of 3 recovered.")).to_be_visible(timeout=20_000)
    for job_id in dead:
        letter = await shop.app.ops.dead_letter(job_id)
        assert letter.recovered_as is not None
    (deed, *_) = [
        deed for deed in await shop.app.ops.audit.entries(20) if deed.action == "dead letters recover"
    ]
    assert (deed.why, deed.after["recovered"]) == ("the bank is back", 3)
    assert await page.locator("main img, main svg[onload]").count() == 0
    assert shop.complaints == []


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
    await expect(dialog.get_by_label("amount")).to_have_value(str(BIG))
    await dialog.get_by_label("amount").fill("nine")
    await dialog.get_by_role("button", name="Recover").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("valid integer")
    await accessible(page)
    mended.add("edited too")
    await dialog.get_by_label("amount").fill(str(BIG))
    await dialog.get_by_label("shop").fill("edited too")
    await dialog.get_by_role("button", name="Recover").click()
    await expect(dialog).to_have_count(0)
    letter = await shop.app.ops.dead_letter(job_id)
    assert letter.recovered_as is not None
    made = await shop.app.ops.job(letter.recovered_as)
    assert made.args == {"shop": "edited too", "amount": BIG}


async def test_a_cause_is_purged_by_its_count_and_a_reader_sees_no_action(shop: Shop) -> None:
    await charged(shop, "gone", 1, 2)
    reader = await shop.page("reader", "/dead-letters")
    group = reader.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="gone")
    await group.click()
    await expect(reader.get_by_role("region", name="Dead letters of this cause")).to_be_visible()
    await expect(reader.locator("section section button, section .card button")).to_have_count(0)
    page = await shop.page("operator", "/dead-letters")
    cause = page.get_by_role("group", name="Causes").get_by_role("button").filter(has_text="gone")
    await cause.click()
    await page.get_by_role("button", name="Purge all").click()
    await page.get_by_role("dialog").get_by_role("button", name="Purge 2").click()
    await expect(cause).to_have_count(0)
