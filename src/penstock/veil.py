"""What is shown of payloads: arguments that their tasks declare secret are masked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from penstock.engine import Flow
from penstock.model.errors import InvalidOption
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record
from penstock.model.redaction import MASK, masked_members, members_by_name, named_secret
from penstock.tasks.registry import Registry

T = TypeVar("T", Job, DeadLetter)


class Veil:
    """Over all that people are shown of jobs, unless it is lifted."""

    def __init__(self, registry: Registry, *, lifted: bool = False) -> None:
        self._registry = registry
        self._lifted = lifted

    def payload(self, task_name: str, text: str) -> str:
        """The payload as it may be shown. Of a task that is not known here, by the names of its arguments."""
        if self._lifted:
            return text
        return masked_members(text, self._secret(task_name))

    def filled_in(self, task_name: str, args: Mapping[str, Any], stored: str) -> dict[str, Any]:
        """Arguments that somebody wrote by what they were shown: a mask means what is stored."""
        is_secret = self._secret(task_name)
        masked = [name for name, value in args.items() if value == MASK and is_secret(name)]
        kept = members_by_name(stored) if masked else {}
        if missing := [name for name in masked if name not in kept]:
            raise InvalidOption(f"{missing[0]!r} is masked, and nothing is stored of it; give its value")
        return {**args, **{name: kept[name] for name in masked}}

    def _secret(self, task_name: str) -> Callable[[str], bool]:
        task = self._registry.get(task_name)
        return named_secret if task is None else task.privacy.secret.__contains__

    def over(self, found: T) -> T:
        """A job, or a dead letter."""
        shown = self.payload(found.task, found.args_json)
        return found if shown == found.args_json else replace(found, args_json=shown)

    def over_all(self, found: Iterable[T]) -> list[T]:
        return [self.over(each) for each in found]

    def record(self, record: Record) -> Record:
        return replace(record, payload_json=self.payload(record.job_type, record.payload_json))

    def flow(self, flow: Flow) -> Flow:
        return replace(flow, jobs=tuple(self.over(job) for job in flow.jobs))
