"""Rules: what is looked for, how bad it is, who is told, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from penstock.alerts.conditions import Condition, parse_condition
from penstock.alerts.names import Scope, Values, check_known, scope_of
from penstock.alerts.templates import fill, names_in
from penstock.model.failure import HANDLING, Alert, FailureClass


class Severity(StrEnum):
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @property
    def weight(self) -> int:
        return list(Severity).index(self)


BY_FAILURE = "by_failure"  # as bad as the worst class of the failures


class Subject(NamedTuple):
    """One thing that rules look at: a queue, a job, the system as a whole."""

    scope: Scope
    key: str  # of all things of its scope only this one has it; people read it
    values: Values


class Hit(NamedTuple):
    """A rule's condition is so, for one thing."""

    rule: Rule
    subject: str
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    condition: Condition
    severity: Severity | None  # None: BY_FAILURE
    channels: tuple[str, ...]
    message: str
    scope: Scope  # what it looks at
    built_in: bool = False

    def judge(self, subject: Subject) -> Hit | None:
        """Whether its condition is so for this one."""
        if not self.condition.holds(subject.values):
            return None
        message = fill(self.message, subject.values)
        return Hit(self, subject.key, self._severity(subject.values), message)

    def _severity(self, values: Values) -> Severity:
        return self.severity or severity_of(values.get("failure_class"))


def severity_of(failure_class: object) -> Severity:
    """How bad a failure of this class is; of no alerted class, it has made a dead letter."""
    found = next((each for each in FailureClass if each == failure_class), None)
    alert = Alert.NONE if found is None else HANDLING[found].alert
    return Severity.ERROR if alert is Alert.NONE else Severity(alert.value)


def make_rule(
    name: str,
    condition: object,
    severity: Severity | None,
    channels: tuple[str, ...],
    message: str,
    *,
    built_in: bool = False,
) -> Rule:
    """A rule; InvalidOption where it names what there is not, or what no one thing has."""
    parsed = parse_condition(condition)
    named = names_in(message)
    check_known("message", sorted(named))
    return Rule(name, parsed, severity, channels, message, scope_of(parsed.names | named), built_in)


def _built_in(name: str, condition: str, severity: str, message: str) -> Rule:
    by_failure = severity == BY_FAILURE
    channels = ("slack", "pagerduty") if severity == "critical" or by_failure else ("slack",)
    found = None if by_failure else Severity(severity)
    return make_rule(name, condition, found, channels, message, built_in=True)


BUILT_IN: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        _built_in(
            "queue_depth_high",
            "waiting > 1000",
            "warning",
            "Queue {{queue}} depth high: {{waiting}} jobs waiting",
        ),
        _built_in(
            "error_rate_high",
            "error_rate > 0.05",
            "critical",
            "Queue {{queue}} error rate: {{error_rate}}%",
        ),
        _built_in(
            "dlq_threshold",
            "dlq_size > 100",
            "warning",
            "Dead letter queue size: {{dlq_size}}",
        ),
        _built_in(
            "worker_down",
            "worker_count < expected_workers",
            "critical",
            "Worker down: {{queue}} ({{worker_count}}/{{expected_workers}})",
        ),
        _built_in(
            "stalled_jobs",
            "stalled_count > 0 for 5m",
            "warning",
            "Stalled jobs detected in {{queue}}: {{stalled_count}}",
        ),
        _built_in(
            "job_timeout",
            "active_duration > timeout_threshold",
            "warning",
            "Job {{job_name}} running for {{duration}}s (timeout: {{timeout}}s)",
        ),
        _built_in(
            "job_timed_out",
            "timed_out > 0",
            "warning",
            "Job {{job_name}} in {{queue}} was stopped by its timeout: {{timed_out}} in the last minute",
        ),
        _built_in(
            "job_failures",
            "failures > 0",
            BY_FAILURE,
            "Runs of {{job_name}} in {{queue}} failed: {{failures}} in the last minute ({{failure_class}})",
        ),
        _built_in(
            "schedule_not_fired",
            "schedule_lateness > 60",
            "critical",
            "Schedule {{schedule}} did not fire: its tick is {{schedule_lateness}}s late",
        ),
        _built_in(
            "dependency_missed",
            "missed_deadlines > 0",
            "error",
            "Job {{job_name}} in {{queue}} waited for others past its deadline: {{missed_deadlines}} lately",
        ),
        _built_in(
            "task_unknown",
            "unknown_jobs > 0",
            "error",
            "No worker knows task {{job_name}} of {{queue}}, or not so: {{unknown_jobs}} jobs set aside",
        ),
        _built_in(
            "breaker_open",
            "open_breakers > 0",
            "error",
            "Circuit breaker open, its jobs wait: {{breaker_names}}",
        ),
        _built_in(
            "relay_lag_high",
            "relay_lag > 60",
            "critical",
            "Outbox: the oldest row has waited {{relay_lag}}s for a relay",
        ),
    )
}
