"""Which annotations are JSON already, and the shape of a payload, by which an old job still fits or not."""

from __future__ import annotations

import json
from hashlib import sha256
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

_PLAIN = (str, int, float, bool, None, NoneType, Any, list, dict)
_PROSE = frozenset({"title", "description", "default", "examples", "deprecated"})


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
