"""The way in for jobs, past the framework: what most requests ask for, at a third of the cost.

The guard, the shapes, the refusals and the endpoint are the same: only who reads the request differs.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.model.errors import PenstockError
from penstock.web.bodies import StrictRequest
from penstock.web.doorway import Doorway
from penstock.web.guard import need_of
from penstock.web.queries import check_query
from penstock.web.refusals import Field, Refusal, invalid, on_penstock_error, on_validation_error
from penstock.web.routes.enqueue import enqueue
from penstock.web.shapes.fields import Text
from penstock.web.shapes.jobs import NewJob

_PATH = re.compile(r"/jobs/([^/]+)")
_NEED = need_of(enqueue)
_KEY: TypeAdapter[str | None] = TypeAdapter(Text | None)


class Express:
    """Answers `POST /jobs/{queue}`, and passes all else on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and scope["method"] == "POST":
            found = _PATH.fullmatch(scope["path"].removeprefix(scope.get("root_path", "")))
        if found is None:
            await self._app(scope, receive, send)
            return
        response = await _answer(StrictRequest(scope, receive), found[1])
        await response(scope, receive, send)


async def _answer(request: Request, queue: str) -> Response:
    doorway: Doorway = request.app.state.doorway
    try:
        await doorway.admit(request, _NEED)
        check_query(request, ())
        given = await _json(request)
        try:
            job = NewJob.model_validate(given)
            key = _KEY.validate_python(request.headers.get("idempotency-key"))
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_input=False)) from None
        return await enqueue(request, queue, job, key)
    except Refusal as refusal:
        return refusal.response()
    except RequestValidationError as error:
        return await on_validation_error(request, error)
    except PenstockError as error:
        return await on_penstock_error(request, error)


async def _json(request: Request) -> Any:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise invalid("the body is not JSON", Field("body", "must be application/json"))
    return await request.json()
