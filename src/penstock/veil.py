"""What is shown of payloads: arguments that their tasks declare secret are masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from penstock.engine import Flow
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record
from penstock.model.redaction import MASK, masked_members, named_secret
from penstock.model.values import readable
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
        task = self._registry.get(task_name)
        return masked_members(text, named_secret if task is None else task.privacy.secret.__contains__)

    def unmasked(self, task_name: str, given: Mapping[str, Any], stored: str) -> dict[str, Any]:
        """Arguments that somebody has changed who saw them masked: what is still a mask stays as stored."""
        kept = readable(stored)
        hidden = readable(self.payload(task_name, stored))
        if not isinstance(kept, dict) or not isinstance(hidden, dict):
            return dict(given)
        return {
            name: kept[name] if value == MASK and hidden.get(name) == MASK else value
            for name, value in given.items()
        }

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
