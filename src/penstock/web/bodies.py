"""JSON as it comes in: strict, and no deeper than a payload may be."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from penstock.model.errors import InvalidValue, ValueTooLarge
from penstock.model.values import check, decoder, loads
from penstock.web.refusals import Field, Refusal, invalid, tellable

MOST_FIELDS = 100  # of a request; to tell what is wrong with each of very many takes long


class StrictRequest(Request):
    """A request whose JSON every engine could store, and whose headers are read once."""

    @cached_property
    def headers(self) -> Headers:
        return QuickHeaders(scope=self.scope)

    async def json(self) -> Any:
        value = strict(await self.body())
        if isinstance(value, dict) and len(value) > MOST_FIELDS:
            raise invalid("the body has far more fields than there are")
        return value


class QuickHeaders(Headers):
    """Starlette's look through all of them each time."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        # Of several of one name the first counts, as it does there.
        self._values = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(self.raw)}

    def __getitem__(self, key: str) -> str:
        return self._values[key.lower()]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower() in self._values


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Programs do not agree on which of two counts."""
    made = dict(pairs)
    if len(made) < len(pairs):
        times = Counter(key for key, _ in pairs)
        field = tellable(next(key for key in times if times[key] > 1), "body")
        raise invalid(f"{field}: {_TWICE}", Field(field, _TWICE))
    return made


_TWICE = "is given more than once"
_decode = decoder(_each_key_once)


def strict(body: bytes) -> Any:
    """The value that a body holds; Refusal where it is not strict JSON."""
    try:
        value = loads(body.decode(), _decode)
        check(value, "body")
    except ValueTooLarge as error:
        raise invalid("the body is nested too deeply, or holds a number of too many digits") from error
    except (InvalidValue, UnicodeDecodeError):
        raise _unreadable() from None
    return value


def _unreadable() -> Refusal:
    return invalid("the body is not JSON", Field("body", "is not strict JSON in UTF-8"))
