"""`python -m bench.dashboard`: every page of the dashboard, in a browser, with millions of jobs behind it."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from playwright.async_api import Page, Request, async_playwright
from rich.console import Console
from rich.table import Table

from bench.dashboard_app import make
from bench.dashboard_load import Size, load
from bench.places import Place, open_store
from penstock.engine import JobFilter
from penstock.model.access import Scope
from penstock.model.states import State
from penstock.web.serving import address, listen

LARGE, SMALL = Size(1_000_000, 1_000_000, 20_000), Size(20_000, 20_000, 500)
SERVER_MS, SHOWN_MS = 300.0, 1_000.0  # the bars
QUIET = 0.2  # seconds without a request after which a page has all it asked for
ROUNDS = 3  # visits of each page; the median counts
STREAMS = "/events"

PAGES = [
    "/", "/?span=day", "/?span=week", "/health", "/dead-letters", "/queues", "/schedules",
    "/schedules/schedule-7", "/workers", "/limits", "/alerts", "/tasks", "/tasks/t7", "/audit", "/help",
    "/jobs", "/jobs?q=state:waiting", "/jobs?q=state:failed", "/jobs?q=state:active", "/jobs?q=state:delayed",
    "/jobs?q=task:t7", "/jobs?q=task:by_tenant", "/jobs?q=task:none", "/jobs?q=queue:q3",
    "/jobs?q=queue:none", "/jobs?q=owner:user-70", "/jobs?q=key:order:70", "/jobs?q=task:t7 args.order_id:7",
    "/jobs/{waiting}", "/jobs/{failed}",
]  # fmt: skip


class Visit(NamedTuple):
    path: str
    shown: float  # ms until all was there that the page had asked for
    calls: dict[str, float]  # of the API: ms at the server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows")
    parser.add_argument("--page", action="append", help="only this one; give it again for more")
    given = parser.parse_args()
    console = Console()
    store = open_store("postgres")
    try:
        with store.place() as place:
            began = time.monotonic()
            asyncio.run(load(place, SMALL if given.quick else LARGE))
            console.print(f"[dim]loaded in {time.monotonic() - began:.0f} s[/]")
            visits = asyncio.run(_measure(place, given.page or PAGES))
    finally:
        store.close()
    sys.exit(0 if _show(visits, console) else 1)


async def _measure(place: Place, paths: list[str]) -> list[Visit]:
    app = make(place.url, place.schema)
    async with app:
        token = (await app.ops.tokens.create("bench", [Scope.ADMIN])).text
        jobs = {
            state.value: (await app.ops.jobs(JobFilter(state=state), 1))[0].id
            for state in (State.WAITING, State.FAILED)
        }
    async with _served(place) as url, _page(url, token) as page:
        watching = _Watching(page)
        return [await _visits(watching, url, path.format(**jobs)) for path in paths]


@asynccontextmanager
async def _served(place: Place) -> AsyncIterator[str]:
    door = listen("127.0.0.1", 0)
    command = [sys.executable, "-m", "bench.dashboard_app", str(door.fileno()), place.url, place.schema]
    server = subprocess.Popen(command, pass_fds=(door.fileno(),))
    try:
        yield address(door)
    finally:
        server.terminate()
        server.wait(20)
        door.close()


@asynccontextmanager
async def _page(url: str, token: str) -> AsyncIterator[Page]:
    """A browser that is signed in."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport={"width": 1280, "height": 900})
        await page.goto(f"{url}/dashboard/")
        await page.get_by_role("textbox", name="Token").fill(token)
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("navigation", name="Pages", exact=True).wait_for()
        yield page
        await browser.close()


class _Watching:
    """What a page asks for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.calls: dict[str, float] = {}
        self.last = 0.0  # when the latest answer was there
        self._open: set[Request] = set()
        page.on("request", lambda request: self._open.add(request) if _counts(request) else None)
        page.on("requestfailed", self._gone)
        page.on("requestfinished", lambda request: asyncio.ensure_future(self._told(request)))

    async def visit(self, url: str, path: str) -> Visit:
        self.calls = {}
        began = self.last = time.perf_counter()
        await self.page.goto(f"{url}/dashboard{path}")
        await self.page.locator("main h1").first.wait_for()
        shown = time.perf_counter()
        while self._open or time.perf_counter() - self.last < QUIET:
            await asyncio.sleep(0.01)
        return Visit(path, (max(shown, self.last) - began) * 1_000, self.calls)

    def _gone(self, request: Request) -> None:
        self._open.discard(request)

    async def _told(self, request: Request) -> None:
        if not _counts(request):
            return
        response = await request.response()
        self.last = time.perf_counter()
        self._open.discard(request)
        if response is not None and "/dashboard" not in request.url:
            timing = (await response.all_headers()).get("server-timing", "dur=0")
            name = request.url.partition("//")[2].partition("/")[2]
            self.calls[f"/{name}"] = float(timing.rpartition("=")[2])


def _counts(request: Request) -> bool:
    return not request.url.partition("?")[0].endswith(STREAMS)


async def _visits(watching: _Watching, url: str, path: str) -> Visit:
    visits = [await watching.visit(url, path) for _ in range(ROUNDS)]
    return sorted(visits, key=lambda visit: visit.shown)[ROUNDS // 2]


def _show(visits: list[Visit], console: Console) -> bool:
    title = f"bars: {SERVER_MS:.0f} ms for each call at the server, {SHOWN_MS:.0f} ms until a page is shown"
    table = Table(title=title, title_justify="left")
    for column in ("page", "shown, ms", "calls", "slowest call", "at the server, ms", ""):
        table.add_column(column, justify="right" if "ms" in column else "left")
    all_hold = True
    for visit in visits:
        call, took = max(visit.calls.items(), key=lambda item: item[1], default=("", 0.0))
        holds = took <= SERVER_MS and visit.shown <= SHOWN_MS
        all_hold &= holds
        word = "[green]holds[/]" if holds else "[red]misses[/]"
        table.add_row(visit.path, f"{visit.shown:.0f}", str(len(visit.calls)), call, f"{took:.0f}", word)
    console.print(table)
    return all_hold


if __name__ == "__main__":
    main()
