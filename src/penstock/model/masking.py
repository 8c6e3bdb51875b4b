"""Payloads as they may be shown: secrets masked where they are, and the masks taken back for what they hide.

A member is secret where it is declared so, or where its name is that of a secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from penstock.model.errors import InvalidOption
from penstock.model.redaction import MASK, members_by_name, named_secret, redacted


@dataclass(eq=False, slots=True)
class Place:
    """A member of an object: it is a secret as a whole, or objects in it, in lists too, may have some."""

    whole: bool = False
    records: Records = ()


@dataclass(eq=False, slots=True)
class Record:
    """What is declared of the members of an object; it may contain itself."""

    members: dict[str, Place] = field(default_factory=dict)


Records: TypeAlias = tuple[Record, ...]  # an object may be any of these: what one of them hides is hidden

UNKNOWN = Record()


def masked(payload: str, declared: Record) -> str:
    """JSON text of an object, with its secrets masked; other text as it is, without secrets."""
    members = members_by_name(payload)
    if not members:
        return redacted(payload)
    try:
        shown = _masked(members, (declared,))
    except RecursionError:
        shown = dict.fromkeys(members, MASK)
    return payload if shown == members else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def filled_in(given: Any, stored: Any, records: Records, path: str = "") -> Any:
    """What somebody wrote by what they were shown: a mask means what is stored; InvalidOption: nothing is."""
    if isinstance(given, dict):
        kept = stored if isinstance(stored, dict) else {}
        return {name: _filled_member(name, each, kept, records, path) for name, each in given.items()}
    if isinstance(given, list):
        kept_items = stored if isinstance(stored, list) else []
        return [
            # In a list others may have come or gone: a mask is only sure in what was not changed.
            kept_items[n]
            if n < len(kept_items) and _masked(kept_items[n], records) == each
            else filled_in(each, None, records, path)
            for n, each in enumerate(given)
        ]
    return given


def secret_values(value: Any, records: Records) -> Iterator[Any]:
    """What is declared secret in a JSON value."""
    waiting = [(value, records)]
    while waiting:
        each, may_be = waiting.pop()
        if isinstance(each, list):
            waiting += [(item, may_be) for item in each]
        elif isinstance(each, dict):
            yield from (member for name, member in each.items() if _declared(name, may_be))
            waiting += [(member, _inner(name, may_be)) for name, member in each.items()]


def has_secrets(place: Place) -> bool:
    """Whether anything in this place is declared secret."""
    seen: list[Place] = []
    waiting = [place]
    while waiting:
        each = waiting.pop()
        if each.whole:
            return True
        if each not in seen:
            seen.append(each)
            waiting += [found for record in each.records for found in record.members.values()]
    return False


def secret_paths(name: str, place: Place, within: Records = ()) -> Iterator[str]:
    """Names of what is secret here, as `card.number`; a record that contains itself is told of once."""
    if place.whole:
        yield name
        return
    for record in place.records:
        if record not in within:
            for member, found in record.members.items():
                if has_secrets(found):
                    yield from secret_paths(f"{name}.{member}", found, (*within, record))


def _masked(value: Any, records: Records) -> Any:
    if isinstance(value, dict):
        return {
            name: MASK if _is_secret(name, records) else _masked(each, _inner(name, records))
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_masked(each, records) for each in value]
    return value


def _filled_member(name: str, given: Any, stored: dict[str, Any], records: Records, path: str) -> Any:
    path = f"{path}.{name}" if path else name
    if given != MASK or not _is_secret(name, records):
        return filled_in(given, stored.get(name), _inner(name, records), path)
    if name not in stored:
        raise InvalidOption(f"{path!r} is masked, and nothing is stored of it; give its value")
    return stored[name]


def _is_secret(name: str, records: Records) -> bool:
    return named_secret(name) or _declared(name, records)


def _declared(name: str, records: Records) -> bool:
    return any(name in record.members and record.members[name].whole for record in records)


def _inner(name: str, records: Records) -> Records:
    """What objects in this member may be. A name that nobody declares is a key of a dict of such objects."""
    found = [record.members[name] for record in records if name in record.members]
    return tuple(inner for place in found for inner in place.records) if found else records
