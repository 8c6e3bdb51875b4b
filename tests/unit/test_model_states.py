"""The table of states: what it must say, whatever else it says."""

import pytest

from penstock.model.outcome import (
    COMPLETED,
    Cancelled,
    Completed,
    Failed,
    Outcome,
    Released,
    Retried,
    Snoozed,
)
from penstock.model.states import FINISHED, TRANSITIONS, UNFINISHED, State, Status, may_become, status_of


def test_the_states_are_the_documents_words():
    assert [s.value for s in State] == [
        "waiting", "delayed", "blocked", "active", "completed", "failed", "cancelled",
    ]  # fmt: skip


def test_every_state_is_finished_or_not():
    assert {State.COMPLETED, State.FAILED, State.CANCELLED} == FINISHED
    assert UNFINISHED.isdisjoint(FINISHED)
    assert set(State) == UNFINISHED | FINISHED
    assert all(s.finished is (s in FINISHED) for s in State)


def test_finished_is_final():
    assert not [before for before, _ in TRANSITIONS if before in FINISHED]


def test_only_a_claim_makes_a_job_active():
    into = {
        verb
        for (before, verb), after in TRANSITIONS.items()
        if State.ACTIVE in after and before is not State.ACTIVE
    }
    assert into == {"claim"}


def test_every_unfinished_state_but_active_can_be_cancelled_at_once():
    for before in UNFINISHED - {State.ACTIVE}:
        assert may_become(before, "cancel") == {State.CANCELLED}
    assert may_become(State.ACTIVE, "cancel") == {State.ACTIVE, State.CANCELLED}


def test_every_state_is_reached_from_the_start():
    reached: set[State | None] = {None}
    while more := {a for (b, _), after in TRANSITIONS.items() if b in reached for a in after} - reached:
        reached |= more
    assert reached == {None, *State}


def test_what_does_not_apply_leads_nowhere():
    assert may_become(State.COMPLETED, "claim") == frozenset()
    assert may_become(None, "no such verb") == frozenset()


@pytest.mark.parametrize(
    "outcome",
    [
        COMPLETED,
        Retried(5, None),
        Retried(0, None),
        Snoozed(5),
        Snoozed(0),
        Released(),
        Cancelled(),
        Failed("exhausted", None),
    ],
)
def test_every_outcome_is_a_transition_out_of_active(outcome: Outcome):
    assert outcome.state in may_become(State.ACTIVE, outcome.verb)


@pytest.mark.parametrize("kind", [Retried, Snoozed])
def test_what_runs_later_is_delayed_and_what_runs_now_waits(kind):
    assert kind(0.001, None).state is State.DELAYED
    assert kind(0, None).state is State.WAITING


def test_only_release_and_snooze_give_the_attempt_back_and_only_release_the_place():
    every = [COMPLETED, Retried(5, None), Snoozed(5), Released(), Cancelled(), Failed("x", None)]
    assert [type(o) for o in every if o.refund] == [Snoozed, Released]
    assert [type(o) for o in every if o.keep_place] == [Released]


def test_outcomes_are_values():
    assert Completed("1") == Completed("1") != Completed("2")
    with pytest.raises(AttributeError):
        COMPLETED.result = "1"


@pytest.mark.parametrize(
    ("state", "started", "status"),
    [
        (State.WAITING, False, Status.PENDING),
        (State.DELAYED, False, Status.PENDING),
        (State.BLOCKED, False, Status.PENDING),
        (State.WAITING, True, Status.PROCESSING),
        (State.DELAYED, True, Status.PROCESSING),
        (State.ACTIVE, True, Status.PROCESSING),
        (State.COMPLETED, True, Status.COMPLETED),
        (State.FAILED, True, Status.FAILED),
        (State.CANCELLED, False, Status.CANCELLED),
    ],
)
def test_the_outside_word_for_a_state(state, started, status):
    assert status_of(state, started) is status
