"""JSON as it comes in: strict, and no deeper than a payload may be."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from penstock.model.errors import InvalidValue, ValueTooLarge
from penstock.model.values import check, loads
from penstock.web.refusals import Field, Refusal, invalid


class StrictRequest(Request):
    """A request whose JSON every engine could store."""

    async def json(self) -> Any:
        return strict(await self.body())


def strict(body: bytes) -> Any:
    """The value that a body holds; Refusal where it is not strict JSON."""
    try:
        value = loads(body.decode())
        check(value, "body")
    except ValueTooLarge as error:
        raise invalid("the body is nested too deeply, or holds a number of too many digits") from error
    except (InvalidValue, UnicodeDecodeError):
        raise _unreadable() from None
    return value


def _unreadable() -> Refusal:
    return invalid("the body is not JSON", Field("body", "is not strict JSON in UTF-8"))
