"""How many jobs a worker has lying ready beyond its slots."""

from __future__ import annotations

from penstock.runtime.pace import MAX_PREFETCH, PREFETCH_SECONDS, WINDOW, Pace


def make(slots: int = 10) -> Pace:
    return Pace(slots, now=0.0)


def test_nothing_lies_ready_before_it_is_known_how_long_jobs_take() -> None:
    pace = make()
    pace.answered(0.001, took=0.001, idle=True)
    assert pace.ahead == 0


def test_a_first_round_of_quick_jobs_is_enough_to_have_more_lying_ready() -> None:
    pace = make()
    for n in range(10):
        pace.ended(0.001 + n * 0.0001)
    pace.answered(0.005, took=0.0, idle=False)
    assert pace.ahead == int(10 / 0.005 * PREFETCH_SECONDS)


def test_the_time_in_which_the_engine_was_waited_for_does_not_make_jobs_slow() -> None:
    waited, busy = make(), make()
    for pace, answered_at, idle in ((waited, 0.042, True), (busy, 0.022, False)):
        for n in range(20):
            pace.ended(0.002 + n * 0.001)
        pace.answered(answered_at, took=0.0, idle=idle)
    assert busy.ahead == int(20 / 0.022 * PREFETCH_SECONDS)
    assert abs(waited.ahead - busy.ahead) <= 1, "both took 21 ms for 20 jobs"


def test_long_jobs_have_nothing_lying_ready_however_often_the_slots_are_empty() -> None:
    pace = make(slots=1)
    for n in range(1, 50):
        pace.ended(n * 60.0)
        pace.answered(n * 60.0 + 0.005, took=0.005, idle=True)
        assert pace.ahead == 0


def test_what_is_ready_is_bounded_and_forgotten_where_it_was_not_begun() -> None:
    pace = make()
    for _ in range(10):
        pace.ended(0.0)
    pace.answered(WINDOW, took=1.0, idle=True)
    assert pace.ahead == min(MAX_PREFETCH, int(10 / 0.001 * (PREFETCH_SECONDS + 0.009)))
    pace.forget()
    assert pace.ahead == 0


def test_a_slow_engine_is_no_reason_to_hoard() -> None:
    slow, quick = make(), make()
    for pace, took in ((slow, 60.0), (quick, 0.03)):
        for _ in range(10):
            pace.ended(0.01)
        pace.answered(0.02, took=took, idle=False)
    assert slow.ahead == quick.ahead
