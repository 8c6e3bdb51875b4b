"""Events: one thing that happened makes jobs of every task that declares `on=` it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.model.errors import InvalidValue
from penstock.model.names import check_name
from penstock.tasks.call import Call
from penstock.tasks.registry import Registry


def calls_for(
    registry: Registry, event: str, payload: Mapping[str, Any] | None, key: str | None = None
) -> list[Call[Any]]:
    """A call of each task that the event triggers, with those fields of the payload that it takes.

    What a task does not take is left out, so that an event may grow; what it lacks is InvalidArguments.
    `key` is that of the jobs whose tasks make none of their own.
    """
    check_name("event", event)
    if payload is not None and not isinstance(payload, Mapping):
        raise InvalidValue(f"the payload of event {event!r} is a mapping of names to values")
    given = dict(payload or {})
    return [
        (task if task.declared.key else task.using(key=key)).call(
            **{name: given[name] for name in task.declared.signature.names if name in given}
        )
        for task in registry.triggered_by(event)
    ]
