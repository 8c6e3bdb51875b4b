"""What becomes of a job: every way a run can end, and every way a worker can be lost."""

import json

import pytest

from penstock.model.decide import (
    CRASH_LIMIT,
    RESCUE_LIMIT,
    Crashed,
    Deferred,
    Facts,
    Lost,
    Returned,
    Skipped,
    Stopped,
    Unfit,
    decide,
    end_of,
    judge,
    timed_out,
)
from penstock.model.errors import InvalidArguments, NoOp, Problem, RateLimited, Snooze, Unrecoverable
from penstock.model.failure import Failure, FailureClass
from penstock.model.job import Held
from penstock.model.outcome import Cancelled, Completed, Failed, Park, Released, Retried, Snoozed
from penstock.model.retry import POLICIES, Retry
from penstock.model.states import State

POLICY = Retry(attempts=3, delay=10, jitter=0.1)


def run(**more) -> Facts:
    return Facts(attempt=1, max_attempts=3, crashes=0, ran_for=1.25, worker="w", chance=0.5)._replace(**more)


def held(**more) -> Held:
    base = {"id": "j", "task": "t", "queue": "q", "attempt": 1, "max_attempts": 3, "rescues": 0}
    return Held(**{**base, "started": True, "cancel_requested": False, "worker": "w", **more})


def error_of(outcome) -> dict:
    return json.loads(outcome.error)


def test_a_returned_value_completes():
    assert decide(run(), Returned("42"), POLICY) == Completed("42")


def test_a_dropped_result_completes_and_says_so():
    outcome = decide(run(), Returned(dropped="too large"), POLICY)
    assert outcome == Completed(None, "result dropped: too large")


def test_nothing_to_do_completes_with_the_reason():
    assert decide(run(), Skipped("gone"), POLICY) == Completed(note="no-op: gone")


def test_a_snooze_gives_the_attempt_back():
    outcome = decide(run(), Deferred(30, "later"), POLICY)
    assert outcome == Snoozed(30, "later")
    assert outcome.refund
    assert outcome.state is State.DELAYED


def test_a_cancelled_run_is_cancelled_and_one_stopped_by_shutdown_handed_back():
    assert decide(run(), Stopped(cancelled=True), POLICY) == Cancelled("cancelled while running")
    assert decide(run(), Stopped(cancelled=False), POLICY) == Released()


def test_what_cannot_be_started_is_parked():
    park = Park("t", "no worker knows it")
    outcome = decide(run(), Unfit(park), POLICY)
    assert outcome == Released("no worker knows it", park=park)
    assert outcome.refund


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 10.5), (2, 21)])
def test_a_failure_is_tried_again_after_its_backoff(attempt, seconds):
    outcome = decide(run(attempt=attempt), Failure("Boom", "no"), POLICY)
    assert isinstance(outcome, Retried)
    assert outcome.delay == pytest.approx(seconds)
    assert not outcome.refund


def test_the_error_record_says_which_attempt_where_and_how_long():
    end = Failure("Boom", "no", "E1", FailureClass.TRANSIENT, "File …")
    outcome = decide(run(ran_for=1.23456789), end, POLICY)
    assert error_of(outcome) == {
        "attempt": 1,
        "type": "Boom",
        "message": "no",
        "code": "E1",
        "class": "transient",
        "traceback": "File …",
        "ran_for": 1.234568,
        "worker": "w",
    }


def test_the_last_attempt_is_exhausted():
    outcome = decide(run(attempt=3), Failure("Boom", "no"), POLICY)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.note) == ("exhausted", "exhausted")


def test_the_jobs_own_attempts_count_not_the_policys():
    assert isinstance(decide(run(attempt=3, max_attempts=4), Failure("Boom", "no"), POLICY), Retried)
    assert isinstance(decide(run(max_attempts=1), Failure("Boom", "no"), POLICY), Failed)


@pytest.mark.parametrize(
    ("failure_class", "reason"),
    [
        (FailureClass.INVALID_INPUT, "invalid-input"),
        (FailureClass.SYSTEM_FAILURE, "system-failure"),
        (FailureClass.LOGIC_ERROR, "unrecoverable"),
        (FailureClass.TRANSIENT, "unrecoverable"),
    ],
)
def test_a_permanent_failure_ends_at_once_with_its_reason(failure_class, reason):
    outcome = decide(run(), Failure("Boom", "no", failure_class=failure_class, retry=False), POLICY)
    assert isinstance(outcome, Failed)
    assert outcome.reason == reason


def test_a_cooldown_replaces_the_backoff_and_is_never_shortened():
    outcome = decide(run(), Failure("RateLimited", "slow down", retry_after=60), POLICY)
    assert isinstance(outcome, Retried)
    assert outcome.delay == pytest.approx(63)


@pytest.mark.parametrize("crashes", range(CRASH_LIMIT - 1))
def test_a_crash_while_alone_is_counted_and_run_alone_again(crashes):
    outcome = decide(run(crashes=crashes), Crashed("signal 11"), POLICY)
    assert isinstance(outcome, Released)
    assert outcome.suspect
    assert outcome.crashed
    assert error_of(outcome)["type"] == "WorkerCrashed"


