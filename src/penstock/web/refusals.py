"""All that is refused, in one shape: `{"error": {"code", "message", "fields"}}`. No value is echoed."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import Request
from starlette.routing import Match

from penstock.model.errors import (
    AccessRefused,
    ActionRefused,
    Disabled,
    EngineError,
    EngineUnsafe,
    InvalidArguments,
    InvalidOption,
    InvalidValue,
    JobNotFound,
    MissingExtra,
    PenstockError,
    SchemaMissing,
    SchemaTooNew,
    UnknownQueue,
    UnknownTask,
    ValueTooLarge,
)
from penstock.web.shapes.fields import IN_WORDS

log = logging.getLogger("penstock.web")

RETRY_AFTER = 5  # seconds, where the engine is away
_TELLABLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
NOT_FOUND = "there is no such thing, or it is not yours"


class Field(NamedTuple):
    """One thing wrong with one field. Never its value."""

    field: str
    problem: str


class Refusal(HTTPException):
    """Ends a request: who asks is told why."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        fields: Iterable[Field] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code = code
        self.message = message
        self.fields = list(fields)

    @property
    def body(self) -> dict[str, Any]:
        fields = [field._asdict() for field in self.fields]
        return {"error": {"code": self.code, "message": self.message, "fields": fields}}

    def response(self) -> JSONResponse:
        return JSONResponse(self.body, self.status_code, self.headers)


def invalid(message: str, *fields: Field) -> Refusal:
    return Refusal(400, "invalid", message, fields)


def not_found() -> Refusal:
    """The same for what is not there and for what is somebody else's."""
    return Refusal(404, "not_found", NOT_FOUND)


def too_large(message: str) -> Refusal:
    return Refusal(413, "too_large", message)


def limited(seconds: float) -> Refusal:
    wait = {"Retry-After": f"{max(1, round(seconds + 0.5))}"}
    return Refusal(429, "rate_limited", "too many requests; wait and try again", headers=wait)


def unavailable(message: str = "jobs cannot be reached now; try again") -> Refusal:
    return Refusal(503, "unavailable", message, headers={"Retry-After": f"{RETRY_AFTER}"})


def refusal_of(error: PenstockError) -> Refusal:
    """What to answer where an error of ours came up."""
    if isinstance(error, InvalidArguments):
        return invalid("the payload does not fit the task", *_problems(error))
    if isinstance(error, ActionRefused | Disabled):
        return Refusal(409, "conflict", str(error))
    return next((make() for kinds, make in _ANSWERS if isinstance(error, kinds)), internal())


def internal() -> Refusal:
    return Refusal(500, "internal", "this should not have happened; it has been logged")


# Trying again is no use: somebody has to do something, and the log says what. Its words are ours.
BROKEN = (AccessRefused, SchemaMissing, SchemaTooNew, EngineUnsafe)
_TOO_LARGE = "the payload is too large; keep the content elsewhere and pass a reference"
_ANSWERS: list[tuple[tuple[type[PenstockError], ...], Callable[[], Refusal]]] = [
    ((JobNotFound, UnknownQueue, UnknownTask), not_found),
    ((ValueTooLarge,), lambda: too_large(_TOO_LARGE)),
    ((InvalidValue, InvalidOption), lambda: invalid("the request cannot be: a value is not allowed")),
    ((MissingExtra,), lambda: Refusal(501, "not_installed", "this service has not what that needs")),
    (BROKEN, lambda: Refusal(503, "unavailable", "jobs cannot be reached until this service is mended")),
    ((EngineError,), unavailable),
]


def _problems(error: InvalidArguments) -> list[Field]:
    return [Field(f"payload.{problem.argument}", problem.message) for problem in error.problems]


# -- what FastAPI calls ------------------------------------------------------------------------------------
async def on_penstock_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PenstockError)
    refusal = refusal_of(error)
    if refusal.status_code >= 500:
        said = f": {error}" if isinstance(error, (*BROKEN, MissingExtra)) else ""
        log.warning("answered %d: %s%s", refusal.status_code, type(error).__name__, said)
    return refusal.response()


async def on_validation_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    fields = [Field(_place(found["loc"]), _remedy(found)) for found in error.errors()]
    return invalid("the request does not fit", *fields).response()


def tellable(name: str, otherwise: str) -> str:
    """A name as it was sent, unless it is none that anything here could have."""
    return name if _TELLABLE.fullmatch(name) else otherwise


def _place(loc: tuple[int | str, ...]) -> str:
    inside = loc[1:] if loc and loc[0] in {"body", "query", "path", "header"} else loc
    # Names that somebody sent are values too: only those of ours are told.
    return ".".join(f"{part}" for part in inside if isinstance(part, int) or part.isidentifier())[:200] or (
        f"{loc[0]}" if loc else "request"
    )


def _remedy(found: Mapping[str, Any]) -> str:
    kind = found["type"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not a field of this request"
    if kind in {"assertion_error", "json_invalid"}:
        return "is not allowed"
    if kind == "string_pattern_mismatch":
        return IN_WORDS[found["ctx"]["pattern"]]
    message: str = found["msg"]
    return message.removeprefix("Value error, ").replace("Input should", "should", 1)


_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}
_WORDS = {
    404: NOT_FOUND,
    405: "this method is not allowed here",
}


async def on_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AnyHTTPException)
    if isinstance(error, Refusal):
        return error.response()
    status = error.status_code
    headers = dict(error.headers or {})
    if status == 405:
        headers["Allow"] = ", ".join(sorted(_allowed(request)))
    code, words = _CODES.get(status, "invalid"), _WORDS.get(status, "the request cannot be read")
    return Refusal(status, code, words, headers=headers).response()


def _allowed(request: Request) -> set[str]:
    """Of the routes with the path that names this one most exactly: a word before any id."""
    found: dict[str, set[str]] = {}
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found.setdefault(getattr(route, "path", ""), set()).update(getattr(route, "methods", None) or ())
    return found[min(found, key=lambda path: path.count("{"))] if found else set()


# By reference: a model for each of them on each route takes a second to build.
_SHAPE = {"application/json": {"schema": {"$ref": "#/components/schemas/Refused"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"content": _SHAPE, "description": words}
    for status, words in {
        400: "The request does not fit; nothing was changed",
        401: "No valid token",
        403: "The token does not allow this",
        404: "Unknown, or somebody else's",
        408: "The body came too slowly",
        409: "It does not apply as things stand",
        413: "Too large",
        415: "Only uncompressed JSON is read",
        429: "Too many requests; see Retry-After",
        503: "The engine is away; see Retry-After",
    }.items()
}
