"""Where the types of arguments are marked as Secret: on themselves, or on fields of records at any depth.

Records are what is an object in JSON: pydantic's models, dataclasses, TypedDicts.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Annotated, Any, ForwardRef, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from penstock.model.masking import Place, Record

MOST_RECORDS = 500  # of one argument: a generic type may contain ever more of itself


class Secret:
    """Marks an argument or a field, as `Annotated[str, Secret]`: it is not shown, and taken out of errors."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), **MARKS}


MARKS = {"writeOnly": True, "x-secret": True}  # in a JSON schema


class _Field(NamedTuple):
    names: tuple[str, ...]  # in JSON
    kind: Any


def place_of(kind: Any) -> Place:
    """Where secrets are in values of this type; NameError where a type names what is not there yet."""
    return _place(kind, [])


def unmarked(kind: Any) -> Any:
    """The type without the mark, which says nothing of what fits."""
    if get_origin(kind) is not Annotated:
        return kind
    marks = tuple(mark for mark in kind.__metadata__ if not _is_secret(mark))
    return Annotated[(kind.__origin__, *marks)] if marks else kind.__origin__


def _place(kind: Any, known: list[tuple[Any, Record]]) -> Place:
    parts = _parts(kind)
    if any(_is_marked(part) for part in parts) or len(known) > MOST_RECORDS:
        return Place(whole=True)
    return Place(records=tuple(_record(part, known) for part in parts if _is_record(_plain(part))))


def _record(kind: Any, known: list[tuple[Any, Record]]) -> Record:
    for found, record in known:
        if found == kind:
            return record
    record = Record()
    known.append((kind, record))
    for names, field_kind in _fields(kind):
        record.members |= dict.fromkeys(names, _place(field_kind, known))
    return record


def _parts(kind: Any) -> list[Any]:
    """The type and all it is made of, but for the fields of records."""
    found: list[Any] = []
    waiting = [kind]
    while waiting:
        part = waiting.pop()
        if any(part is each for each in found):
            continue
        if isinstance(part, ForwardRef):
            raise NameError(f"name {part.__forward_arg__!r} is not defined")
        found.append(part)
        waiting += [] if _is_record(_plain(part)) else [*get_args(part), *_meant(_plain(part))]
    return found


def _meant(kind: Any) -> list[Any]:
    """What a name stands for but records: aliases, new types, tuples with names, models of one value."""
    if isinstance(kind, type):
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return list(_hints(kind).values())
        return [each.kind for each in _model_fields(kind)] if _is_root_model(kind) else []
    if hasattr(kind, "__value__"):
        return [_alias_value(kind)]
    return [kind.__supertype__] if hasattr(kind, "__supertype__") else []


def _alias_value(alias: Any) -> Any:
    holder = SimpleNamespace(__annotations__={"it": alias.__value__})
    known = vars(sys.modules[alias.__module__])
    return get_type_hints(holder, known, include_extras=True)["it"]


def _fields(kind: Any) -> Iterator[_Field]:
    """The fields of a record, with the types that it was made with in place of its variables."""
    plain = _plain(kind)
    given = dict(zip(getattr(plain, "__parameters__", ()), get_args(kind), strict=False))
    for names, field_kind in _model_fields(plain) or _hinted_fields(plain):
        yield _Field(names, _filled(field_kind, given))


def _model_fields(kind: Any) -> list[_Field]:
    """Of a model, or a dataclass, of pydantic's."""
    if hasattr(kind, "model_rebuild") and not kind.__pydantic_complete__:
        kind.model_rebuild(raise_errors=False)
    found = getattr(kind, "__pydantic_fields__", None) or getattr(kind, "model_fields", None) or {}
    return [
        _Field(
            (name, *_aliases(info)),
            Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation,
        )
        for name, info in found.items()
    ]


def _hinted_fields(kind: Any) -> list[_Field]:
    return [
        _Field((name, *(alias for part in _parts(hint) for alias in _aliases(part))), hint)
        for name, hint in _hints(kind).items()
    ]


def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, localns={kind.__name__: kind}, include_extras=True)


def _aliases(info: Any) -> list[str]:
    """Other names of a field, by what pydantic's Field says of it."""
    if isinstance(info, type):
        return []
    said = [getattr(info, name, None) for name in ("alias", "validation_alias", "serialization_alias")]
    choices = [choice for each in said for choice in getattr(each, "choices", [each])]
    firsts = [getattr(each, "path", [each])[0] for each in choices]
    return [each for each in firsts if isinstance(each, str)]


def _filled(kind: Any, given: Mapping[Any, Any]) -> Any:
    if isinstance(kind, TypeVar):
        return given.get(kind, kind)
    free = getattr(kind, "__parameters__", ())
    if isinstance(kind, type) or not any(each in given for each in free):
        return kind
    return kind[tuple(given.get(each, each) for each in free)]


def _plain(kind: Any) -> Any:
    """A generic type without what it was given."""
    return get_origin(kind) or kind


def _is_record(kind: Any) -> bool:
    if not isinstance(kind, type) or _is_root_model(kind):
        return False
    is_typed_dict = issubclass(kind, dict) and hasattr(kind, "__required_keys__")
    return is_typed_dict or dataclasses.is_dataclass(kind) or hasattr(kind, "model_fields")


def _is_root_model(kind: type) -> bool:
    return bool(getattr(kind, "__pydantic_root_model__", False))


def _is_marked(kind: Any) -> bool:
    return get_origin(kind) is Annotated and any(_is_secret(mark) for mark in kind.__metadata__)


def _is_secret(mark: Any) -> bool:
    return mark is Secret or isinstance(mark, Secret)
