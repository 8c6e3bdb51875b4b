"""Breakers, as arithmetic: what the engines must mean."""

import pytest

from penstock.model.breaker import (
    Breaker,
    Circuit,
    Standing,
    as_seen,
    enter,
    forced,
    look,
    report,
    retry_in,
    room,
)

BREAKER = Breaker(name="mail", threshold=3, reset=60.0, probes=2)


def tripped(now=100.0):
    standing = Standing()
    for _ in range(3):
        standing = report(BREAKER, standing, "job", False, now)
    return standing


def test_failures_in_a_row_open_it():
    standing = tripped()
    assert standing.circuit is Circuit.OPEN
    assert (room(BREAKER, standing), retry_in(BREAKER, standing, 110.0)) == (0, 50.0)


def test_a_success_zeroes_the_failures():
    standing = report(BREAKER, Standing(failures=2), "job", True, 1.0)
    assert (standing.circuit, standing.failures) == (Circuit.CLOSED, 0)


@pytest.mark.parametrize("circuit", [Circuit.CLOSED, Circuit.OPEN])
def test_what_tells_nothing_changes_nothing(circuit):
    standing = Standing(circuit, failures=1, since=5.0)
    assert report(BREAKER, standing, "job", None, 6.0) == standing


def test_what_ends_while_it_is_open_changes_nothing():
    standing = tripped()
    assert report(BREAKER, standing, "job", True, 110.0) == standing
    assert report(BREAKER, standing, "job", False, 110.0) == standing


def test_it_is_tried_when_the_reset_has_passed_and_not_before():
    standing = tripped()
    assert look(BREAKER, standing, 159.9).circuit is Circuit.OPEN
    assert look(BREAKER, standing, 160.0).circuit is Circuit.HALF_OPEN
    assert look(BREAKER, standing, 190.0).since == 160.0  # whenever somebody looks


def test_probes_are_bounded_and_given_back():
    standing = look(BREAKER, tripped(), 160.0)
    standing = enter(enter(standing, "a"), "b")
    assert room(BREAKER, standing) == 0
    standing = report(BREAKER, standing, "a", None, 161.0)
    assert (room(BREAKER, standing), standing.circuit) == (1, Circuit.HALF_OPEN)


def test_a_success_of_a_probe_closes_and_a_failure_opens():
    standing = enter(look(BREAKER, tripped(), 160.0), "a")
    assert report(BREAKER, standing, "a", True, 161.0) == Standing(since=161.0, window_from=161.0)
    opened = report(BREAKER, standing, "a", False, 161.0)
    assert (opened.circuit, opened.since, opened.probes) == (Circuit.OPEN, 161.0, ())


def test_who_is_no_probe_decides_nothing_while_it_is_tried():
    standing = enter(look(BREAKER, tripped(), 160.0), "a")
    assert report(BREAKER, standing, "stranger", True, 161.0) == standing


def test_a_probe_counts_until_its_time_has_passed():
    standing = enter(look(BREAKER, tripped(), 160.0), "a", until=170.0)
    assert room(BREAKER, look(BREAKER, standing, 169.0)) == 1
    assert room(BREAKER, look(BREAKER, standing, 170.0)) == 2


def test_nobody_is_remembered_while_it_is_closed():
    assert enter(Standing(), "a") == Standing()


def test_by_share_it_takes_enough_runs_in_one_window():
    breaker = Breaker(name="mail", failure_rate=0.5, minimum=4, window=10.0)
    standing = Standing()
    for healthy in (False, False, False):
        standing = report(breaker, standing, "job", healthy, 1.0)
    assert standing.circuit is Circuit.CLOSED
    assert report(breaker, standing, "job", False, 5.0).circuit is Circuit.OPEN
    fresh = report(breaker, standing, "job", False, 12.0)
    assert (fresh.circuit, fresh.runs, fresh.failures) == (Circuit.CLOSED, 1, 1)


def test_by_share_a_success_does_not_open_it():
    breaker = Breaker(name="mail", failure_rate=0.5, minimum=4, window=10.0)
    standing = Standing(failures=3, runs=3, window_from=0.0)
    assert report(breaker, standing, "job", True, 1.0).circuit is Circuit.CLOSED


def test_a_person_may_close_and_open_it():
    assert forced(Circuit.CLOSED, 7.0).circuit is Circuit.CLOSED
    assert retry_in(BREAKER, forced(Circuit.OPEN, 7.0), 8.0) == 59.0


def test_people_see_when_it_will_be_tried():
    state = as_seen(BREAKER, tripped(), 130.0, None)
    assert (state.circuit, state.retry_in, state.probing) == (Circuit.OPEN, 30.0, 0)
