"""`python -m docs.screenshots`: every screen of the dashboard, light and dark, taken from a running demo."""

from __future__ import annotations

import asyncio
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, async_playwright

from penstock import Penstock
from penstock.engine import Sample
from penstock.model.clock import FakeClock
from penstock.model.outcome import Completed, Retried
from penstock.telemetry.tally import Tally

FOLDER = Path(__file__).parent / "images" / "dashboard"
MOST = 4 * 1024 * 1024  # bytes of all pictures
SECONDS = 100.0  # until there is something to see on every page
DESK: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 800}
SCREENS = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs/{failed}",
    "flow": "/jobs/{flow}",
    "dead-letters": "/dead-letters",
    "queues": "/queues",
    "queue": "/queues/billing",
    "schedules": "/schedules",
    "schedule": "/schedules/backup-check",
    "workers": "/workers",
    "limits": "/limits",
    "alerts": "/alerts",
    "tasks": "/tasks",
    "task": "/tasks/charge_card",
    "audit": "/audit",
    "health": "/health",
    "help": "/help",
}
TABS = {"flow": "Flow"}  # that are opened first
ON_A_PHONE = ("overview", "jobs", "dead-letters")


# Runs in a minute, by queue and task: those of a shop that has been open for an hour.
USUAL = {
    ("email", "send_receipt"): 90,
    ("email", "sync_customer"): 12,
    ("media", "render_invoice"): 10,
    ("billing", "charge_card"): 14,
    ("billing", "update_stock"): 16,
    ("messages", "send_message"): 20,
    ("models", "describe_product"): 8,
    ("reports", "count_visitors"): 6,
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-screenshots-") as folder, demo(folder) as link:
        (file,) = Path(folder).glob("penstock-demo-*/demo.db")
        asyncio.run(_fill_the_hour(f"sqlite:///{file}"))
        asyncio.run(_take_all(link))
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(list(FOLDER.iterdir()))} pictures, {size / 1024:.0f} KB")
    if size > MOST:
        sys.exit(f"that is more than {MOST // 1024} KB")


@contextmanager
def demo(folder: str) -> Iterator[str]:
    """A demo in this folder, and the link that signs in to its dashboard."""
    command = [sys.executable, "-m", "penstock", "demo", "--port", "0", "--seconds", "900"]
    running = subprocess.Popen(  # noqa: S603 - our own
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1", "TMPDIR": folder}
    )
    assert running.stdout is not None
    try:
        said = iter(running.stdout.readline, "")
        yield next(line for line in said if line.startswith("Dashboard: ")).partition(" ")[2].strip()
    finally:
        running.terminate()
        running.communicate(timeout=30)


async def _fill_the_hour(url: str) -> None:
    """What workers would have counted before the demo began: charts of two minutes show little."""
    dice, clock = random.Random(7), FakeClock(datetime.now(UTC) - timedelta(minutes=59))
    app = Penstock(url)
    app.move_to(url, clock)
    async with app:
        for minute in range(59):
            rush = 1 + 0.4 * math.sin(minute / 9) + dice.uniform(-0.1, 0.1)
            await app.engine.count([_counted(*names, round(n * rush), dice) for names, n in USUAL.items()])
            clock.advance(60)


def _counted(queue: str, task: str, runs: int, dice: random.Random) -> Sample:
    tally = Tally()
    for _ in range(runs):
        wait, took = dice.lognormvariate(-4, 1.2), dice.lognormvariate(-2.5 if queue != "media" else 0.5, 0.7)
        outcome = Retried(delay=1, error=None) if dice.random() < 0.03 else Completed()
        tally.run(queue, task, outcome, wait, took)
    return tally.take(1)[0]


async def _take_all(link: str) -> None:
    await asyncio.sleep(SECONDS)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    url = link.partition("/dashboard/")[0]
    async with _browser() as browser:
        context = await browser.new_context(base_url=url, viewport=DESK)
        page = await context.new_page()
        await page.goto(link)
        await page.locator("main h1").first.wait_for()
        jobs = {
            "failed": await _job(context, "charge_card", "failed"),
            "flow": await _job(context, "mail_report"),
        }
        stranger = await (await browser.new_context(base_url=url, viewport=DESK)).new_page()
        for theme in ("light", "dark"):
            await stranger.emulate_media(color_scheme=theme, reduced_motion="reduce")
            await _take(stranger, "/", f"sign-in-{theme}")
            await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            for name, path in SCREENS.items():
                await _take(page, path.format(**jobs), f"{name}-{theme}", TABS.get(name))
            await page.set_viewport_size(PHONE)
            for name in ON_A_PHONE:
                await _take(page, SCREENS[name], f"{name}-phone-{theme}")
            await page.set_viewport_size(DESK)


async def _take(page: Page, path: str, name: str, tab: str | None = None) -> None:
    await page.goto(f"/dashboard{path}")
    await page.locator("main h1").first.wait_for()
    if tab is not None:
        await page.get_by_role("tab", name=tab).click()
    await page.wait_for_timeout(1_200)  # charts are drawn when their numbers have come
    await page.screenshot(path=FOLDER / f"{name}.png", animations="disabled", caret="hide")


async def _job(context: BrowserContext, task: str, state: str = "completed") -> str:
    """The latest job of a task."""
    found = await (
        await context.request.get("/jobs", params={"task": task, "state": state, "limit": "1"})
    ).json()
    return str(found["jobs"][0]["job_id"])


@asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
            ignore_default_args=["--hide-scrollbars"],  # what is stray is to be seen
        )
        yield browser
        await browser.close()


if __name__ == "__main__":
    main()
