"""A shop with a worker, the service before it on a real socket, and a browser that looks at it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import uvicorn
from playwright.async_api import Browser, Page, async_playwright, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from dashboard.jobs_kit import add_jobs
from penstock import Context, Penstock, Unrecoverable
from penstock.model.access import Scope
from penstock.web import Limits, make_service

expect.set_options(timeout=20_000)  # a machine that runs many tests at once is slow, not wrong
UNLIMITED = Limits(per_token=None, per_address=None, wrong_tokens=None)
HOSTILE = "<img src=x onerror=alert(1)></script><svg onload=alert(1)>\u202ejavascript:alert(1)"


def make_shop(folder: Path) -> Penstock:
    app = Penstock(f"sqlite:///{folder / 'shop.db'}", name="shop")
    app.queue("email")
    app.breaker("smtp")

    @app.task(queue="email", name="send_receipt", needs="smtp", searchable="order_id")
    async def send_receipt(ctx: Context, order_id: int, to: str = "ana@example.com") -> str:
        """Sends the receipt of an order."""
        await ctx.progress(50, "writing")
        if order_id < 0:
            raise Unrecoverable(f"there is no order {order_id}")
        return f"sent to {to}"

    @app.task(name="hostile")
    async def hostile(text: str) -> str:
        raise Unrecoverable(text)

    add_jobs(app)
    app.queue("parcels", max_active=50)
    app.queue("media")

    @app.task(queue="parcels", name="deliver", concurrency=1, rate_key="{tenant}")
    async def deliver(
        tenant: str, how: Literal["post", "courier"], express: bool = False, lines: list[int] | None = None
    ) -> None:
        """Delivers a parcel."""

    berlin: Any = {"tz": "Europe/Berlin"}
    app.schedule("gather", send_receipt.call(order_id=2), cron="30 2 * * *", **berlin)
    app.schedule("publish", send_receipt.call(order_id=3), cron="0 4 * * *", after=["gather"], **berlin)
    app.schedule("nightly", send_receipt.call(order_id=1), cron="0 3 * * *", tz="America/Sao_Paulo")
    return app


@dataclass
class Shop:
    app: Penstock
    url: str
    tokens: dict[str, str]
    browser: Browser
    complaints: list[str] = field(default_factory=list)  # of the browser: errors, and what the policy refused

    async def page(self, who: str | None = "operator", path: str = "/") -> Page:
        """A page in a browser of its own, signed in as somebody."""
        context = await self.browser.new_context(base_url=self.url, viewport={"width": 1280, "height": 900})
        page = await context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self._console(said.type, said.text))
        await page.goto(f"/dashboard{path}")
        if who is not None:
            await page.get_by_role("textbox", name="Token").fill(self.tokens[who])
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_role("navigation", name="Pages", exact=True)).to_be_visible()
        return page

    def _console(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 401" not in text:  # nobody is signed in yet
            self.complaints.append(text)

    async def failed(self, order_id: int = -1) -> str:
        """The id of a job that has failed for good."""
        job = await self.app.tasks["send_receipt"].aenqueue(order_id=order_id)
        with contextlib.suppress(Exception):
            await job.aresult(timeout=20)
        return job.id


@asynccontextmanager
async def open_shop(folder: Path) -> AsyncIterator[Shop]:
    app = make_shop(folder)
    async with app, serving(app) as url, browser() as chromium:
        working = asyncio.create_task(app.worker(slots=4).run())
        try:
            yield Shop(app, url, await tokens(app), chromium)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def tokens(app: Penstock) -> dict[str, str]:
    people = {
        "admin": ({Scope.ADMIN}, None),
        "operator": ({Scope.READ, Scope.OPERATE, Scope.ENQUEUE, Scope.PAYLOAD}, "*"),
        "reader": ({Scope.READ}, "*"),
    }
    return {
        name: (await app.ops.tokens.create(name, scopes, owner)).text
        for name, (scopes, owner) in people.items()
    }


@asynccontextmanager
async def serving(app: Penstock, prefix: str = "") -> AsyncIterator[str]:
    """The service on a socket; with a prefix, mounted in an app of somebody's own."""
    service = make_service(app, limits=UNLIMITED)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            Starlette(routes=[Mount(prefix, service)]) if prefix else service,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}{prefix}"
        finally:
            server.should_exit = True
            await running


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield chromium
        finally:
            await chromium.close()
