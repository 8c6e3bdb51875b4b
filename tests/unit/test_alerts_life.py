"""The life of an alert, with the time given: pending, firing, resolved; who is told, when, and once."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from penstock.alerts.life import GIVE_UP_AFTER, Event, Pace, Phase, Standing, ended, not_told, step, told
from penstock.alerts.quiet import QuietHours
from penstock.alerts.rules import BUILT_IN, Hit, Severity, severity_of

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
PACE = Pace(recover_after=60, repeat_every=3_600)
TO = ("slack", "pagerduty")


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def hit(rule: str = "queue_depth_high", severity: Severity = Severity.WARNING, message: str = "deep") -> Hit:
    return Hit(BUILT_IN[rule], "email", severity, message)


def fired(seconds: float = 0) -> Standing:
    standing, event = step(None, hit(), TO, at(seconds), PACE)
    assert (standing is not None, event) == (True, Event.FIRING)
    assert standing is not None
    return standing


def known(seconds: float = 0) -> Standing:
    standing: Standing | None = fired(seconds)
    for channel in TO:
        assert standing is not None
        standing = told(standing, channel, Phase.FIRING, at(seconds))
    assert standing is not None
    return standing


def test_without_a_time_it_fires_at_once_and_owes_everybody() -> None:
    assert (fired().phase, fired().owed, fired().told) == (Phase.FIRING, TO, ())


def test_with_a_time_it_is_pending_until_that_has_passed_without_a_break() -> None:
    stalled = hit("stalled_jobs")
    standing, event = step(None, stalled, TO, at(0), PACE)
    assert standing is not None
    assert (standing.phase, standing.owed, event) == (Phase.PENDING, (), None)
    assert step(standing, stalled, TO, at(299), PACE) == (standing, None)
    assert step(standing, None, TO, at(299), PACE) == (None, None)
    later, event = step(standing, stalled, TO, at(300), PACE)
    assert later is not None
    assert (later.phase, later.since, event) == (Phase.FIRING, at(0), Event.FIRING)


def test_while_it_fires_its_words_are_of_now_and_nobody_is_told_for_that() -> None:
    standing, event = step(known(), hit(message="deeper"), TO, at(15), PACE)
    assert standing is not None
    assert (standing.message, standing.owed, standing.fired_at, event) == ("deeper", (), at(0), None)


def test_what_was_told_is_not_told_again_before_the_time_to_repeat_it() -> None:
    standing = known()
    assert standing.owed == ()
    assert step(standing, hit(), TO, at(3_599), PACE) == (standing, None)
    again, event = step(standing, hit(message="deeper"), TO, at(3_600), PACE)
    assert again is not None
    assert (again.owed, again.message, event) == (("slack", "pagerduty"), "deeper", None)
    never, _ = step(standing, hit(), TO, at(10**7), Pace(repeat_every=0))
    assert never == standing


def test_one_that_becomes_worse_is_told_at_once_and_one_that_becomes_better_is_not() -> None:
    worse, event = step(known(), hit(severity=Severity.CRITICAL), TO, at(1), PACE)
    assert worse is not None
    assert (worse.severity, worse.owed, event) == (Severity.CRITICAL, TO, Event.ESCALATED)
    assert step(worse, hit(), TO, at(2), PACE) == (worse, None)


def test_it_is_over_when_it_has_not_been_so_for_a_while_and_those_who_know_are_told() -> None:
    clear, event = step(known(), None, TO, at(10), PACE)
    assert clear is not None
    assert (clear.phase, event) == (Phase.FIRING, None)
    back, event = step(clear, hit(), TO, at(30), PACE)
    assert (back, event) == (known(), None)  # it flapped: nobody hears of it
    over, event = step(clear, None, TO, at(70), PACE)
    assert over is not None
    assert (over.phase, over.owed, event) == (Phase.RESOLVED, TO, Event.RESOLVED)
    half = told(over, "slack", Phase.RESOLVED, at(71))
    assert half is not None
    assert (half.owed, half.told) == (("pagerduty",), ("pagerduty",))
    assert told(half, "pagerduty", Phase.RESOLVED, at(72)) is None


def test_nobody_hears_of_the_end_of_what_he_was_not_told() -> None:
    standing, _ = step(fired(), None, TO, at(10), PACE)
    assert step(standing, None, TO, at(70), PACE) == (None, Event.RESOLVED)


def test_a_channel_told_while_the_alert_ended_hears_of_the_end() -> None:
    late = ended(fired(), "slack", at(80))
    assert (late.phase, late.owed) == (Phase.RESOLVED, ("slack",))
    standing = told(fired(), "slack", Phase.FIRING, at(1))
    clear, _ = step(standing, None, TO, at(10), PACE)
    over, _ = step(clear, None, TO, at(70), PACE)
    assert over is not None
    both = told(over, "pagerduty", Phase.FIRING, at(71))
    assert both is not None
    assert both.owed == TO


def test_what_fires_again_before_its_end_was_told_is_no_news_to_those_who_know() -> None:
    clear, _ = step(known(), None, TO, at(10), PACE)
    over, _ = step(clear, None, TO, at(70), PACE)
    assert over is not None
    half = told(over, "slack", Phase.RESOLVED, at(71))
    again, event = step(half, hit(), TO, at(72), PACE)
    assert again is not None
    assert (again.phase, again.owed, event) == (Phase.FIRING, ("slack",), Event.FIRING)


def test_a_channel_that_cannot_be_told_for_an_hour_is_given_up_until_the_next_repeat() -> None:
    failing = not_told(fired(), at(5))
    assert not_told(failing, at(50)) == failing
    assert step(failing, hit(), TO, at(5 + GIVE_UP_AFTER - 1), PACE) == (failing, None)
    given_up, _ = step(failing, hit(), TO, at(5 + GIVE_UP_AFTER), PACE)
    assert given_up is not None
    assert given_up.owed == ()
    again, _ = step(given_up, hit(), TO, at(6 + GIVE_UP_AFTER), PACE)
    assert again is not None
    assert again.owed == TO


def test_a_clock_that_goes_back_ends_nothing() -> None:
    assert step(known(), hit(), TO, at(-9_999), PACE) == (known(), None)


# -- quiet hours, severities --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("hour", "quiet"), [(21, False), (22, True), (23, True), (0, True), (6, True), (7, False), (12, False)]
)
def test_quiet_hours_go_over_midnight_and_hold_back_what_is_not_critical(hour: int, quiet: bool) -> None:
    sao_paulo = ZoneInfo("America/Sao_Paulo")
    hours = QuietHours(time(22), time(7), sao_paulo)
    now = datetime(2026, 1, 5, hour, tzinfo=sao_paulo).astimezone(UTC)
    assert hours.hold(Severity.WARNING, now) is quiet
    assert hours.hold(Severity.ERROR, now) is quiet
    assert not hours.hold(Severity.CRITICAL, now)
    assert not QuietHours(time(22), time(7), sao_paulo, Severity.ERROR).hold(Severity.ERROR, now)


def test_quiet_hours_within_one_day_end_when_they_say() -> None:
    hours = QuietHours(time(12), time(14))
    assert [hours.hold(Severity.WARNING, NOON + timedelta(hours=h)) for h in (-1, 0, 1, 2)] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("failure_class", "severity"),
    [
        ("rate_limit", Severity.WARNING),
        ("invalid_input", Severity.ERROR),
        ("resource_unavailable", Severity.CRITICAL),
        ("logic_error", Severity.ERROR),
        ("system_failure", Severity.CRITICAL),
        ("transient", Severity.ERROR),  # it is told of because its attempts are used up
        (None, Severity.ERROR),
    ],
)
def test_the_class_of_a_failure_gives_the_severity(failure_class: str | None, severity: Severity) -> None:
    assert severity_of(failure_class) is severity
