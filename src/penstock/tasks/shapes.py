"""Which annotations are JSON already, and the shape of a payload, by which an old job still fits or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import TypeAdapter

from penstock.model.errors import InvalidValue

_SCALAR = (str, int, float, bool)
_PLAIN = (*_SCALAR, None, NoneType, Any, list, dict)
_PROSE = frozenset({"title", "description", "default", "examples", "deprecated", "writeOnly", "x-secret"})


class JsonForm(NamedTuple):
    """How values of a type become JSON-ready and come back; bytes travel as base64."""

    dump: Callable[[Any], Any]
    load: Callable[[str], Any]


def json_form(adapter: TypeAdapter[Any]) -> JsonForm:
    """The JSON form of a type. `dump` raises InvalidValue for what has none."""
    from pydantic_core import PydanticSerializationError, SchemaSerializer, SchemaValidator  # noqa: PLC0415
    from pydantic_core.core_schema import CoreConfig  # noqa: PLC0415

    # The adapter of a type that may carry its own configuration takes none: it is given here.
    config = CoreConfig(ser_json_bytes="base64", val_json_bytes="base64")
    write = SchemaSerializer(adapter.core_schema, config).to_python

    def dump(value: Any) -> Any:
        try:
            return write(value, mode="json", warnings="error")
        except (PydanticSerializationError, UnicodeError):
            raise InvalidValue(f"a {type(value).__name__} holds what cannot be written as JSON") from None

    return JsonForm(dump, SchemaValidator(adapter.core_schema, config).validate_json)


def is_plain(annotation: Any) -> bool:
    """Whether every value of this type is written as JSON by itself and comes back equal."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is None:
        return any(annotation is kind for kind in _PLAIN)
    if origin is Literal:
        return all(type(part) in (str, int, bool, NoneType) for part in parts)
    if origin is dict:
        return parts[0] is str and is_plain(parts[1])
    return origin in (list, Union, UnionType) and all(is_plain(part) for part in parts)


def is_scalar(annotation: Any) -> bool:
    """Whether every value of this type is text, a number or a truth value."""
    return any(annotation is kind for kind in _SCALAR)


def fingerprint(schema: dict[str, Any], types: dict[str, Any]) -> str:
    """A short stable name for what a payload must look like: names, which are required, and their types."""
    shape = [_shape(schema), sorted((name, _written(kind)) for name, kind in types.items())]
    return sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _written(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) and not get_args(kind) else str(kind)


def _shape(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_shape(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _shape(part) for name, part in value.items()}
        if key in ("properties", "$defs")
        else _shape(value)
        for key, value in schema.items()
        if key not in _PROSE
    }
