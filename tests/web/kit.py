"""A shop behind HTTP: its app, those who ask, and clients of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.requests import Request

from penstock import Context, Penstock, Unrecoverable
from penstock.web import Limits, Principal, Scope, make_service
from penstock.web.doorway import Doorway

UNLIMITED = Limits(per_token=None, per_address=None, wrong_tokens=None)
HOOK_SECRET = "a secret of the payment provider"
SOME = frozenset({Scope.ENQUEUE, Scope.READ, Scope.OPERATE})

PEOPLE: dict[str, Principal] = {
    "admin": Principal(name="admin", scopes=frozenset({Scope.ADMIN})),
    "operator": Principal(name="operator", scopes=frozenset({Scope.READ, Scope.OPERATE}), all_owners=True),
    "reader": Principal(name="reader", scopes=frozenset({Scope.READ}), all_owners=True),
    "auditor": Principal(name="auditor", scopes=frozenset({Scope.READ, Scope.PAYLOAD}), all_owners=True),
    "ana": Principal(name="ana", scopes=SOME, owner="ana"),
    "bea": Principal(name="bea", scopes=SOME, owner="bea"),
    "shop": Principal(name="shop", scopes=frozenset({Scope.ENQUEUE}), owner="ana"),
    "orphan": Principal(name="orphan", scopes=SOME),
    "nameless": Principal(name="nameless", scopes=SOME, owner=""),
    "star": Principal(name="star", scopes=SOME, owner="*"),
}


def auth(request: Request) -> Principal | None:
    return PEOPLE.get(request.headers.get("authorization", ""))


def make_shop(url: str, **options: Any) -> Penstock:
    app = Penstock(url, name="shop", **options)
    app.queue("email_queue")
    app.breaker("smtp")

    @app.task(queue="email_queue", name="send", needs="smtp")
    async def send(to: str, copies: int = 1) -> str:
        return f"{copies} to {to}"

    @app.task(queue="email_queue", name="receipt", key="receipt:{order_id}")
    async def receipt(order_id: int) -> None: ...

    @app.task(name="fail")
    async def fail(secret: str = "hunter2") -> None:
        raise Unrecoverable("no such order")

    @app.task(name="report")
    async def report(ctx: Context) -> None:
        await ctx.progress(40, "rendering")

    @app.task(name="paid", on="order.paid")
    async def paid(order: int) -> None: ...

    app.schedule("nightly", report, cron="15 4 * * *", tz="America/Sao_Paulo")
    app.hook("payments", secret=HOOK_SECRET, event="order.paid")
    return app


class Shop:
    """An open app, its service, and a client for each who asks."""

    def __init__(self, app: Penstock, service: FastAPI) -> None:
        self.app = app
        self.service = service
        self._transport = httpx.ASGITransport(service, raise_app_exceptions=False)

    def client(self, who: str | None = "admin", **headers: str) -> httpx.AsyncClient:
        """Somebody's client; None has no name."""
        named = {} if who is None else {"authorization": who}
        return httpx.AsyncClient(
            transport=self._transport, base_url="http://penstock.test", headers={**named, **headers}
        )

    async def ask(self, method: str, path: str, who: str | None = "admin", **more: Any) -> httpx.Response:
        async with self.client(who) as client:
            return await client.request(method, path, **more)

    async def enqueue(self, task: str = "send", who: str = "admin", **body: Any) -> str:
        queue = self.app.tasks[task].queue
        payload = body.pop("payload", {"to": "ana@example.com"} if task == "send" else {})
        answer = await self.ask(
            "POST", f"/jobs/{queue}", who, json={"task": task, "payload": payload, **body}
        )
        assert answer.status_code == 202, answer.text
        job_id: str = answer.json()["job_id"]
        return job_id

    async def work(self) -> None:
        """Run all that is due."""
        await self.app.worker().run(burst=True)

    async def dead(self, who: str = "admin") -> str:
        """A job that has failed for good."""
        job_id = await self.enqueue("fail", who)
        await self.work()
        return job_id


@cache
def service() -> FastAPI:
    """Made once: its routes are the same for every app, and take a while to make."""
    return make_service(make_shop("sqlite:///:memory:"))


@asynccontextmanager
async def open_shop(app: Penstock, **options: Any) -> AsyncIterator[Shop]:
    options = {"auth": auth, "limits": UNLIMITED} | options
    service().state.doorway = Doorway(app, **options)
    async with app:
        yield Shop(app, service())


async def reached(seconds: float, condition: Any) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)
