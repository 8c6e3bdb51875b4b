"""Job ids: ordered, unique, and different after a fork."""

import os
import threading
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from penstock.model.ids import id_range, is_id, stem
from penstock.tasks import ids
from penstock.tasks.ids import IdMaker, new_id


def test_ids_are_well_formed_and_grow_within_a_process() -> None:
    made = [new_id() for _ in range(5_000)]
    assert all(is_id(i) for i in made)
    assert made == sorted(set(made))


def test_ids_grow_even_where_the_clock_steps_back(monkeypatch) -> None:
    make = IdMaker()
    times = iter([2_000_000_000_000_000_000, 1_999_999_000_000_000_000, 1_999_999_000_000_000_000])
    monkeypatch.setattr(ids, "time_ns", lambda: next(times))
    made = [make() for _ in range(3)]
    assert made == sorted(set(made))


@pytest.mark.parametrize("ends_at", [1 << 4, 1 << 8, 1 << 18, 7 << 18, ids.COUNTER_END])
def test_a_counter_that_runs_over_goes_on_in_order_and_at_last_borrows_the_next_millisecond(
    monkeypatch, ends_at: int
) -> None:
    make = IdMaker()
    monkeypatch.setattr(ids, "time_ns", lambda: 2_000_000_000_000_000_000)
    make()
    monkeypatch.setattr(make, "_counter", ends_at - 3)
    monkeypatch.setattr(make, "_stem", stem(make._ms, ends_at - 3))
    made = [make() for _ in range(40)]
    assert all(is_id(i) for i in made)
    assert made == sorted(set(made))


@pytest.mark.parametrize("ms", [2_000_000_000_000, 2_000_000_000_001])
def test_ids_go_on_in_order_after_one_was_interrupted(monkeypatch, ms: int) -> None:
    make = IdMaker()
    monkeypatch.setattr(ids, "time_ns", lambda: 2_000_000_000_000_000_000)
    make()
    monkeypatch.setattr(make, "_counter", 31)
    monkeypatch.setattr(make, "_stem", stem(make._ms, 31))
    made = [make()]

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(ids, "time_ns", lambda: ms * 1_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(ids, "stem", interrupted)
        for _ in range(20):
            with suppress(KeyboardInterrupt):
                made.append(make())
    made += [make() for _ in range(20)]
    assert made == sorted(set(made))
    assert len({i[:25] for i in made}) == len(made)


def test_ids_of_many_threads_are_unique_and_ordered_in_each() -> None:
    found: list[list[str]] = []

    def work() -> None:
        found.append([new_id() for _ in range(2_000)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(made == sorted(made) for made in found)
    assert len({i for made in found for i in made}) == 8_000


def test_a_forked_child_makes_other_ids_even_if_the_lock_was_held() -> None:
    read, write = os.pipe()
    with new_id._lock:
        pid = os.fork()
        if pid == 0:
            os.write(write, new_id().encode())
            os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        child = pipe.read().decode()
    assert is_id(child)
    assert child != new_id()


def test_a_time_before_all_time_bounds_nothing_out() -> None:
    start, _ = id_range(datetime(1969, 1, 1, tzinfo=UTC), None)
    assert start is not None
    assert is_id(start)
    assert start < new_id()


def test_the_ids_of_a_time_lie_in_its_range() -> None:
    now = datetime.now(UTC)
    start, end = id_range(now, now)
    assert start is not None
    assert end is not None
    assert start < new_id() < end
