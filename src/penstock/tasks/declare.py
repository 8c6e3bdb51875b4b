"""`app.task`: the decorator, typed so that a wrong use of a task is a type checker's error."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from penstock.model.errors import Duration, InvalidOption
from penstock.model.failure import Classifier
from penstock.model.priority import PriorityOption
from penstock.tasks.context import Context, SyncContext
from penstock.tasks.declared import ExecuteOption, TaskOptions
from penstock.tasks.gate import Switch, WhenDisabled
from penstock.tasks.inherit import Inherited, RetryOption
from penstock.tasks.task import AsyncContextTask, AsyncTask, SyncContextTask, SyncTask, Task
from penstock.tasks.unique import UniqueOption

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS = [f.name for f in fields(TaskOptions)]


class Declare:
    """Makes tasks of functions, bare or with options; options may be given in several steps."""

    def __init__(
        self, register: Callable[[Callable[..., Any], TaskOptions], Task[Any, Any]], options: TaskOptions
    ) -> None:
        self._register = register
        self._options = options

    # Every async function is also a function: the first overload that fits is the one that is meant.
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> AsyncContextTask[P, R]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[SyncContext, P], R], /) -> SyncContextTask[P, R]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, fn: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> SyncTask[P, R]: ...
    @overload
    def __call__(
        self,
        /,
        *,
        queue: str = ...,
        name: str = ...,
        description: str = ...,
        timeout: Duration | Inherited | None = ...,
        key: str = ...,
        retry: RetryOption = ...,
        priority: PriorityOption = ...,
        execute: ExecuteOption = ...,
        expire_after: Duration = ...,
        classify: Classifier = ...,
        enabled: Switch = ...,
        when_disabled: WhenDisabled = ...,
        rate: str = ...,
        rate_key: str = ...,
        concurrency: int = ...,
        needs: str | Sequence[str] = ...,
        on: str = ...,
        unique: UniqueOption = ...,
        effects_for: Duration = ...,
        secret: str | Sequence[str] = ...,
        searchable: str | Sequence[str] = ...,
    ) -> Declare: ...

    def __call__(self, fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a function, or take options for the function to come."""
        chosen = self if not options else self._with(options)
        return chosen if fn is None else self._register(fn, chosen._options)

    def _with(self, options: dict[str, Any]) -> Declare:
        for name in options:
            if name not in _OPTIONS:
                close = get_close_matches(name, _OPTIONS, 1) or [", ".join(_OPTIONS)]
                raise InvalidOption(f"a task has no option {name!r}; there is {close[0]}")
        return Declare(self._register, replace(self._options, **options))
