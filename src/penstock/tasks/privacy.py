"""Which arguments of a task are secret, and by which its jobs can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

from penstock.model.errors import InvalidOption
from penstock.model.redaction import Clean, cleaner, members_of, redacted

if TYPE_CHECKING:
    from penstock.tasks.declared import Declared


class Secret:
    """Marks an argument, as `Annotated[str, Secret]`: its value is not shown, and is taken out of errors."""


class Privacy(NamedTuple):
    """Names of arguments."""

    secret: frozenset[str]
    searchable: tuple[str, ...]

    def cleaner(self, payload: str) -> Clean:
        """What takes secrets out of the errors of a job with this payload."""
        return cleaner(members_of(payload, self.secret)) if self.secret else redacted

    def marked(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The JSON schema of the payload, with those marked that are only ever written."""
        properties: Mapping[str, Any] = schema.get("properties", {})
        if not self.secret.intersection(properties):
            return schema
        told = {
            name: {**shape, "writeOnly": True, "x-secret": True} if name in self.secret else shape
            for name, shape in properties.items()
        }
        return {**schema, "properties": told}


def is_marked(kind: Any) -> bool:
    """Whether Secret is on this type, or on a part of it."""
    if get_origin(kind) is Annotated and any(_is_secret(mark) for mark in kind.__metadata__):
        return True
    return any(is_marked(part) for part in get_args(kind))


def unmarked(kind: Any) -> Any:
    """The type without the mark, which says nothing of what fits."""
    if get_origin(kind) is not Annotated:
        return kind
    marks = tuple(mark for mark in kind.__metadata__ if not _is_secret(mark))
    return Annotated[(kind.__origin__, *marks)] if marks else kind.__origin__


def _is_secret(mark: Any) -> bool:
    return mark is Secret or isinstance(mark, Secret)


def read_names(what: str, given: str | Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """Names of arguments, each once."""
    names = (given,) if isinstance(given, str) else tuple(given)
    takes = tuple(known)
    for name in names:
        if name not in takes:
            raise InvalidOption(f"{what} names {name!r}; the task takes {', '.join(takes) or 'no arguments'}")
    return tuple(dict.fromkeys(names))


def privacy_of(declared: Declared) -> Privacy:
    """What is declared as secret; InvalidOption where that would be shown by other ways."""
    secret = frozenset(declared.secret) | declared.signature.marked
    shown = {
        "searchable=": declared.searchable,
        "key=": () if declared.key is None else declared.key.names,
        "rate_key=": () if declared.lane is None or declared.lane.key is None else declared.lane.key.names,
    }
    for option, names in shown.items():
        if told := secret.intersection(names):
            raise InvalidOption(
                f"{option} of task {declared.name!r} would show {min(told)!r}, which is declared secret"
            )
    return Privacy(secret, declared.searchable)
