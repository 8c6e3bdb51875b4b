"""A part of penstock.yaml: asked for by name, and every complaint has its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeVar

from penstock.alerts.yaml_lines import Document, Path
from penstock.model.errors import InvalidOption
from penstock.model.redaction import named_secret

T = TypeVar("T")


class Located(InvalidOption):
    """It says already where it is."""


class Section:
    """A mapping in the document."""

    def __init__(self, document: Document, path: Path = ()) -> None:
        self._document = document
        self._path = path
        data = document.data
        for part in path:
            data = data[part]
        if not isinstance(data, Mapping):
            raise self.wrong(None, "must be names with values below them")
        self.data: Mapping[str, Any] = data
        for name in data:
            if not isinstance(name, str):
                raise self.wrong(None, f"{name!r} is not a name; put it in quotes")

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def only(self, *names: str) -> None:
        """InvalidOption for what is none of these."""
        for name in self.data:
            if name not in names:
                close = get_close_matches(name, names, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}"
                raise self.wrong(name, f"is not known; {hint}")

    def section(self, name: str) -> Section:
        return Section(self._document, (*self._path, name))

    def read(self, name: str, reader: Callable[[Any], T], default: T) -> T:
        """What is given under this name, read; the default where nothing is."""
        if name not in self.data:
            return default
        with self.at(name):
            return reader(self.data[name])

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """What is wrong inside is wrong with this."""
        try:
            yield
        except Located:
            raise
        except InvalidOption as error:
            # A word behind "secret: " would be taken for one, and masked.
            raise self.wrong(name, str(error), joined=" – " if named_secret(name) else ": ") from None

    def wrong(self, name: str | None, problem: str, joined: str = " ") -> InvalidOption:
        path = self._path if name is None else (*self._path, name)
        line = next((found for n in range(len(path), -1, -1) if (found := self._line(path[:n]))), 1)
        what = ".".join(str(part) for part in path)
        return Located(f"line {line}: {what}{joined if what else ''}{problem}")

    def _line(self, path: Path) -> int | None:
        return self._document.lines.get(path)


def texts(value: Any) -> tuple[str, ...]:
    """A text, or a list of them."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not all(isinstance(each, str) and each for each in found):
        raise InvalidOption("takes a text, or a list of texts")
    return tuple(found)


def text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidOption("takes a text")
    return value
