"""Rules tried on the past: what they would have told of in the minutes that the engine has recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from penstock.alerts import gauges
from penstock.alerts.config import Alerting
from penstock.alerts.failures import Failures, failures_of
from penstock.alerts.gauges import NOTHING, Look
from penstock.alerts.life import Event, Standing, step
from penstock.alerts.names import Scope, Value
from penstock.alerts.recent import Recent, by_queue
from penstock.alerts.rules import Rule, Severity, Subject
from penstock.engine import SERIES_KEPT, Engine, Minute

MINUTE = timedelta(minutes=1)
STEP = timedelta(hours=6)  # read at once
MOST = 10_000  # episodes

RECORDED = frozenset(
    {*gauges.NAMES, "queue", "error_rate", "throughput", "processing_time", "job_name"}
    | {"failures", "failure_class", "timed_out", "missed_deadlines"}
)


@dataclass(slots=True)
class Episode:
    """An alert that would have been."""

    rule: str
    subject: str
    severity: Severity
    message: str
    fired_at: datetime
    resolved_at: datetime | None = None  # None: it would still fire


@dataclass(slots=True)
class Tried:
    """What came of it."""

    since: datetime
    until: datetime
    minutes: int  # of which something was recorded
    episodes: list[Episode] = field(default_factory=list)
    not_tried: dict[str, list[str]] = field(default_factory=dict)  # rules that need what is not recorded


async def backtest(engine: Engine, alerting: Alerting, since: datetime | None = None) -> Tried:
    """Try the rules on what was recorded from then on; at most, and by default, of the last week."""
    now = (await engine.due_schedules(0)).now
    first = now - timedelta(seconds=SERIES_KEPT)
    begin = _minute(max(first, since or first))
    past = _Past(alerting, Tried(begin, now, 0, not_tried=_not_tried(alerting.rules)))
    while begin <= now:
        end = min(begin + STEP, now + MINUTE)
        past.look(begin, end, await engine.series(begin, end), await gauges.kept(engine, begin, end))
        begin = begin + STEP
    return past.tried


def _not_tried(rules: Iterable[Rule]) -> dict[str, list[str]]:
    missing = {rule.name: sorted(rule.condition.names - RECORDED) for rule in rules}
    return {name: names for name, names in missing.items() if names}


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


class _Past:
    """Goes through the minutes."""

    def __init__(self, alerting: Alerting, tried: Tried) -> None:
        self._alerting = alerting
        self._rules = [rule for rule in alerting.rules if rule.name not in tried.not_tried]
        self._standing: dict[tuple[str, str], Standing] = {}
        self._open: dict[tuple[str, str], Episode] = {}
        self.tried = tried

    def look(
        self, begin: datetime, end: datetime, rows: Sequence[Minute], looks: Mapping[datetime, Look]
    ) -> None:
        by_minute: dict[datetime, list[Minute]] = defaultdict(list)
        for row in rows:
            by_minute[_minute(row.at)].append(row)
        self.tried.minutes += len({*by_minute, *looks})
        while begin < end:
            counted, look = by_minute.get(begin, ()), looks.get(begin, NOTHING)
            if counted or look is not NOTHING or self._standing:
                self._move_on(begin + MINUTE, _subjects(counted, look, self._alerting))
            begin += MINUTE

    def _move_on(self, now: datetime, subjects: Iterable[Subject]) -> None:
        pairs = (
            (rule, subject) for subject in subjects for rule in self._rules if rule.scope is subject.scope
        )
        hits = {(hit.rule.name, hit.subject): hit for rule, subject in pairs if (hit := rule.judge(subject))}
        for key in {**self._standing, **hits}:
            after, event = step(self._standing.pop(key, None), hits.get(key), (), now, self._alerting.pace)
            if after is not None:
                self._standing[key] = after
            if event is Event.RESOLVED and key in self._open:
                self._open.pop(key).resolved_at = now
            elif after is not None and event is not None:
                self._fired(key, after, now)

    def _fired(self, key: tuple[str, str], alert: Standing, now: datetime) -> None:
        if key in self._open:
            self._open[key].severity, self._open[key].message = alert.severity, alert.message
        elif len(self.tried.episodes) < MOST:
            episode = Episode(alert.rule, alert.subject, alert.severity, alert.message, now)
            self._open[key] = episode
            self.tried.episodes.append(episode)


def _subjects(rows: Iterable[Minute], look: Look, alerting: Alerting) -> list[Subject]:
    """What was there to look at in one minute."""
    tasks = {(row.queue, row.task): Recent(row.measures) for row in rows}
    ended = by_queue(tasks)
    queues = {
        name: {**look.system, **_queue(name, look, ended.get(name, Recent({})), alerting)}
        for name in sorted({*look.queues, *ended})
    }
    found = [Subject(Scope.SYSTEM, "system", look.system)]
    found += [Subject(Scope.QUEUE, name, values) for name, values in queues.items()]
    failures = failures_of(tasks, ())
    for (queue, task), counted in tasks.items():
        failed = failures.get((queue, task), Failures(0.0, None))
        own: dict[str, Value] = {
            "job_name": task,
            "failures": failed.number,
            "failure_class": failed.worst,
            "timed_out": counted.of("timed_out"),
            "missed_deadlines": counted.of("missed"),
        }
        found.append(Subject(Scope.TASK, f"{queue}/{task}", {**queues[queue], **own}))
    return found


def _queue(name: str, look: Look, ended: Recent, alerting: Alerting) -> dict[str, Value]:
    expected = alerting.expected_workers.get(name)
    return {
        **look.queues.get(name, {}),
        **({} if expected is None else {"expected_workers": float(expected)}),
        "queue": name,
        "error_rate": ended.error_rate,
        "throughput": ended.throughput,
        "processing_time": ended.processing_time,
    }
