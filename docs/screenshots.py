"""`python -m docs.screenshots`: every screen of the dashboard, light and dark, taken from a running demo."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

FOLDER = Path(__file__).parent / "images" / "dashboard"
MOST = 4 * 1024 * 1024  # bytes of all pictures
SECONDS = 100.0  # until there is something to see on every page
DESK, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 800}
SCREENS = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs/{failed}",
    "flow": "/jobs/{flow}",
    "dead-letters": "/dead-letters",
    "queues": "/queues",
    "schedules": "/schedules",
    "schedule": "/schedules/backup-check",
    "workers": "/workers",
    "limits": "/limits",
    "alerts": "/alerts",
    "tasks": "/tasks",
    "task": "/tasks/charge_card",
    "audit": "/audit",
    "help": "/help",
}
ON_A_PHONE = ("overview", "jobs", "dead-letters")


def main() -> None:
    with demo() as link:
        asyncio.run(_take_all(link))
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(list(FOLDER.iterdir()))} pictures, {size / 1024:.0f} KB")
    if size > MOST:
        sys.exit(f"that is more than {MOST // 1024} KB")


@contextmanager
def demo() -> Iterator[str]:
    """A demo, and the link that signs in to its dashboard."""
    command = [sys.executable, "-m", "penstock", "demo", "--port", "0", "--seconds", "900"]
    running = subprocess.Popen(  # noqa: S603 - our own
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert running.stdout is not None
    try:
        said = iter(running.stdout.readline, "")
        yield next(line for line in said if line.startswith("Dashboard: ")).partition(" ")[2].strip()
    finally:
        running.terminate()
        running.communicate(timeout=30)


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
        for theme in ("light", "dark"):
            await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            for name, path in SCREENS.items():
                await _take(page, path.format(**jobs), f"{name}-{theme}")
            await page.set_viewport_size(PHONE)
            for name in ON_A_PHONE:
                await _take(page, SCREENS[name], f"{name}-phone-{theme}")
            await page.set_viewport_size(DESK)


async def _take(page: Page, path: str, name: str) -> None:
    await page.goto(f"/dashboard{path}")
    await page.locator("main h1").first.wait_for()
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
            args=["--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
        )
        yield browser
        await browser.close()


if __name__ == "__main__":
    main()
