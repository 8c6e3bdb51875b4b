"""Every route says what it needs, and nobody comes past it: a route that says nothing cannot be made."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from penstock.model.access import Scope
from penstock.web.bodies import StrictRequest
from penstock.web.promptly import ANSWER_WITHIN, promptly
from penstock.web.queries import check_query, declared

if TYPE_CHECKING:
    from penstock.web.doorway import Doorway

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Need(NamedTuple):
    """What a route needs. Without a scope it is open to all: it must show nothing, or check by itself."""

    scope: Scope | None
    everything: bool = False  # only for those who see the jobs of all owners
    follow: bool = False  # or a follow token of the job that the path names
    slow: bool = False  # may take its time: how long depends on how much it is to do
    free: str | None = None  # query parameters that begin so may have any name; "" is all of them


def needs(
    scope: Scope | None,
    *,
    everything: bool = False,
    follow: bool = False,
    slow: bool = False,
    free: str | None = None,
) -> Callable[[Endpoint], Endpoint]:
    """Say what an endpoint needs."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.__need__ = Need(scope, everything, follow, slow, free)  # type: ignore[attr-defined]
        return endpoint

    return mark


def need_of(endpoint: Callable[..., Any]) -> Need:
    """What it says; AttributeError where it says nothing."""
    need: Need = endpoint.__need__  # type: ignore[attr-defined]
    return need


class GuardedRoute(APIRoute):
    """Lets nobody in who may not, before a byte of the body is read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.need = need_of(endpoint)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        need = self.need
        known = declared(self.dependant)

        async def guarded(request: Request) -> Response:
            doorway: Doorway = request.app.state.doorway
            began = time.monotonic()
            await doorway.admit(request, need)
            strict = StrictRequest(request.scope, request.receive)
            check_query(strict, known, need.free)
            if need.slow:
                return await handle(strict)
            took = time.monotonic() - began
            changes = request.method not in {"GET", "HEAD"}
            if changes:
                await strict.body()  # which has a bound of its own
            # What has begun to change something goes on: it is written down that it was begun.
            return await promptly(ANSWER_WITHIN - took, handle(strict), give_up=not changes)

        return guarded
