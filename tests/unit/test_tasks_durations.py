"""Durations: seconds or a timedelta wherever one is asked for, from 0 up to ten years."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock import InvalidOption, Penstock, RateLimited, ResultTimeout, Retry, Snooze
from penstock.model.errors import MAX_SECONDS

app = Penstock("sqlite://:memory:")


@app.task
def nothing() -> None: ...


ENTRIES: dict[str, Callable[[Any], object]] = {
    "delay": lambda it: nothing.using(delay=it),
    "expire_after": lambda it: nothing.using(expire_after=it),
    "timeout": lambda it: nothing.using(timeout=it),
    "expire_after of a task": lambda it: app.task(expire_after=it, name="other")(lambda: None),
    "timeout of a task": lambda it: app.task(timeout=it, name="other")(lambda: None),
    "keep_for": lambda it: app.queue("q", keep_for=it),
    "timeout of a queue": lambda it: app.queue("q", timeout=it),
    "Retry": lambda it: Retry(delay=it),
    "Retry cap": lambda it: Retry(cap=it),
    "Retry.exponential": lambda it: Retry.exponential(delay=it),
    "Retry.fixed": lambda it: Retry.fixed(delay=it),
    "Retry.exponential cap": lambda it: Retry.exponential(cap=it),
    "Snooze": Snooze,
    "RateLimited": RateLimited,
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("wrong", [1e12, 10**400, timedelta(days=3_651), float("nan"), -1])
def test_a_duration_no_clock_can_honour_is_refused(entry: str, wrong: Any) -> None:
    with pytest.raises(InvalidOption, match="ten years"):
        ENTRIES[entry](wrong)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("wrong", ["60", True, [1]])
def test_what_is_no_duration_is_refused_with_what_may_be(entry: str, wrong: Any) -> None:
    with pytest.raises(InvalidOption, match="seconds or a timedelta"):
        ENTRIES[entry](wrong)


def test_a_timedelta_is_as_good_as_seconds() -> None:
    minute = timedelta(minutes=1)
    assert Snooze(minute).seconds == RateLimited(minute).retry_after == 60.0
    assert str(Snooze(minute)) == "snoozed for 60 s"
    assert Retry.exponential(delay=minute, cap=minute) == Retry.exponential(delay=60, cap=60)
    assert Retry.fixed(delay=minute) == Retry.fixed(delay=60)
    assert nothing.using(delay=minute).call().job.delay == 60.0


def test_ten_years_are_allowed() -> None:
    assert Snooze(timedelta(days=3_650)).seconds == MAX_SECONDS


@pytest.mark.parametrize("wrong", ["10", -1, 1e12])
def test_a_wait_for_a_result_takes_a_duration_too(wrong: Any) -> None:
    with Penstock("sqlite://:memory:") as here:
        job = here.task(name="nothing")(lambda: None).enqueue()
        with pytest.raises(ResultTimeout):
            job.result(timeout=timedelta(milliseconds=1))
        with pytest.raises(InvalidOption, match="timeout takes"):
            job.result(timeout=wrong)
