"""What the fields of requests and answers may hold."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from penstock.model.names import MAX_TEXT

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]")
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)

UNSTORABLE = "holds a character that cannot be stored"

NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}$"
NO_NUL = r"^[^\x00]*$"  # so that the OpenAPI document says so, too
ID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
CAUSE = r"^[0-9a-f]{16}$"
# What is told of a text that does not match.
IN_WORDS = {
    NAME: "should be a name: at most 128 letters, digits, '_', '.' and '-'",
    NO_NUL: UNSTORABLE,
    ID: "should be an id, such as 0198a6f2-0000-7000-8000-000000000000",
    CAUSE: "should be the id of a cause: 16 hexadecimal digits",
}


def storable(text: str) -> str:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError(UNSTORABLE)
    return text


def _written_out(given: object) -> object:
    """As RFC 3339 has it: a mere number would be read as one of seconds."""
    if not isinstance(given, str) or not _DATE.match(given):
        raise ValueError("should be a time, written as 2026-01-31T12:00:00Z")
    return given


def _no_word(given: object) -> object:
    """`true` and "1" would be read as numbers."""
    if isinstance(given, bool | str):
        raise ValueError("should be a number")
    return given


def _within_reach(at: datetime) -> datetime:
    """There are no jobs beyond: what is asked means the same."""
    return min(max(at, _EARLIEST), _LATEST)


Name = Annotated[str, Field(pattern=NAME)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=NO_NUL), AfterValidator(storable)]
Words = Annotated[str, Field(max_length=500, pattern=NO_NUL), AfterValidator(storable)]
Instant = Annotated[AwareDatetime, BeforeValidator(_written_out), AfterValidator(_within_reach)]
Count = Annotated[int, Field(ge=0)]
Number = Annotated[Count, BeforeValidator(_no_word)]  # in what comes in


class Said(BaseModel):
    """What comes in: nothing but what is known."""

    model_config = ConfigDict(extra="forbid")


class Why(Said):
    """Why an operator does something: kept in the audit log."""

    reason: Words | None = None


Id = Annotated[str, Field(pattern=ID)]
Rate = Annotated[float, Field(gt=0, le=100_000, strict=True)]  # jobs per second


class Told(BaseModel):
    model_config = ConfigDict(from_attributes=True)
