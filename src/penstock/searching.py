"""Finding jobs by their arguments: only by those that their task declares searchable, and a bounded look."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.engine import NOT_READ, Engine, JobFilter
from penstock.model.errors import InvalidOption
from penstock.model.job import Job
from penstock.model.values import readable
from penstock.tasks.registry import Registry

MOST = 5_000  # jobs looked at for one page
STEP = 25  # at once: each may have a payload of a megabyte
MAX_ARGS = 5


class NotSearchable(InvalidOption):
    """Jobs cannot be found by this; says by what they can. Never tells the value."""


class Found(NamedTuple):
    """One page. It can be short, or empty, and there still be more: then `next` says where to go on."""

    jobs: Sequence[Job]
    next: str | None  # give it as `after`; None: that was all


class Searching:
    """Looks through the jobs of one task, newest first; the same over every engine."""

    def __init__(self, engine: Engine, registry: Registry) -> None:
        self._engine = engine
        self._registry = registry

    async def page(
        self, where: JobFilter, args: Mapping[str, str], limit: int, after: str | None = None
    ) -> Found:
        """The jobs whose arguments are these, as text; `after` is the `next` of the page before."""
        self._check(where.task, args)
        found: list[Job] = []
        for _ in range(MOST // STEP):
            jobs = await self._engine.jobs(replace(where, payloads=True), STEP, after)
            for job in jobs:
                after = job.id
                if _fits(job, args):
                    found.append(job if where.payloads else replace(job, args_json=NOT_READ))
                    if len(found) == limit:
                        return Found(found, after)
            if len(jobs) < STEP:
                return Found(found, None)
        return Found(found, after)

    def _check(self, task_name: str | None, args: Mapping[str, str]) -> None:
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


def _fits(job: Job, args: Mapping[str, str]) -> bool:
    payload = readable(job.args_json)
    return isinstance(payload, dict) and all(
        name in payload and _text(payload[name]) == value for name, value in args.items()
    )


def _text(value: Any) -> str | None:
    """A value as somebody types it: text as it is, anything else as JSON; no lists and objects."""
    if isinstance(value, str):
        return value
    return None if isinstance(value, list | dict) else json.dumps(value)
