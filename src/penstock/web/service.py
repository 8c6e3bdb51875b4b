"""Puts the service together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from penstock.app import Penstock
from penstock.model.errors import PenstockError
from penstock.web import dashboard, refusals
from penstock.web.doorway import Authenticate, Doorway
from penstock.web.express import Express
from penstock.web.guard import GuardedRoute
from penstock.web.limits import BodyLimits, Limits
from penstock.web.routes import ROUTES
from penstock.web.shield import Shield
from penstock.web.stream import Streams
from penstock.web.watching import watch_alerts

TITLE = "Penstock"
VERSION = "1"


def make_service(
    app: Penstock,
    *,
    auth: Authenticate | None = None,
    limits: Limits | None = None,
    local: bool = False,
    watch: bool = False,
) -> FastAPI:
    """The HTTP service of an app, to be served or mounted in another FastAPI, Starlette or Django app.

    Who asks is known by a token (`penstock token create`), or by `auth`, a function from the request to a
    Principal, or to None, which is to say 401. With `local`, as in `penstock serve`, those who are at this
    machine need no token until there is one. With `watch`, its process looks for alerts too, as workers do,
    so that somebody does when none of them is alive.
    """
    limits = limits or Limits()
    doorway = Doorway(app, auth, limits, local=local)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(watch_alerts(doorway)) if watch else None
        yield
        if watching is not None:
            watching.cancel()
            await asyncio.wait({watching})
        await doorway.close()

    service = FastAPI(
        title=TITLE,
        version=VERSION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    service.state.doorway = doorway
    service.router.route_class = GuardedRoute
    for routes in (*ROUTES, dashboard):
        routes.register(service)
    service.add_exception_handler(PenstockError, refusals.on_penstock_error)
    service.add_exception_handler(RequestValidationError, refusals.on_validation_error)
    service.add_exception_handler(HTTPException, refusals.on_http_exception)
    service.add_middleware(Streams)
    service.add_middleware(Express)
    service.add_middleware(BodyLimits, limits=limits)
    service.add_middleware(Shield)
    return service
