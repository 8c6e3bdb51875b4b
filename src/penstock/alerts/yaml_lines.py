"""Reads YAML as plain data, and remembers on which line each part stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from penstock.model.errors import InvalidOption, MissingExtra

MAX_BYTES = 256_000
MAX_DEPTH = 20

Path: TypeAlias = tuple[str | int, ...]


class Document(NamedTuple):
    data: Any
    lines: Mapping[Path, int]  # from 1


def read_yaml(text: str) -> Document:
    """The data and the lines; InvalidOption says on which line it cannot be read."""
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra('to read it, pip install "penstock[alerts]"') from None
    if len(text) > MAX_BYTES:
        raise InvalidOption(f"it has more than {MAX_BYTES:,} characters")
    try:
        _check(yaml.parse(text, Loader=yaml.SafeLoader))
        lines: dict[Path, int] = {}
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is not None:
            _walk(node, (), lines)
        return Document(yaml.safe_load(text), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f"line {mark.line + 1}: "
        raise InvalidOption(f"{where}{error.problem or 'it is not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidOption):
            raise
        raise InvalidOption("it is not YAML that can be read") from None


def _check(events: Iterable[Any]) -> None:
    """Before anything is made of it: a few lines of aliases make gigabytes, and depth takes for ever."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > MAX_DEPTH or kind == "AliasEvent":
            problem = "it is too deep" if depth > MAX_DEPTH else "anchors and aliases are not read"
            raise InvalidOption(f"line {event.start_mark.line + 1}: {problem}")


def _walk(node: Any, path: Path, lines: dict[Path, int]) -> None:
    lines[path] = node.start_mark.line + 1
    if node.id == "sequence":
        for n, each in enumerate(node.value):
            _walk(each, (*path, n), lines)
    elif node.id == "mapping":
        for key, value in node.value:
            place = (*path, str(key.value))
            if place in lines:
                raise InvalidOption(f"line {key.start_mark.line + 1}: {key.value!r} is given twice")
            _walk(value, place, lines)
            lines[place] = key.start_mark.line + 1
