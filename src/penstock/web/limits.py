"""What a request may cost before anything is read of it: its size, its pace, its encoding."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.web.refusals import Refusal, too_large

MAX_BODY = 1_048_576  # bytes
BODY_SECONDS = 10.0
MAX_QUERY = 8_192  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the service bears. A rate of None is no limit."""

    max_body: int = MAX_BODY
    body_seconds: float = BODY_SECONDS
    per_token: str | None = "1000/s"  # noqa: S105 - a rate
    per_address: str | None = "2000/s"
    streams: int = 1_000  # of events, open at once
    streams_each: int = 50  # of one token, or of one job that is followed
    wrong_tokens: str | None = "30/m"  # per address


class BodyLimits:
    """Refuses bodies by their length, by counting, by their pace and by their encoding."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refused(scope)
        if refusal is not None:
            await refusal.response()(scope, receive, send)
            return
        await self._app(scope, _Metered(receive, self._limits), send)

    def _refused(self, scope: Scope) -> Refusal | None:
        length = "0"
        for name, value in scope["headers"]:
            if name == b"content-encoding" and value.strip().lower() != b"identity":
                return Refusal(415, "unsupported", "send the body uncompressed", headers=_CLOSE)
            if name == b"content-length":
                length = value.decode("latin-1")
        if not length.isdecimal() or len(length) > 15:
            return Refusal(400, "invalid", "Content-Length is not a number", headers=_CLOSE)
        if int(length) > self._limits.max_body:
            return _too_large(self._limits)
        if len(scope.get("query_string", b"")) > MAX_QUERY:
            return Refusal(400, "invalid", "the query is too long")
        return None


_CLOSE = {"Connection": "close"}  # what is left of the body is not read


def _too_large(limits: Limits) -> Refusal:
    refusal = too_large(f"a body holds at most {limits.max_body:,} bytes; pass a reference to larger content")
    refusal.headers = dict(_CLOSE)
    return refusal


class _Metered:
    """`receive`, as far as the limits allow."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive = receive
        self._limits = limits
        self._size = 0
        self._deadline: float | None = None
        self._whole = False

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._limits.body_seconds
        try:
            async with asyncio.timeout(max(0.0, self._deadline - now)):
                message = await self._receive()
        except TimeoutError:
            raise Refusal(408, "too_slow", "the body came too slowly", headers=_CLOSE) from None
        self._size += len(message.get("body", b""))
        if self._size > self._limits.max_body:
            raise _too_large(self._limits)
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message
