"""What is shown of payloads: arguments that their tasks declare secret are masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from penstock.engine import Flow
from penstock.model.job import DeadLetter, Job
from penstock.model.masking import UNKNOWN, filled_in, masked
from penstock.model.masking import Record as Declared
from penstock.model.record import Record
from penstock.model.redaction import members_by_name
from penstock.tasks.registry import Registry

T = TypeVar("T", Job, DeadLetter)


class Veil:
    """Over all that people are shown of jobs, unless it is lifted."""

    def __init__(self, registry: Registry, *, lifted: bool = False) -> None:
        self._registry = registry
        self._lifted = lifted

    def payload(self, task_name: str, text: str) -> str:
        """The payload as it may be shown. Of a task that is not known here, by names alone."""
        return text if self._lifted else masked(text, self._declared(task_name))

    def filled_in(self, task_name: str, args: Mapping[str, Any], stored: str) -> dict[str, Any]:
        """Arguments that somebody wrote by what they were shown: a mask means what is stored."""
        whole: dict[str, Any] = filled_in(dict(args), members_by_name(stored), (self._declared(task_name),))
        return whole

    def _declared(self, task_name: str) -> Declared:
        task = self._registry.get(task_name)
        return UNKNOWN if task is None else task.privacy.declared

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
