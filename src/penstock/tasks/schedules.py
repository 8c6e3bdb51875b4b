"""Declaring schedules: options checked and completed by those of the task."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, get_args

from penstock.engine import Overlap
from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.model.job import AtDeadline, NewJob
from penstock.model.names import check_name
from penstock.model.priority import PriorityOption
from penstock.model.schedule import Missed, timing
from penstock.tasks import overrides
from penstock.tasks.call import Call
from penstock.tasks.inherit import INHERIT, Inherited, RetryOption, count, nearest
from penstock.tasks.spec import MAX_KEY, Spec
from penstock.tasks.task import Sendable, Task

Target: TypeAlias = Sendable[..., Any] | Call[Any]


class ScheduleOptions(TypedDict, total=False):
    """What `app.schedule` takes besides a name and a task: see there."""

    cron: str | None
    every: Duration | None
    tz: str
    args: Mapping[str, Any] | None
    after: Iterable[str]
    overlap: Overlap
    missed: Missed
    start: datetime | None
    end: datetime | None
    deadline: Duration | None
    on_deadline: AtDeadline | None
    priority: PriorityOption | None
    owner: str | None
    retry: RetryOption | None
    timeout: Duration | Inherited | None
    expire_after: Duration | None
    keep_completed: int | Inherited | None
    keep_failed: int | Inherited | None


@dataclass(slots=True)
class Schedules:
    """The schedules that an app declares, by name; `source` is whose they are."""

    declared: dict[str, Spec] = field(default_factory=dict)
    source: Callable[[], str] = str  # the name of the app

    def add(self, name: str, spec: Spec) -> None:
        """Declare one. Again in the same way is fine; in another way is refused."""
        known = self.declared.get(name)
        if known is not None and known.text() != spec.text():
            raise InvalidOption(f"schedule {name!r} is declared already, in another way")
        missing = [upstream for upstream in spec.after if upstream not in self.declared]
        if missing:
            raise InvalidOption(f"schedule {name!r} comes after {missing[0]!r}: declare that one before it")
        self.declared[name] = spec

    def of_task(self, task: str) -> list[tuple[str, Spec]]:
        """Those declared for a task, by name."""
        return sorted((name, spec) for name, spec in self.declared.items() if spec.job.task == task)


def make_spec(name: str, target: Target, options: ScheduleOptions) -> Spec:
    """A schedule with every option checked; InvalidOption names it."""
    check_name("schedule", name)
    if unknown := options.keys() - ScheduleOptions.__annotations__.keys():
        raise InvalidOption(f"schedule {name!r}: there is no option {min(unknown)!r}")
    try:
        return _spec(name, target, options)
    except InvalidOption as error:
        raise InvalidOption(f"schedule {name!r}: {error}") from None


def _spec(name: str, target: Target, options: ScheduleOptions) -> Spec:
    given: dict[str, Any] = {key: options.get(key) for key in ("cron", "every", "start", "end")}
    given["tz"] = options.get("tz", "UTC")
    call = _call(target, options.get("args"))
    after = _names(name, options.get("after", ()))
    deadline, on_deadline = options.get("deadline"), options.get("on_deadline")
    if not after and (deadline is not None or on_deadline is not None):
        raise InvalidOption("deadline= bounds the wait for after=; a job that must start in time expires")
    return Spec(
        timing=timing(**given),
        job=_template(call, options),
        missed=_one_of("missed", options.get("missed", "once"), Missed),
        overlap=_one_of("overlap", options.get("overlap", "allow"), Overlap),
        after=after,
        deadline=None if deadline is None else in_seconds("deadline", deadline),
        on_deadline=_one_of("on_deadline", on_deadline or "skip", AtDeadline),
        kept=_kept(call.task, options.get("keep_completed", INHERIT), options.get("keep_failed", INHERIT)),
    )


def _call(target: Target, args: Mapping[str, Any] | None) -> Call[Any]:
    if args is not None and not isinstance(args, Mapping):
        raise InvalidOption(f"args= takes a mapping of names to values, not {type(args).__name__}")
    if isinstance(target, Sendable):
        return target.call(**dict(args or {}))
    if not isinstance(target, Call):
        raise InvalidOption(f"give it a task of the app, or a call of one, not {target!r}")
    if args is not None:
        raise InvalidOption("give args= with a task, or a call, which has its arguments already")
    return target


def _template(call: Call[Any], options: ScheduleOptions) -> NewJob:
    """The job that each tick makes. What the call was given comes first, then the schedule, then the task."""
    task, job = call.task, call.job
    if job.unique and len(job.key) > MAX_KEY:
        raise InvalidOption(f"its key may have {MAX_KEY} characters at most: the tick is added to it")
    names = ("priority", "owner", "retry", "timeout", "expire_after")
    plan = task.using(**{name: options[name] for name in names if name in options})._plan  # type: ignore[literal-required]
    own = overrides.read(job.options) if job.options else overrides.Overrides()
    plan = task.overridden(plan, own.retry, own.timeout, own.tags or None)
    chosen = {name: getattr(plan, name) for name in ("max_attempts", "options")}
    for name in ("priority", "owner", "expire_after"):
        by_call = getattr(job, name)
        chosen[name] = by_call if by_call != getattr(task._plan, name) else getattr(plan, name)
    return job._replace(id="", ties=None, **chosen)


def _names(name: str, after: Iterable[str]) -> tuple[str, ...]:
    if isinstance(after, str):
        raise InvalidOption(f"after= takes a list of names: after=[{after!r}]")
    names = tuple(dict.fromkeys(check_name("schedule", each) for each in after))
    if name in names:
        raise InvalidOption("it cannot come after itself")
    return names


def _one_of(what: str, value: Any, kind: Any) -> Any:
    if value not in get_args(kind):
        words = ", ".join(repr(word) for word in get_args(kind))
        raise InvalidOption(f"{what}= is one of {words}, not {value!r}")
    return value


def _kept(
    task: Task[Any, Any], completed: int | Inherited | None, failed: int | Inherited | None
) -> tuple[int | None, int | None, float | None] | None:
    if completed is INHERIT and failed is INHERIT:
        return None
    inherited = task.declared.queue.retention
    kept = nearest(completed, inherited.keep_completed), nearest(failed, inherited.keep_failed)
    for what, value in zip(("keep_completed", "keep_failed"), kept, strict=True):
        if value is not None:
            count(what, value)
    if inherited.keep_completed == 0 and kept[0] != 0:
        raise InvalidOption(f"queue {task.queue!r} keeps no completed jobs at all: keep_completed=0 there")
    return (*kept, inherited.max_age)


def name_of(app: object, module: str) -> str:
    """The name by which an app is known where nobody gave it one: the module that made it, and the variable.

    The same whether that module is imported, loaded from its file, or run.
    """
    found = sys.modules.get(module)
    variable = next((name for name, value in vars(found).items() if value is app), "") if found else ""
    if module == "__main__":
        file = getattr(found, "__file__", None)
        spec = getattr(found, "__spec__", None)
        module = spec.name.removesuffix(".__main__") if spec else Path(file).stem if file else module
    return f"{module}:{variable}" if variable else module
