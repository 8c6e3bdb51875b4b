"""The life of one alert: pending, firing, resolved. Pure: the time is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from penstock.alerts.rules import Hit, Severity

GIVE_UP_AFTER = 3_600.0  # seconds after which a channel that cannot be reached is not told any more


class Phase(StrEnum):
    PENDING = "pending"  # so, but not for long enough yet
    FIRING = "firing"
    RESOLVED = "resolved"  # over, and not everybody who was told of it knows


class Event(StrEnum):
    """What is written to the history."""

    FIRING = "firing"
    ESCALATED = "escalated"  # it has become worse while it was firing
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds."""

    recover_after: float = 60.0  # that a condition must not be so before the alert is over
    repeat_every: float = 14_400.0  # after which those who were told are told again; 0: never


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An alert, as it stands."""

    rule: str
    subject: str
    severity: Severity
    message: str
    phase: Phase
    since: datetime  # when the condition came to be so
    fired_at: datetime | None = None
    clear_at: datetime | None = None  # when it was first seen not to be so any more
    resolved_at: datetime | None = None
    owed: tuple[str, ...] = ()  # channels to be told how it stands
    owed_at: datetime | None = None  # since when
    failing_at: datetime | None = None  # since when that fails
    told: tuple[str, ...] = ()  # channels that know that it fires
    told_at: datetime | None = None


def step(
    standing: Standing | None, hit: Hit | None, channels: tuple[str, ...], now: datetime, pace: Pace
) -> tuple[Standing | None, Event | None]:
    """How an alert stands after one look, and what has happened. None: there is none."""
    if hit is not None:
        return _so(standing, hit, channels, now, pace)
    if standing is None or standing.phase is Phase.PENDING:
        return None, None
    if standing.phase is Phase.FIRING:
        return _not_so(standing, now, pace)
    return _given_up(standing, now), None


def _so(
    standing: Standing | None, hit: Hit, channels: tuple[str, ...], now: datetime, pace: Pace
) -> tuple[Standing | None, Event | None]:
    if standing is None:
        standing = Standing(
            rule=hit.rule.name,
            subject=hit.subject,
            severity=hit.severity,
            message=hit.message,
            phase=Phase.PENDING,
            since=now,
        )
    if standing.phase is Phase.FIRING:
        return _still_so(replace(standing, clear_at=None), hit, channels, now, pace)
    if standing.phase is Phase.RESOLVED:
        standing = replace(standing, phase=Phase.PENDING, since=now, owed=(), owed_at=None, resolved_at=None)
    if _seconds(now, standing.since) < hit.rule.condition.hold:
        return standing, None
    fired = replace(
        standing, phase=Phase.FIRING, fired_at=now, clear_at=None, severity=hit.severity, message=hit.message
    )
    missing = tuple(channel for channel in channels if channel not in standing.told)
    return _owing(fired, missing, now), Event.FIRING


def _still_so(
    standing: Standing, hit: Hit, channels: tuple[str, ...], now: datetime, pace: Pace
) -> tuple[Standing, Event | None]:
    if hit.severity.weight > standing.severity.weight:
        worse = replace(standing, severity=hit.severity, message=hit.message)
        return _owing(worse, channels, now), Event.ESCALATED
    standing = replace(standing, message=hit.message)  # as it is now, for those who look
    if standing.owed:
        return _given_up(standing, now) or standing, None
    last = standing.told_at or standing.owed_at
    if pace.repeat_every and last and _seconds(now, last) >= pace.repeat_every:
        return _owing(standing, standing.told or channels, now), None
    return standing, None


def _not_so(standing: Standing, now: datetime, pace: Pace) -> tuple[Standing | None, Event | None]:
    clear_at = standing.clear_at or now
    if _seconds(now, clear_at) < pace.recover_after:
        return replace(standing, clear_at=clear_at), None
    over = replace(standing, phase=Phase.RESOLVED, resolved_at=now, clear_at=clear_at)
    return (_owing(over, standing.told, now) if standing.told else None), Event.RESOLVED


def told(standing: Standing, channel: str, phase: Phase, now: datetime) -> Standing | None:
    """A channel has been told of this phase; None where the alert is over and everybody knows."""
    others = tuple(each for each in standing.told if each != channel)
    owed = tuple(each for each in standing.owed if each != channel)
    knowing = others if phase is Phase.RESOLVED else (*others, channel)
    if phase is not standing.phase:  # it has changed while it was told
        owed = (*owed, channel)
    if standing.phase is Phase.RESOLVED and not owed:
        return None
    return replace(standing, told=knowing, told_at=now, owed=owed, failing_at=None)


def not_told(standing: Standing, now: datetime) -> Standing:
    """A channel could not be told."""
    return standing if standing.failing_at else replace(standing, failing_at=now)


def ended(standing: Standing, channel: str, now: datetime) -> Standing:
    """An alert that was over before this channel had been told that it fires: it must hear of the end too."""
    over = replace(standing, phase=Phase.RESOLVED, resolved_at=now, told=(channel,), told_at=now)
    return _owing(over, (channel,), now)


def _given_up(standing: Standing, now: datetime) -> Standing | None:
    """Without the debt to channels that could not be told for long; None where only that was left of it."""
    if standing.failing_at and _seconds(now, standing.failing_at) >= GIVE_UP_AFTER:
        standing = replace(standing, owed=(), failing_at=None)
    return None if standing.phase is Phase.RESOLVED and not standing.owed else standing


def _owing(standing: Standing, channels: tuple[str, ...], now: datetime) -> Standing:
    return replace(standing, owed=channels, owed_at=now, failing_at=None)


def _seconds(now: datetime, before: datetime) -> float:
    return max(timedelta(0), now - before).total_seconds()
