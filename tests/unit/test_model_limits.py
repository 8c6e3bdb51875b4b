"""Rates in words and in numbers."""

import pytest

from penstock.model.errors import InvalidOption
from penstock.model.limits import NO_LIMIT, Limit, in_words, opens_in, parse_rate, permits, spend


@pytest.mark.parametrize(
    ("text", "rate", "burst"),
    [
        ("30/s", 30.0, 3),
        ("100/s", 100.0, 10),
        ("1/2s", 0.5, 1),
        ("100/m", 100 / 60, 1),
        ("5000/h", 5000 / 3600, 1),
        ("1 / d", 1 / 86_400, 1),
        ("1/2000ms", 0.5, 1),
        ("5/10min", 5 / 600, 1),
    ],
)
def test_a_rate_is_so_many_starts_in_a_time(text, rate, burst):
    assert parse_rate("rate", text) == Limit(pytest.approx(rate), burst, said=text.replace(" ", ""))


@pytest.mark.parametrize(
    "text", ["", "30", "s/30", "-1/s", "0/s", "1/0s", "1.5/s", "30/fortnight", 30, None, "9" * 40 + "/s"]
)
def test_what_is_no_rate_is_refused_with_examples(text):
    with pytest.raises(InvalidOption, match=r"rate of queue"):
        parse_rate("rate of queue 'q'", text)


def test_a_burst_may_start_at_once_and_no_more():
    limit = Limit(rate=10.0, burst=3)
    assert permits(limit, 0.0, 100.0) == 3
    spent = spend(limit, 0.0, 100.0, 3)
    assert permits(limit, spent, 100.0) == 0
    assert permits(limit, spent, 100.1) == 1
    assert permits(limit, spent, 200.0) == 3


def test_over_any_time_no_more_start_than_the_rate_and_one_burst():
    limit, spent, starts = Limit(rate=100.0, burst=10), 0.0, []
    for step in range(3_000):
        now = 1_000 + step / 1_000
        free = permits(limit, spent, now) or 0
        spent = spend(limit, spent, now, free)
        starts += [now] * free
    assert max(sum(t <= s < t + 1 for s in starts) for t in starts) <= 110
    assert len(starts) >= 0.99 * 300


def test_it_is_worth_asking_again_when_a_few_may_start():
    fast = Limit(rate=100.0, burst=10)
    assert opens_in(fast, spend(fast, 0.0, 50.0, 10), 50.0) == pytest.approx(0.05)
    slow = Limit(rate=0.5, burst=1)
    assert opens_in(slow, spend(slow, 0.0, 50.0, 1), 50.0) == pytest.approx(2.0)
    assert opens_in(slow, 0.0, 50.0) == 0.0


def test_after_that_time_there_is_a_permit_indeed():
    for rate, burst in ((0.3, 1), (7.0, 1), (33.0, 3), (1_000.0, 100)):
        limit = Limit(rate, burst)
        spent = spend(limit, 0.0, 9.0, burst)
        assert (permits(limit, spent, 9.0 + opens_in(limit, spent, 9.0)) or 0) >= 1


def test_without_a_rate_nothing_is_counted():
    assert permits(NO_LIMIT, 99.0, 1.0) is None
    assert spend(NO_LIMIT, 7.0, 1.0, 5) == 7.0
    assert opens_in(NO_LIMIT, 99.0, 1.0) == 0.0


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (NO_LIMIT, ""),
        (Limit(30.0, 3), "30/s, 3 at once"),
        (Limit(0.5, 1), "30/min"),
        (Limit(0.5, 1, said="1/2s"), "1/2s"),
        (parse_rate("rate", "30 / m"), "30/m"),
        (Limit(1 / 7, 1, 2), "1/7 s; 2 active"),
        (Limit(concurrency=2_000), "2,000 active"),
    ],
)
def test_a_limit_in_words(limit, words):
    assert in_words(limit) == words
