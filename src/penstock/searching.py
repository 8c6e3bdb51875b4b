"""Finding jobs by what no index tells, such as their tags or searchable arguments: a bounded look."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from penstock.engine import NOT_READ, Engine, JobFilter
from penstock.model.errors import InvalidOption
from penstock.model.job import Job
from penstock.model.values import readable
from penstock.tasks.registry import Registry

MOST = 5_000  # jobs looked at for one page …
MOST_WHOLE = 2_000  # … and where their payloads are read
STEP = 1_000
WHOLE = 25  # payloads read at once: each may have a megabyte …
SMALL = 200  # … and so many where those before were small
SMALL_CHARS = 100_000  # in a step
MAX_ARGS = 5


class NotSearchable(InvalidOption):
    """Jobs cannot be found by this; says by what they can. Never tells the value."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What is asked of each job beside a filter."""

    args: Mapping[str, str] = field(default_factory=dict)  # these arguments, as text
    tag: str | None = None
    recovered: bool | None = None  # made anew as another job, or not

    def __bool__(self) -> bool:
        return bool(self.args) or self.tag is not None or self.recovered is not None

    def __str__(self) -> str:
        """In words."""
        said = [f"tag {self.tag}"] if self.tag else []
        if self.recovered is not None:
            said.append("recovered" if self.recovered else "not recovered")
        return ", ".join([*said, *(f"args.{name} {value}" for name, value in self.args.items())])


class Found(NamedTuple):
    """One page. It can be short, or empty, and there still be more: then `next` says where to go on."""

    jobs: Sequence[Job]
    next: str | None  # give it as `after`; None: that was all


class Searching:
    """Looks through jobs, newest first; the same over every engine."""

    def __init__(self, engine: Engine, registry: Registry) -> None:
        self._engine = engine
        self._registry = registry

    async def page(self, where: JobFilter, fit: Fit, limit: int, after: str | None = None) -> Found:
        """The jobs that fit; `after` is the `next` of the page before."""
        self.check(where.task, fit.args)
        found: list[Job] = []
        whole = bool(fit.args) or where.payloads
        step, left = (WHOLE, MOST_WHOLE) if whole else (STEP, MOST)
        while left:
            jobs = await self._engine.jobs(replace(where, payloads=whole), step, after)
            left -= len(jobs)
            for job in jobs:
                after = job.id
                if fits(job, fit):
                    found.append(job if where.payloads else replace(job, args_json=NOT_READ))
                    if len(found) == limit:
                        return Found(found, after)
            if len(jobs) < step:
                return Found(found, None)
            step = min(left, _step(jobs) if whole else STEP)
        return Found(found, after)

    def check(self, task_name: str | None, args: Mapping[str, str]) -> None:
        """NotSearchable where its jobs cannot be found by these."""
        if not args:
            return
        if task_name is None:
            raise NotSearchable("a search by arguments needs the task: its declaration says by which")
        task = self._registry.get(task_name)
        if task is None:
            raise NotSearchable("there is no such task here, and so none of its arguments to search by")
        names = task.privacy.searchable
        if not set(args) <= set(names):
            by = f"only by {', '.join(names)}" if names else "by none of their arguments"
            raise NotSearchable(f"jobs of task {task.name!r} can be found {by}: see searchable= of the task")
        if len(args) > MAX_ARGS:
            raise NotSearchable(f"a search takes at most {MAX_ARGS} arguments")


def _step(before: Sequence[Job]) -> int:
    """How many to read with their payloads, after these."""
    return SMALL if sum(len(job.args_json) for job in before) < SMALL_CHARS else WHOLE


def fits(job: Job, fit: Fit) -> bool:
    """Whether a job is as asked."""
    if fit.tag is not None and fit.tag not in job.tags:
        return False
    if fit.recovered not in (None, job.recovered_as is not None):
        return False
    if not fit.args:
        return True
    payload = readable(job.args_json)
    return isinstance(payload, dict) and all(
        name in payload and _text(payload[name]) == value for name, value in fit.args.items()
    )


def _text(value: Any) -> str | None:
    """A value as somebody types it: text as it is, anything else as JSON; no lists and objects."""
    if isinstance(value, str):
        return value
    return None if isinstance(value, list | dict) else json.dumps(value)
