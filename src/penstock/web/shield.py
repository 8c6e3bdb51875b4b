"""The outermost layer: security headers on every answer, and no error that shows itself."""

from __future__ import annotations

import logging

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.web.refusals import internal

log = logging.getLogger("penstock.web")

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Shield:
    """Adds the headers where an answer does not have its own, and answers 500 where there is none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *[pair for pair in _RAW if pair[0] not in own]]
            await send(message)

        try:
            await self._app(scope, receive, with_headers)
        except ClientDisconnect:
            log.debug("a client went before it had sent all of its request")
        except Exception:
            log.exception("a request failed")
            if started:
                raise
            await internal().response()(scope, receive, with_headers)
