"""Strict JSON: a value is accepted by every engine or by none, and comes back equal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from json import encoder
from math import isfinite
from types import NoneType
from typing import Any, NoReturn

from penstock.model.errors import InvalidOption, InvalidValue, ValueTooLarge

MAX_DEPTH = 64
MAX_DIGITS = 1_000
MAX_ARGS_BYTES = 1_048_576
MAX_RESULT_BYTES = 262_144

_INT_BOUND = 10**MAX_DIGITS


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _writer() -> Callable[[Any, int], Iterable[str]]:
    """Writes what `check` has let pass. The library makes a writer anew for each value, at twice the cost."""
    item, colon = separators = ",", ":"
    writer = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=separators
    )
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: (writer.encode(value),)
    text: Callable[[str], str] = encoder.encode_basestring
    parts: Callable[[Any, int], Iterable[str]] = make(
        None, writer.default, text, None, colon, item, False, False, False
    )
    return parts


_parts = _writer()


def decoder(object_of: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Callable[[str], Any]:
    """Reads strict JSON; `object_of` makes the objects."""
    return json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=object_of).decode


_decode = decoder()


def dumps(value: Any, limit: int, what: str = "value") -> str:
    """Write `value` as JSON text of at most `limit` bytes, or raise InvalidValue naming the place."""
    check(value, what)
    text = "".join(_parts(value, 0))
    # A lone surrogate has no UTF-8 form: encoding is both the test for it and the measure of the size.
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise InvalidValue(f"{what} holds a lone surrogate, which is not text") from None
    if size > limit:
        raise ValueTooLarge(
            f"{what} is {size:,} bytes of JSON, over the limit of {limit:,}; "
            "keep the content in your own storage and pass a reference to it"
        )
    return text


def dumps_scalars(limit: int, what: str, values: dict[str, Any]) -> str:
    """As `dumps`, for an object that is known to hold nothing but text, numbers and truth values."""
    try:
        text = "".join(_parts(values, 0))
    except ValueError:  # a number that is none: `dumps` tells of it
        return dumps(values, limit, what)
    if len(text) <= MAX_DIGITS and len(text) <= limit and text.isascii():
        return text
    return dumps(values, limit, what)


def loads(text: str, decode: Callable[[str], Any] = _decode) -> Any:
    """Read JSON text written by `dumps`; anything else is InvalidValue."""
    try:
        return decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"stored text is not strict JSON: {error}") from None


def check_json(what: str, text: str, limit: int, *, kind: type = object) -> None:
    """Raise InvalidOption unless this is strict JSON text of at most `limit` bytes, of this kind of value."""
    if not isinstance(text, str):
        raise InvalidOption(f"{what} must be JSON text, not {type(text).__name__}")
    try:
        size = len(text.encode())
        value = loads(text) if size <= limit else None
    except (UnicodeEncodeError, InvalidValue):
        raise InvalidOption(f"{what} is not strict JSON text") from None
    if size > limit:
        raise InvalidOption(f"{what} is {size:,} bytes of JSON, over the limit of {limit:,}")
    if not isinstance(value, kind):
        raise InvalidOption(f"{what} must be a JSON {'object' if kind is dict else kind.__name__}")


def readable(text: str | None) -> Any:
    """Stored JSON, to be shown: what another program wrote, and is not JSON, comes as the text it is."""
    if text is None:
        return None
    try:
        return loads(text)
    except InvalidValue:
        return text


def check(value: Any, where: str, depth: int = 0) -> None:
    """InvalidValue where a value is not strict JSON, or is nested too deeply."""
    kind = type(value)
    if kind in (str, bool, NoneType):
        return
    if kind in (int, float):
        _check_number(value, where)
    elif kind not in (dict, list):
        raise InvalidValue(f"{where} is a {kind.__name__}, which is not JSON")
    elif depth >= MAX_DEPTH:
        raise ValueTooLarge(f"{where} is nested deeper than {MAX_DEPTH} levels")
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise InvalidValue(f"{where} has a key of type {type(key).__name__}; JSON keys are strings")
            check(item, where, depth + 1)
    else:
        for item in value:
            check(item, where, depth + 1)


def _check_number(value: float, where: str) -> None:
    if type(value) is int:
        if not -_INT_BOUND < value < _INT_BOUND:
            raise ValueTooLarge(f"{where} holds an integer of more than {MAX_DIGITS} digits")
    elif not isfinite(value):
        raise InvalidValue(f"{where} holds {value!r}, which is not JSON")
