"""Every route says what it needs, and nobody comes past it: a route that says nothing cannot be made."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from penstock.model.access import Scope
from penstock.web.bodies import StrictRequest

if TYPE_CHECKING:
    from penstock.web.doorway import Doorway

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Need(NamedTuple):
    """What a route needs. Without a scope it is open to all: it must show nothing, or check by itself."""

    scope: Scope | None
    everything: bool = False  # only for those who see the jobs of all owners


def needs(scope: Scope | None, *, everything: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Say what an endpoint needs."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.__need__ = Need(scope, everything)  # type: ignore[attr-defined]
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

        async def guarded(request: Request) -> Response:
            doorway: Doorway = request.app.state.doorway
            await doorway.admit(request, need)
            return await handle(StrictRequest(request.scope, request.receive))

        return guarded
