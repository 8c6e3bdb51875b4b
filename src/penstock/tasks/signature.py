"""A handler's signature, read and judged when it is declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, get_type_hints

from penstock.model.errors import InvalidOption
from penstock.model.masking import Place
from penstock.tasks.context import Context, SyncContext
from penstock.tasks.secret_fields import place_of, unmarked

_UNSUPPORTED = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only; drop the '/', arguments travel by name",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values; take one list instead",
    inspect.Parameter.VAR_KEYWORD: "takes any names; take one dict instead",
}
_CONTEXTS = {kind.__name__: kind for kind in (Context, SyncContext)}


class Unreadable(InvalidOption):
    """An annotation names what is not there, or not yet."""


@dataclass(frozen=True)
class Signature:
    """What a handler takes, its context aside, and what it returns. Types are resolved when first needed."""

    fn: Callable[..., Any]
    is_async: bool
    takes_context: bool
    parameters: tuple[inspect.Parameter, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)

    @cached_property
    def positional(self) -> tuple[str, ...]:
        """The names that may be given by position."""
        return tuple(p.name for p in self.parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {p.name: p.default for p in self.parameters if p.default is not inspect.Parameter.empty}

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type of each parameter; Any where none is written."""
        return {name: unmarked(kind) for name, kind in self._written.items()}

    @cached_property
    def places(self) -> dict[str, Place]:
        """Where each parameter is marked as Secret."""
        return {name: self._place(name, kind) for name, kind in self._written.items()}

    def _place(self, name: str, kind: Any) -> Place:
        try:
            return place_of(kind)
        except Exception as error:  # noqa: BLE001 - annotations of fields are expressions too
            raise Unreadable(
                f"{_named(self.fn)}: a field in the type of {name!r} cannot be read "
                f"({type(error).__name__}: {error}); import what it names at module level"
            ) from None

    @cached_property
    def _written(self) -> dict[str, Any]:
        written = {
            p.name: p.annotation for p in self.parameters if p.annotation is not inspect.Parameter.empty
        }
        return dict.fromkeys(self.names, Any) | _resolve(self.fn, written)

    @cached_property
    def returns(self) -> Any:
        """The type of the result; Any where none is written."""
        written = inspect.signature(self.fn).return_annotation
        if written is inspect.Signature.empty:
            return Any
        return _resolve(self.fn, {"return": written})["return"]


def read_signature(fn: Callable[..., Any]) -> Signature:
    """Read a handler's signature, or refuse with what to write instead."""
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise InvalidOption(f"{_named(fn)} is a generator; a task returns one value")
    parameters = tuple(inspect.signature(fn).parameters.values())
    is_async = inspect.iscoroutinefunction(fn)
    takes_context = _takes_context(fn, parameters, is_async)
    if takes_context:
        parameters = parameters[1:]
    for parameter in parameters:
        if parameter.kind in _UNSUPPORTED:
            raise InvalidOption(f"{_named(fn)}: parameter {parameter} {_UNSUPPORTED[parameter.kind]}")
    return Signature(fn, is_async, takes_context, parameters)


def _takes_context(fn: Callable[..., Any], parameters: tuple[inspect.Parameter, ...], is_async: bool) -> bool:
    kinds = [_context_kind(fn, p) for p in parameters]
    wanted = Context if is_async else SyncContext
    for parameter, kind in list(zip(parameters, kinds, strict=True))[1:]:
        if kind in (Context, SyncContext):
            raise InvalidOption(f"{_named(fn)}: the context goes first; move {parameter.name!r} there")
    if not parameters or kinds[0] is None:
        return False
    first = parameters[0]
    if kinds[0] is not wanted:
        raise InvalidOption(
            f"{_named(fn)}: write the first parameter as '{first.name}: {wanted.__name__}' to get the "
            "context, or give it the type of the argument it stands for"
        )
    if first.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL):
        raise InvalidOption(
            f"{_named(fn)}: the context is given by position; move {first.name!r} before the '*'"
        )
    return True


def _context_kind(fn: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Context, SyncContext, None for an ordinary argument; or object for what could be either."""
    written = parameter.annotation
    if written is inspect.Parameter.empty:
        return object if parameter.name == "ctx" else None
    if isinstance(written, str):
        # The name stands for itself where its import is only there for the type checker.
        last = written.rpartition(".")[2]
        try:
            written = _resolve(fn, {"it": written})["it"]
        except InvalidOption:
            return _CONTEXTS.get(last)
    if written is Any:
        return object
    return written if written in (Context, SyncContext, object) else None


def _resolve(fn: Callable[..., Any], written: dict[str, Any]) -> dict[str, Any]:
    code = inspect.unwrap(fn)
    known, nearby = getattr(code, "__globals__", {}), _closure(code)
    found: dict[str, Any] = {}
    for name, annotation in written.items():
        holder = SimpleNamespace(__annotations__={name: annotation})
        try:
            found |= get_type_hints(holder, known, nearby, include_extras=True)
        except Exception as error:  # noqa: BLE001 - an annotation is an expression, which may raise anything
            what = "return type" if name == "return" else f"type of {name!r}"
            raise Unreadable(
                f"{_named(fn)}: the {what}, {str(annotation)!r}, cannot be read ({type(error).__name__}: "
                f"{error}); import what it names at module level, outside 'if TYPE_CHECKING'"
            ) from None
    return found


def _closure(fn: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if inspect.isfunction(fn):
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            with suppress(ValueError):  # a name not bound yet, such as the task's own inside its handler
                found[name] = cell.cell_contents
    return found


def _named(fn: Callable[..., Any]) -> str:
    return f"task function {getattr(fn, '__qualname__', repr(fn))!r}"
