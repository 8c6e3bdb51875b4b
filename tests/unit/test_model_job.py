"""Records read their own JSON."""

from datetime import UTC, datetime

import pytest

from penstock.model.errors import InvalidValue
from penstock.model.job import AllWait, DeadLetter, Enqueued, Job, NewJob
from penstock.model.priority import Priority
from penstock.model.states import State, Status

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def job(**more) -> Job:
    base = {
        "id": "j",
        "queue": "q",
        "task": "t",
        "lane": "q",
        "state": State.WAITING,
        "args_json": '{"a":[1]}',
    }
    base |= {"key": "j", "unique": False, "priority": Priority.MEDIUM, "attempt": 0, "max_attempts": 3}
    return Job(**{**base, "created_at": NOW, "due_at": NOW, **more})


def test_a_job_reads_its_arguments_and_result():
    assert job().args == {"a": [1]}
    assert job().result is None
    assert job(result_json="null").result is None
    assert job(result_json="[1.5]").result == [1.5]


def test_stored_text_that_is_not_json_is_named():
    with pytest.raises(InvalidValue):
        _ = job(args_json="NaN").args


def test_the_status_follows_the_first_start():
    assert job().status is Status.PENDING
    assert job(started_at=NOW).status is Status.PROCESSING
    assert job(state=State.FAILED).status is Status.FAILED


def test_a_dead_letter_reads_its_arguments():
    dead = DeadLetter(
        job_id="j", queue="q", task="t", args_json='{"a":1}', key="j", unique=False, priority=Priority.LOW,
        max_attempts=3, owner=None, options_json=None, reason="exhausted", error=None, attempts=3,
        first_started_at=NOW, ran_for=1.0, failed_at=NOW,
    )  # fmt: skip
    assert dead.args == {"a": 1}
    assert dead.recovered_at is None


def test_a_new_job_is_medium_due_at_once_and_tried_three_times():
    new = NewJob("j", "q", "t")
    assert (new.priority, new.delay, new.max_attempts, new.args) == (Priority.MEDIUM, 0.0, 3, "{}")
    assert not new.unique


def test_answers_to_new_jobs_that_wait_read_like_a_list_of_them():
    answers = AllWait([NewJob(name, "q", "t") for name in "abc"])
    told = [Enqueued(name, State.WAITING, False) for name in "abc"]
    assert answers == told
    assert answers != told[:2]
    assert repr(answers) == repr(told)
    assert (answers[0], answers[-1], list(answers[1:]), len(answers)) == (told[0], told[2], told[1:], 3)
    with pytest.raises(IndexError):
        answers[3]
