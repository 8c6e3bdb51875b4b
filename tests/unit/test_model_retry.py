"""Retry policies: the numbers of A6 and B8, and the laws of backoff."""

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.errors import InvalidOption, RateLimited
from penstock.model.failure import HANDLING, FailureClass
from penstock.model.priority import Priority, PriorityName
from penstock.model.retry import MAX_DELAY, POLICIES, PolicyName, Retry, Strategy, StrategyName

TRANSIENT = FailureClass.TRANSIENT


def coded(code: str) -> Exception:
    error = RuntimeError("no")
    error.code = code
    return error


def waits(policy: Retry, chance: float = 0.0) -> list[float]:
    return [policy.wait(n, chance) for n in range(policy.attempts - 1)]


def test_the_default_is_three_attempts_exponential_from_five_seconds_with_jitter():
    policy = Retry()
    assert (policy.attempts, policy.strategy, policy.jitter) == (3, Strategy.EXPONENTIAL, 0.1)
    assert waits(policy) == [5, 10]
    assert Retry.exponential() == policy


@pytest.mark.parametrize(
    ("name", "attempts", "expected"),
    [
        ("external_api", 5, [1, 2, 4, 8]),
        ("database", 3, [5, 5]),
        ("webhook", 5, [30, 60, 120, 240]),
        ("gamification", 3, [2, 4]),
        ("critical", 1, []),
        ("exponential", 3, [5, 10]),
        ("fixed", 3, [5, 5]),
        ("immediate", 3, [0, 0]),
        ("none", 1, []),
    ],
)
def test_named_policies_wait_as_the_mission_says(name, attempts, expected):
    assert POLICIES[name].attempts == attempts
    assert waits(POLICIES[name]) == expected


def test_every_named_policy_is_in_the_table_above():
    assert len(POLICIES) == 9


@pytest.mark.parametrize(("name", "cap"), [("external_api", 60), ("webhook", 3_600)])
def test_named_caps_hold_after_jitter(name, cap):
    assert POLICIES[name].cap == cap
    assert POLICIES[name].wait(20, 0.999) == cap


@pytest.mark.parametrize(
    ("name", "code", "tried_again"),
    [
        ("external_api", "ECONNRESET", True),
        ("external_api", "ETIMEDOUT", True),
        ("external_api", "RATE_LIMITED", True),
        ("external_api", "INVALID_TOKEN", False),
        ("external_api", "NOT_FOUND", False),
        ("external_api", "ANYTHING_ELSE", False),
        ("database", "LOCK_TIMEOUT", True),
        ("database", "DEADLOCK", True),
        ("database", "CONSTRAINT_VIOLATION", False),
        ("webhook", "ANYTHING_ELSE", True),
        ("gamification", "ANYTHING_ELSE", True),
    ],
)
def test_named_policies_try_their_codes_again(name, code, tried_again):
    assert POLICIES[name].allows(coded(code), TRANSIENT) is tried_again


def test_codes_are_read_from_builtin_errors_too():
    policy = POLICIES["external_api"]
    assert policy.allows(ConnectionResetError(), TRANSIENT)
    assert policy.allows(TimeoutError(), TRANSIENT)
    assert policy.allows(RateLimited(1), FailureClass.RATE_LIMIT)
    assert not policy.allows(KeyError(), TRANSIENT)


def test_no_retry_on_wins_over_retry_on():
    policy = Retry(retry_on=(OSError,), no_retry_on=(FileNotFoundError,))
    assert policy.allows(PermissionError(), TRANSIENT)
    assert not policy.allows(FileNotFoundError(), TRANSIENT)


def test_only_what_retry_on_names_is_tried_again_whatever_its_class():
    policy = Retry(retry_on=(ValueError, "BUSY"))
    assert policy.allows(ValueError(), FailureClass.LOGIC_ERROR)
    assert policy.allows(coded("BUSY"), FailureClass.SYSTEM_FAILURE)
    assert not policy.allows(KeyError(), TRANSIENT)


@pytest.mark.parametrize("failure_class", FailureClass)
def test_without_lists_the_failure_class_decides(failure_class):
    assert Retry().allows(KeyError(), failure_class) is HANDLING[failure_class].retry


@pytest.mark.parametrize("given_as", ["DEADLOCK", OSError])
def test_a_single_code_or_type_needs_no_tuple(given_as):
    assert Retry(retry_on=given_as).retry_on == (given_as,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"attempts": 1_001},
        {"attempts": 2.5},
        {"delay": -1},
        {"delay": math.nan},
        {"factor": -1},
        {"jitter": math.inf},
        {"cap": -1},
        {"strategy": "linear"},
        {"retry_on": (3,)},
        {"no_retry_on": (int,)},
    ],
)
def test_a_policy_that_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidOption):
        Retry(**wrong)


def test_a_strategy_may_be_given_by_name():
    assert Retry(strategy="fixed").strategy is Strategy.FIXED


def test_of_reads_a_policy_a_name_or_a_number():
    policy = Retry.fixed(2, 7)
    assert Retry.of(policy) is policy
    assert Retry.of("webhook") is POLICIES["webhook"]
    assert Retry.of(7) == Retry(attempts=7)


@pytest.mark.parametrize("wrong", [True, "sometimes", 0])
def test_of_refuses_what_is_no_policy(wrong):
    with pytest.raises(InvalidOption):
        Retry.of(wrong)


def test_with_attempts_changes_only_the_attempts():
    assert POLICIES["webhook"].with_attempts(2) == Retry.exponential(2, 30.0, cap=3_600.0)


def test_a_far_retry_neither_overflows_nor_waits_beyond_a_year():
    assert Retry(attempts=1_000).wait(999, 0.5) == MAX_DELAY


delays = st.floats(0, 3e8)
chances = st.floats(0, 1, exclude_max=True)
policies = st.builds(
    Retry,
    attempts=st.integers(1, 1_000),
    delay=delays,
    strategy=st.sampled_from(Strategy),
    factor=st.floats(1, 10),
    cap=st.none() | delays,
    jitter=st.floats(0, 1),
)


@given(policies, st.integers(0, 1_000), chances)
def test_backoff_is_never_earlier_than_the_delay_nor_later_than_the_cap(policy, retries, chance):
    wait = policy.wait(retries, chance)
    cap = MAX_DELAY if policy.cap is None else policy.cap
    assert 0 <= wait <= cap
    if policy.strategy in (Strategy.FIXED, Strategy.EXPONENTIAL):
        assert wait >= min(policy.delay, cap, MAX_DELAY)


@given(policies, st.integers(0, 100), chances)
def test_backoff_never_shrinks_and_jitter_only_adds(policy, retries, chance):
    assert policy.wait(retries, 0) <= policy.wait(retries + 1, 0)
    assert policy.wait(retries, 0) <= policy.wait(retries, chance)
    assert policy.wait(retries, chance) <= policy.wait(retries, 0) * (1 + policy.jitter) * (1 + 1e-12)


def test_the_names_a_type_checker_knows_are_the_names_there_are():
    assert set(get_args(PolicyName)) == set(POLICIES)
    assert set(get_args(StrategyName)) == set(Strategy)
    assert set(get_args(PriorityName)) == {p.name.lower() for p in Priority}
