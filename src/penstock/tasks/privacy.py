"""Which arguments of a task are secret, and by which its jobs can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.model.errors import InvalidOption
from penstock.model.masking import Place, Record, has_secrets, secret_paths, secret_values
from penstock.model.redaction import MAX_VALUES, Clean, cleaner, members_by_name, redacted
from penstock.tasks.secret_fields import MARKS

if TYPE_CHECKING:
    from penstock.tasks.declared import Declared

MAX_PATHS = 100  # that are told of one task


class Privacy(NamedTuple):
    """What of the arguments must not be shown, and names of those by which jobs are searched."""

    declared: Record  # what of the payload is secret
    searchable: tuple[str, ...]

    @property
    def secret(self) -> frozenset[str]:
        """The arguments that are secret as a whole."""
        return frozenset(name for name, place in self.declared.members.items() if place.whole)

    @property
    def paths(self) -> list[str]:
        """All that is secret: arguments, and fields of arguments."""
        places = self.declared.members.items()
        found = (path for name, place in places for path in secret_paths(name, place))
        return sorted(islice(found, MAX_PATHS))

    def cleaner(self, payload: str) -> Clean:
        """What takes secrets out of the errors of a job with this payload."""
        if not self.declared.members:
            return redacted
        found = secret_values(members_by_name(payload), (self.declared,))
        return cleaner(islice(found, MAX_VALUES))

    def marked(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The JSON schema of the payload, with those marked that are only ever written."""
        properties: Mapping[str, Any] = schema.get("properties", {})
        if not self.declared.members:
            return schema
        told = {
            name: {**shape, **MARKS} if name in self.secret else shape for name, shape in properties.items()
        }
        without: dict[str, Any] = _without_defaults({**schema, "properties": told})
        return without


def _without_defaults(schema: Any) -> Any:
    """A JSON schema in which what is marked as secret tells no default."""
    if isinstance(schema, list):
        return [_without_defaults(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    hides = schema.get("x-secret") is True
    return {
        name: _without_defaults(each)
        for name, each in schema.items()
        if not (hides and name in ("default", "examples"))
    }


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
    places = {name: place for name, place in declared.signature.places.items() if has_secrets(place)}
    places |= dict.fromkeys(declared.secret, Place(whole=True))
    shown = {
        "searchable=": declared.searchable,
        "key=": () if declared.key is None else declared.key.names,
        "rate_key=": () if declared.lane is None or declared.lane.key is None else declared.lane.key.names,
    }
    for option, names in shown.items():
        if told := places.keys() & set(names):
            raise InvalidOption(
                f"{option} of task {declared.name!r} would show {min(told)!r}, which is declared secret"
            )
    return Privacy(Record(places), declared.searchable)


def hiding(names: Iterable[str]) -> Privacy:
    """All of these arguments are secret."""
    return Privacy(Record(dict.fromkeys(names, Place(whole=True))), ())
