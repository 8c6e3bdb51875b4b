"""What stands at a moment, kept for a week by the minute, so that rules can be tried on the past."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from penstock.alerts.names import Scope
from penstock.alerts.rules import Subject
from penstock.engine import SERIES_KEPT, Engine
from penstock.model.values import loads

KIND = "gauges"
MOST_QUEUES = 400  # of which it is kept: those with the most in them
PAGE = 200

SYSTEM = ("dlq_size", "workers", "relay_lag")
QUEUE = (
    *("waiting", "active", "delayed", "blocked", "paused", "oldest_age"),
    *("worker_count", "expected_workers", "stalled_count"),
)
NAMES = frozenset({*SYSTEM, *QUEUE})


class Look(NamedTuple):
    """What stood in one minute."""

    system: Mapping[str, float]
    queues: Mapping[str, Mapping[str, float]]


NOTHING = Look({}, {})


class Keeper:
    """Keeps what is seen; the last look of a minute stands for it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: tuple[str, str] | None = None  # the minute and what stood in it, as last written

    async def keep(self, now: datetime, subjects: Iterable[Subject]) -> None:
        """Keep one look."""
        look = _key(now), _body(list(subjects))
        if look != self._kept:
            await self._engine.put_note(KIND, *look, ttl=SERIES_KEPT)
            self._kept = look


async def kept(engine: Engine, since: datetime, until: datetime) -> dict[datetime, Look]:
    """The looks of the minutes that began at or after the first and before the second."""
    found: dict[datetime, Look] = {}
    after = _key(since - timedelta(minutes=1))
    while True:
        page = await engine.notes(KIND, PAGE, after)
        for note in page:
            at = datetime.strptime(note.key, _FORMAT).replace(tzinfo=UTC)
            if at >= until:
                return found
            told = loads(note.body)
            whole = {name: dict.fromkeys(QUEUE, 0.0) | short for name, short in told["queues"].items()}
            found[at] = Look(told["system"], whole)
        if len(page) < PAGE:
            return found
        after = page[-1].key


class Gauge(NamedTuple):
    """What stood in a step of time, at its worst; None where nobody looked."""

    at: datetime
    waiting: float | None = None
    oldest_age: float | None = None
    stalled: float | None = None
    dead_letters: float | None = None
    workers: float | None = None
    relay_lag: float | None = None


def in_steps(
    looks: Mapping[datetime, Look], first: datetime, step: timedelta, many: int, queue: str | None
) -> list[Gauge]:
    """One gauge for each of so many steps from the first on: of a queue, or of the worst."""
    by_step: dict[int, list[Look]] = {}
    for at, look in looks.items():
        by_step.setdefault((at - first) // step, []).append(look)
    return [_gauge(first + k * step, by_step.get(k, []), queue) for k in range(many)]


def _gauge(at: datetime, looks: list[Look], queue: str | None) -> Gauge:
    if not looks:
        return Gauge(at)
    queues = [told for look in looks for name, told in look.queues.items() if queue is None or name == queue]
    system = [look.system for look in looks]
    return Gauge(
        at,
        waiting=_worst(queues, "waiting") or 0.0,
        oldest_age=_worst(queues, "oldest_age") or 0.0,
        stalled=_worst(queues, "stalled_count") or 0.0,
        dead_letters=_worst(system, "dlq_size"),
        workers=min((told["workers"] for told in system if "workers" in told), default=None),
        relay_lag=_worst(system, "relay_lag"),
    )


def _worst(told: Iterable[Mapping[str, float]], name: str) -> float | None:
    return max((each[name] for each in told if name in each), default=None)


_FORMAT = "%Y-%m-%dT%H:%M"


def _key(at: datetime) -> str:
    return at.astimezone(UTC).strftime(_FORMAT)


def _body(subjects: Sequence[Subject]) -> str:
    system = next(_numbers(each, SYSTEM) for each in subjects if each.scope is Scope.SYSTEM)
    queues = {each.key: _numbers(each, QUEUE) for each in subjects if each.scope is Scope.QUEUE}
    most = sorted(queues, key=lambda name: -(queues[name]["waiting"] + queues[name]["active"]))[:MOST_QUEUES]
    return json.dumps({"system": system, "queues": {name: _short(queues[name]) for name in most}})


def _numbers(subject: Subject, names: Iterable[str]) -> dict[str, float]:
    found = {name: subject.values.get(name) for name in names}
    return {name: round(value, 3) for name, value in found.items() if isinstance(value, int | float)}


def _short(numbers: Mapping[str, float]) -> dict[str, float]:
    """What is 0 need not be written."""
    return {name: value for name, value in numbers.items() if value}
