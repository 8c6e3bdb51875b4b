"""The catalogue: what is registered, as rows for people and machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.model.limits import in_words
from penstock.model.retry import POLICIES, Retry, Strategy
from penstock.tasks import unique

if TYPE_CHECKING:
    from penstock.tasks.spec import Spec
    from penstock.tasks.task import Task

COLUMNS = (
    *("name", "queue", "description", "priority", "timeout", "retry"),
    *("concurrency", "limit", "needs", "schedules", "on", "execute"),
)


def row(task: Task[Any, Any], schedules: Iterable[tuple[str, Spec]]) -> dict[str, Any]:
    """One task as plain data: its options in words, and the JSON schema of its payload."""
    declared = task.declared
    return {
        "name": task.name,
        "queue": task.queue,
        "description": declared.description,
        "priority": declared.priority.name.lower(),
        "timeout": task.timeout,
        "retry": retry_in_words(task.retry),
        "concurrency": declared.queue.concurrency,
        "limit": _limits(task),
        "needs": ", ".join(task.needs) or None,
        "schedules": [f"{name}: {spec.timing.in_words}" for name, spec in schedules],
        "on": declared.on,
        "execute": task.execute.value,
        "key": None if declared.key is None else declared.key.text,
        "unique": unique.in_words(declared.window) if declared.key is not None else None,
        "enabled": task.closed() is None,
        "secret": task.privacy.paths,
        "searchable": list(task.privacy.searchable),
        "payload": task.privacy.marked(task.arguments.described(task.privacy.declared.members)),
    }


def _limits(task: Task[Any, Any]) -> str | None:
    rule = task.declared.lane
    if rule is None:
        return in_words(task.declared.queue.limit) or None
    if rule.key is None:
        return in_words(rule.group.limit) or None
    return f"{in_words(rule.group.per_key)}, per {rule.key.text}"


def retry_in_words(retry: Retry) -> str:
    """A policy in one line: its name where it has one, the attempts and the waits."""
    name = next((name for name, known in POLICIES.items() if known == retry), None)
    prefix = f"{name}: " if name not in (None, *Strategy) else ""
    if retry.attempts == 1:
        return f"{prefix}1 attempt"
    waits = {
        Strategy.EXPONENTIAL: f"{retry.delay:g} s × {retry.factor:g}",
        Strategy.FIXED: f"{retry.delay:g} s each",
    }.get(retry.strategy, "at once")
    cap = f", at most {retry.cap:g} s" if retry.cap is not None else ""
    return f"{prefix}{retry.attempts} attempts, {waits}{cap}"


def to_json(rows: Iterable[Mapping[str, Any]]) -> str:
    """The whole catalogue as JSON text."""
    return json.dumps(list(rows), ensure_ascii=False, indent=2)


def to_markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """The catalogue as a Markdown table, without the payload schemas."""
    lines = [_line(COLUMNS), _line("---" for _ in COLUMNS)]
    lines += [_line(_cell(found[column]) for column in COLUMNS) for found in rows]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    if isinstance(value, list):
        value = "; ".join(value) or None  # a comma may be part of a cron
    if value is None:
        return "–"
    return str(value).replace("|", "\\|").replace("\n", " ")
