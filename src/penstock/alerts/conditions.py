"""Conditions: `waiting > 1000`, `stalled_count > 0 for 5m`. What is not listed here is refused."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from penstock.alerts.names import NAMES, Values, check_known
from penstock.model.errors import InvalidOption

MAX_TEXT = 500  # characters
MAX_PARTS = 100  # nodes of the tree
MAX_NUMBER = 1e15

_FOR = re.compile(r"(?P<expression>.*\S)\s+for\s+(?P<time>\S+)\s*", re.DOTALL)
_DURATION = re.compile(r"([0-9]{1,6})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

Kind: TypeAlias = Literal["number", "text", "truth"]

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_COUNTED: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_ALLOWED = "compare named values and numbers with > >= < <= == !=, + - * /, and, or, not"


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be so, and for how many seconds without a break."""

    text: str
    hold: float
    names: frozenset[str]
    _value: Callable[[Values], Any]

    def holds(self, values: Values) -> bool:
        """Whether it is so. Where a value is not known, it is not."""
        try:
            return bool(self._value(values))
        except (_NotKnown, ArithmeticError):
            return False


class _NotKnown(Exception):
    pass


def parse_condition(text: object) -> Condition:
    """Read a condition; InvalidOption says what is wrong with it."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidOption("a condition is text, such as: waiting > 1000 for 5m")
    if len(text) > MAX_TEXT:
        raise InvalidOption(f"a condition has at most {MAX_TEXT} characters")
    held = _FOR.fullmatch(text)
    expression, hold = (held["expression"], parse_duration(held["time"])) if held else (text, 0.0)
    tree = _parsed(expression.strip())
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    check_known("condition", sorted(names))
    part = _part(tree)
    if part.kind != "truth":
        raise InvalidOption(
            f"condition {expression.strip()!r} compares nothing; write such as waiting > 1000"
        )
    if not names:
        raise InvalidOption(f"condition {expression.strip()!r} names no value: it is always the same")
    return Condition(text.strip(), hold, names, part.value)


def parse_duration(text: object) -> float:
    """The seconds of `30s`, `5m`, `2h` or `7d`; 0 of the number 0."""
    if text == 0 and not isinstance(text, bool):
        return 0.0
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidOption(f"{text!r} is not a length of time; write 30s, 5m, 2h or 7d")
    return float(found[1]) * _SECONDS[found[2]]


def _parsed(expression: str) -> ast.expr:
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidOption(f"condition {expression!r} cannot be read; {_ALLOWED}") from None
    if sum(1 for _ in ast.walk(tree)) > MAX_PARTS:
        raise InvalidOption(f"condition {expression!r} is too long")
    return tree


class _Part(NamedTuple):
    """A part of a condition: what it gives, and how."""

    kind: Kind
    value: Callable[[Values], Any]


def _part(node: ast.expr) -> _Part:
    """Of an expression; InvalidOption where it is none of those that are allowed."""
    make = _PARTS.get(type(node))
    part = None if make is None else make(node)
    if part is None:
        raise InvalidOption(f"condition: {ast.unparse(node)!r} is not allowed here; {_ALLOWED}")
    return part


def _name(node: ast.Name) -> _Part:
    def value(values: Values) -> Any:
        found = values.get(node.id)
        if found is None:
            raise _NotKnown
        return found

    return _Part("text" if NAMES[node.id].is_text else "number", value)


def _constant(node: ast.Constant) -> _Part | None:
    value = node.value
    if isinstance(value, str):
        return _Part("text", lambda _: value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > MAX_NUMBER:
        return None
    return _Part("number", lambda _: value)


def _unary(node: ast.UnaryOp) -> _Part | None:
    kind, value = _part(node.operand)
    if isinstance(node.op, ast.USub) and kind == "number":
        return _Part("number", lambda values: -value(values))
    if isinstance(node.op, ast.Not) and kind == "truth":
        return _Part("truth", lambda values: not value(values))
    return None


def _both(node: ast.BoolOp) -> _Part | None:
    parts = [_part(each) for each in node.values]
    if any(part.kind != "truth" for part in parts):
        return None
    join = all if isinstance(node.op, ast.And) else any
    return _Part("truth", lambda values: join(part.value(values) for part in parts))


def _counted(node: ast.BinOp) -> _Part | None:
    count = _COUNTED.get(type(node.op))
    left, right = _part(node.left), _part(node.right)
    if count is None or not left.kind == right.kind == "number":
        return None
    return _Part("number", lambda values: count(left.value(values), right.value(values)))


def _compared(node: ast.Compare) -> _Part | None:
    parts = [_part(each) for each in (node.left, *node.comparators)]
    compare = [_COMPARED.get(type(op)) for op in node.ops]
    kinds = {part.kind for part in parts}
    equal = all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
    if None in compare or not (kinds == {"number"} or (kinds == {"text"} and equal)):
        return None

    def value(values: Values) -> bool:
        found = [part.value(values) for part in parts]
        pairs = zip(compare, found, found[1:], strict=False)
        return all(so(one, other) for so, one, other in pairs if so is not None)

    return _Part("truth", value)


_PARTS: dict[type[ast.expr], Callable[[Any], _Part | None]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.UnaryOp: _unary,
    ast.BoolOp: _both,
    ast.BinOp: _counted,
    ast.Compare: _compared,
}
