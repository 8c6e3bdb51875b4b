"""A task's options: as written by the user, and as resolved against its queue and the app."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.model.failure import Classifier
from penstock.model.job import Window
from penstock.model.names import check_name
from penstock.model.priority import Priority, PriorityOption
from penstock.model.retry import Retry
from penstock.tasks.effects import Lifetimes, effects_for
from penstock.tasks.gate import Gate, Switch, WhenDisabled
from penstock.tasks.inherit import (
    INHERIT,
    Inherited,
    RetryOption,
    nearest,
    policy,
    time_limit,
)
from penstock.tasks.keys import KeyTemplate
from penstock.tasks.limited import LaneRule, lane_rule
from penstock.tasks.privacy import read_names
from penstock.tasks.queue import DEFAULT_QUEUE, Queue
from penstock.tasks.signature import Signature, read_signature
from penstock.tasks.unique import UniqueOption, window_of


class Execute(StrEnum):
    """Where a handler runs: on the worker's event loop, in a thread, or in a process of its own."""

    ASYNC = "async"
    THREAD = "thread"
    PROCESS = "process"


ExecuteOption: TypeAlias = Execute | Literal["async", "thread", "process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """What `app.task(...)` was given."""

    queue: str = DEFAULT_QUEUE
    name: str | None = None
    description: str | None = None
    timeout: Duration | Inherited | None = INHERIT
    key: str | None = None
    retry: RetryOption | None = None
    priority: PriorityOption | None = None
    execute: ExecuteOption | None = None
    expire_after: Duration | None = None
    classify: Classifier | None = None
    enabled: Switch = True
    when_disabled: WhenDisabled | None = None
    rate: str | None = None
    rate_key: str | None = None
    concurrency: int | None = None
    needs: str | Sequence[str] | None = None
    on: str | None = None
    unique: UniqueOption = "record"
    effects_for: Duration | None = None
    secret: str | Sequence[str] = ()
    searchable: str | Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A task's declaration, every option resolved."""

    fn: Callable[..., Any]
    signature: Signature
    name: str
    queue: Queue
    description: str
    execute: Execute
    timeout: float | None  # seconds; None: no limit
    key: KeyTemplate | None
    retry: Retry
    priority: Priority
    expire_after: float | None  # seconds after the due time
    classify: Classifier | None
    gate: Gate
    lane: LaneRule | None  # None: the open lane of its queue
    on: str | None  # the event that makes a job of it
    window: Window  # for how long a job's key keeps others out
    effects_for: Duration | None  # that the records of its effects live; None: as long as they are needed
    lifetimes: Lifetimes
    secret: tuple[str, ...]  # arguments, besides those that are marked in the signature
    searchable: tuple[str, ...]  # arguments


def task_name(fn: Callable[..., Any], options: TaskOptions) -> str:
    """The name a task goes by: the one given, else its function's."""
    name = options.name if options.name is not None else getattr(fn, "__name__", "")
    if name == "<lambda>" or not name:
        raise InvalidOption("a task without a function name of its own needs name=")
    return check_name("task", name)


def resolve(fn: Callable[..., Any], options: TaskOptions, queue: Queue, kept: Lifetimes) -> Declared:
    """Check a declaration and fill in what it inherits from its queue and the app."""
    name = task_name(fn, options)
    signature = read_signature(fn)
    what = f"task {name!r}"
    timeout = time_limit(f"timeout of {what}", nearest(options.timeout, queue.timeout))
    retry = policy(options.retry, queue.retry)
    return Declared(
        fn=fn,
        signature=signature,
        name=name,
        queue=queue,
        description=_description(fn, options),
        execute=_execute(what, options.execute, signature.is_async),
        timeout=timeout,
        key=None if options.key is None else KeyTemplate(name, options.key, signature),
        retry=retry,
        priority=queue.priority if options.priority is None else Priority.of(options.priority),
        expire_after=None
        if options.expire_after is None
        else in_seconds(f"expire_after of {what}", options.expire_after),
        classify=_classifier(what, options.classify),
        gate=Gate(what, options.enabled, options.when_disabled or queue.gate.when_disabled),
        lane=lane_rule(name, signature, queue, options),
        on=None if options.on is None else check_name(f"event (on= of {what})", options.on),
        window=window_of(what, options.unique),
        effects_for=_checked_effects(what, options, signature, kept, retry, timeout),
        lifetimes=kept,
        secret=read_names(f"secret= of {what}", options.secret, signature.names),
        searchable=read_names(f"searchable= of {what}", options.searchable, signature.names),
    )


def _checked_effects(
    what: str,
    options: TaskOptions,
    signature: Signature,
    kept: Lifetimes,
    retry: Retry,
    timeout: float | None,
) -> Duration | None:
    if signature.takes_context:
        effects_for(what, options.effects_for, kept, retry, timeout)
    elif options.effects_for is not None:
        raise InvalidOption(f"effects_for of {what} is for ctx.once(), and it takes no context")
    return options.effects_for


def _description(fn: Callable[..., Any], options: TaskOptions) -> str:
    if options.description is not None:
        return options.description
    text = inspect.getdoc(fn) or ""
    return text.partition("\n")[0].strip()


def _execute(what: str, given: ExecuteOption | None, is_async: bool) -> Execute:
    if given is None:
        return Execute.ASYNC if is_async else Execute.THREAD
    if given not in tuple(Execute):
        raise InvalidOption(f"execute= of {what} is {given!r}; use 'async', 'thread' or 'process'")
    if given == (Execute.THREAD if is_async else Execute.ASYNC):
        kind, may = ("an async", "'async'") if is_async else ("a sync", "'thread'")
        raise InvalidOption(f"{what} is {kind} function, which runs as {may} or 'process', not as {given!r}")
    return Execute(given)


def _classifier(what: str, rule: Classifier | None) -> Classifier | None:
    if rule is not None and not callable(rule):
        raise InvalidOption(f"classify= of {what} takes a function from an exception to a failure class")
    return rule