def test_the_third_crash_while_alone_is_a_crash_loop():
    outcome = decide(run(crashes=CRASH_LIMIT - 1), Crashed("signal 11"), POLICY)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.crashed) == ("crash-loop", True)


def test_a_run_lost_with_others_is_a_suspect_and_is_not_charged() -> None:
    outcome = decide(run(crashes=CRASH_LIMIT - 1), Lost("gone"), POLICY)
    assert (outcome.state, outcome.refund) == (State.WAITING, True)
    assert (outcome.suspect, outcome.crashed, outcome.rescued) == (True, False, True)
    assert error_of(outcome)["type"] == "WorkerLost"


def test_a_run_lost_with_others_is_not_run_again_where_it_may_be_tried_only_once() -> None:
    outcome = decide(run(max_attempts=1), Lost("gone"), POLICIES["critical"])
    assert (outcome.state, outcome.reason) == (State.FAILED, "crashed")


def test_a_crash_of_a_job_with_one_attempt_is_its_end():
    outcome = decide(run(max_attempts=1), Crashed("signal 11"), POLICIES["critical"])
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.crashed) == ("crashed", True)


def test_signals_of_a_handler_become_ends():
    assert end_of(NoOp("gone"), POLICY) == Skipped("gone")
    assert end_of(Snooze(30, "later"), POLICY) == Deferred(30, "later")


def test_an_exception_becomes_plain_data():
    try:
        raise ConnectionResetError("peer")
    except ConnectionResetError as error:
        end = end_of(error, POLICY)
    assert isinstance(end, Failure)
    assert (end.type, end.message, end.code) == ("ConnectionResetError", "peer", "ECONNRESET")
    assert end.failure_class is FailureClass.TRANSIENT
    assert end.retry
    assert end.retry_after is None
    assert "test_an_exception_becomes_plain_data" in end.traceback


def test_a_rate_limit_carries_its_cooldown():
    end = end_of(RateLimited(7), POLICY)
    assert (end.retry, end.retry_after, end.failure_class) == (True, 7, FailureClass.RATE_LIMIT)


def test_unrecoverable_is_never_tried_again_even_where_retry_on_names_it():
    assert not end_of(Unrecoverable("no"), Retry(retry_on=(Unrecoverable,))).retry


def test_the_policy_and_the_users_rule_both_speak():
    assert not end_of(KeyError(), Retry(no_retry_on=(KeyError,))).retry
    assert not end_of(KeyError(), POLICY, lambda _: "logic_error").retry
    assert not end_of(InvalidArguments("t", [Problem("a", "wrong")]), POLICY).retry


def test_a_timeout_is_a_transient_failure_that_the_policy_may_refuse():
    end = timed_out(30, POLICY)
    assert (end.type, end.code, end.failure_class) == ("JobTimeout", "ETIMEDOUT", FailureClass.TRANSIENT)
    assert end.message == "ran longer than its timeout of 30 s"
    assert end.retry
    assert timed_out(30, POLICIES["external_api"]).retry
    assert not timed_out(30, POLICIES["database"]).retry


def test_a_lost_job_asked_to_stop_is_cancelled():
    assert isinstance(judge(held(cancel_requested=True)), Cancelled)


def test_a_lost_job_that_never_started_is_handed_back_without_a_mark():
    outcome = judge(held(started=False))
    assert isinstance(outcome, Released)
    assert (outcome.refund, outcome.suspect, outcome.rescued, outcome.error) == (True, False, False, None)


def test_a_lost_job_that_ran_is_a_suspect_and_keeps_its_attempt():
    outcome = judge(held())
    assert isinstance(outcome, Released)
    assert (outcome.refund, outcome.suspect, outcome.rescued, outcome.crashed) == (True, True, True, False)
    assert error_of(outcome)["type"] == "WorkerLost"


def test_nothing_is_rescued_for_ever():
    assert isinstance(judge(held(rescues=RESCUE_LIMIT - 2)), Released)
    outcome = judge(held(rescues=RESCUE_LIMIT - 1))
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.rescued) == ("crash-loop", True)


def test_a_lost_job_with_one_attempt_is_dead():
    outcome = judge(held(max_attempts=1))
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.rescued) == ("crashed", True)
    assert isinstance(judge(held(max_attempts=1, started=False)), Released)


def test_a_probe_that_finds_the_service_down_costs_its_job_no_attempt_not_even_the_last():
    down = Failure("ConnectionError", "refused")
    for attempt in (1, 3):
        outcome = decide(run(attempt=attempt, probe=True), down, Retry.fixed(3, 5))
        assert (outcome.state, outcome.delay >= 5, outcome.refund) == (State.DELAYED, True, True)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (
            Failure("ValueError", "bad", failure_class=FailureClass.INVALID_INPUT, retry=False),
            "invalid-input",
        ),
        (Failure("RateLimited", "slow", failure_class=FailureClass.RATE_LIMIT), "exhausted"),
    ],
)
def test_a_probe_that_fails_for_another_reason_ends_like_any_run(failure, reason):
    assert decide(run(attempt=3, probe=True), failure, POLICY).reason == reason
