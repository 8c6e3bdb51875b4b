"""The app behind the dashboard that is measured, and its server: every answer says how long it took."""

from __future__ import annotations

import socket
import sys
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench import loops
from penstock import Penstock
from penstock.web import Limits, make_service
from penstock.web.serving import serve

QUEUES = [f"q{n}" for n in range(8)]
TASKS = [f"t{n}" for n in range(40)]


def make(url: str, schema: str) -> Penstock:
    """Eight queues, forty tasks, and one more whose keys have lanes of their own."""
    app = Penstock(url, schema=schema)
    for name in QUEUES:
        app.queue(name)
    app.queue("tenants", rate="100/s", rate_key="{tenant}")
    app.breaker("gateway")
    for n, name in enumerate(TASKS):
        app.task(queue=QUEUES[n % len(QUEUES)], name=name, searchable=["order_id"])(job)
    app.task(queue="tenants", name="by_tenant", needs="gateway")(by_tenant)
    for n in range(50):
        app.schedule(f"schedule-{n}", app.tasks[TASKS[n % len(TASKS)]].call(order_id=n), cron=f"{n} 3 * * *")
    return app


async def job(order_id: int) -> None:
    """Never run here."""


async def by_tenant(tenant: int) -> None:
    """As above."""


class Timed:
    """Tells how long it was until the answer began, when all of it is known."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                took = (time.perf_counter() - began) * 1_000
                MutableHeaders(scope=message)["server-timing"] = f"app;dur={took:.1f}"
            await send(message)

        await self._app(scope, receive, told)


def main() -> None:
    app = make(sys.argv[2], sys.argv[3])
    service = make_service(app, limits=Limits(per_token=None, per_address=None))
    service.add_middleware(Timed)
    loops.run(serve(service, socket.socket(fileno=int(sys.argv[1])), "warning"))


if __name__ == "__main__":
    main()
