"""What pydantic found wrong, as problems that name the place and the remedy and never the value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

from penstock.model.errors import Problem

if TYPE_CHECKING:
    from pydantic import ValidationError

MOST = 50  # problems that are told of one payload
MOST_LOOKED_AT = 2_000  # pydantic can only tell all that it has found, which takes long
LONGEST = 100  # characters of a name that somebody sent

# Messages of these types quote the input, or come from the user's own validators and may do so.
_TELLTALE = frozenset({
    "value_error", "assertion_error", "union_tag_invalid", "uuid_parsing", "url_parsing",
    "url_syntax_violation", "timezone_offset", "get_attribute_error", "dataclass_exact_type",
    "json_invalid", "mapping_type", "iteration_error", "unicode_error", "import_error",
})  # fmt: skip


def problems_of(error: ValidationError, names: Sequence[str], fields: Iterable[str]) -> list[Problem]:
    """What is wrong, up to a bound; `fields` are the names of the schema, not those of the payload."""
    if (count := error.error_count()) > MOST_LOOKED_AT:
        return [Problem("arguments", f"have {count:,} problems; see the task's signature")]
    known = frozenset(fields) | frozenset(names)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [Problem(_place(each["loc"], known), _remedy(each, names)) for each in found[:MOST]]
    if more := len(found) - len(told):
        told.append(Problem("arguments", f"have {more:,} more problems"))
    return told


def too_many(given: Iterable[str], names: Sequence[str]) -> list[Problem]:
    """What to say where far more names are given than there are: pydantic would look at each."""
    strange = islice((name for name in given if name not in names), MOST)
    return [Problem(name[:LONGEST], unknown(name, names)) for name in strange]


def unknown(name: str, names: Sequence[str]) -> str:
    """What to say of an argument that the task does not take."""
    close = get_close_matches(name, names, 1) if len(name) <= LONGEST else []
    hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(names) or 'no arguments'}"
    return f"is not an argument of this task; {hint}"


def field_names(schema: Any) -> set[str]:
    """Every field name that a JSON schema declares, at any depth."""
    if isinstance(schema, list):
        return {name for part in schema for name in field_names(part)}
    if not isinstance(schema, dict):
        return set()
    found = {name for part in schema.values() for name in field_names(part)}
    properties = schema.get("properties")
    return found | set(properties) if isinstance(properties, dict) else found


def _place(loc: tuple[int | str, ...], known: frozenset[str]) -> str:
    if len(loc) == 1:
        return str(loc[0])[:LONGEST]
    place = ""
    for part in loc:
        if isinstance(part, int):
            place += f"[{part}]"
        elif part in known:
            place += f".{part}" if place else part
    return place or "arguments"


def _remedy(found: Any, names: Sequence[str]) -> str:
    kind: str = found["type"]
    if kind == "missing":
        return "is missing; the task needs it"
    if kind == "extra_forbidden" and len(found["loc"]) == 1:
        return unknown(str(found["loc"][0]), names)
    if kind in _TELLTALE or not _from_core(kind):
        return "is not accepted by its type; see the task's signature"
    message: str = found["msg"]
    return message.replace("Input should", "should", 1)


def _from_core(kind: str) -> bool:
    """Whether the message is one of pydantic's own, and not of a validator that may quote the value."""
    from typing import get_args  # noqa: PLC0415

    from pydantic_core.core_schema import ErrorType  # noqa: PLC0415

    return kind in get_args(ErrorType)
