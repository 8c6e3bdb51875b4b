"""The history checker finds what it is there to find: every fault is planted once."""

from __future__ import annotations

from typing import Any

import pytest

from chaos.history import Record, check

WALL = 1_000.0  # wall clock less monotonic clock, in these stories


def run(name: str, start: float, end: float | None, job: str = "a", pid: int = 1) -> list[dict[str, Any]]:
    """One run of a job, in process `pid` of worker `w<pid>`."""
    about = {"job": job, "run": name, "worker": f"w{pid}", "pids": [pid, 100 + pid]}
    events = [{"t": start, "wall": start + WALL, "f": "start", **about}]
    if end is not None:
        events.append({"t": end, "wall": end + WALL, "f": "end", **about})
    return events


def kill(t: float, *pids: int, dead: float | None = None) -> list[dict[str, Any]]:
    """Processes killed; each is seen dead at once, or at `dead`."""
    about = {"pids": list(pids), "workers": [f"w{pid}" for pid in pids]}
    deaths = [{"t": t if dead is None else dead, "f": "dead", "pid": pid} for pid in pids]
    return [{"t": t, "wall": t + WALL, "f": "kill", **about}, *deaths]


def beat(seen: float, until: float, pid: int = 1) -> list[dict[str, Any]]:
    """A look at the heartbeats."""
    return [{"t": seen, "f": "beat", "worker": f"w{pid}", "until": until + WALL}]


def completed(at: float = 10.0) -> dict[str, Record]:
    return {"a": Record("completed", at + WALL)}


def test_one_run_that_ends_is_no_fault() -> None:
    assert check(run("1", 1, 2), ["a"], completed(), completed=1).faults == {}


def test_a_second_run_after_a_kill_is_explained_and_its_recovery_measured() -> None:
    events = run("1", 1, None) + kill(3, 1) + run("2", 4.5, 5, pid=2)
    verdict = check(events, ["a"], completed())
    assert verdict.faults == {}
    assert (verdict.interrupted, verdict.recovery) == (1, [1.5])
    assert verdict.recovered_in(0.99) == 1.5


def test_recovery_counts_from_the_first_kill_though_a_second_holder_was_killed_too() -> None:
    events = run("1", 1, None) + kill(3, 1) + kill(6, 3) + run("2", 7, 8, pid=2)
    records = {"a": Record("completed", 9 + WALL, lost=(("w1", 4.0 + WALL), ("w3", 6.5 + WALL)))}
    verdict = check(events, ["a"], records)
    assert verdict.faults == {}
    assert (verdict.recovery, verdict.back) == ([4], [1.0, 0.5])


def test_a_run_killed_after_its_end_and_before_its_settlement_may_run_again() -> None:
    events = run("1", 1, 2) + kill(2.1, 1) + run("2", 3, 4, pid=2)
    verdict = check(events, ["a"], completed())
    assert verdict.faults == {}
    assert verdict.by_death == 1


def test_a_second_run_after_an_expired_heartbeat_is_explained_though_the_first_goes_on() -> None:
    events = beat(1, 2) + beat(2, 3.9) + run("1", 1, 9) + run("2", 4, 5, pid=2)
    verdict = check(events, ["a"], completed(at=6))
    assert verdict.faults == {}
    assert (verdict.by_death, verdict.by_expiry) == (0, 1)


@pytest.mark.parametrize(
    ("fault", "events", "records"),
    [
        ("lost", run("1", 1, 2), {}),
        ("phantom", run("1", 1, 2), completed() | {"b": Record("completed")}),
        ("stuck", run("1", 1, None) + kill(2, 1), {"a": Record("active")}),
        ("dead", run("1", 1, None) + kill(2, 1), {"a": Record("failed", WALL + 3)}),
        ("unrun", run("1", 1, None) + kill(2, 1), completed()),
        ("stale", run("1", 1, 2) + kill(2.1, 1) + run("2", 3, 4, pid=2), completed(at=3.5)),
        ("stale", run("1", 1, 2) + kill(2.1, 1) + run("2", 3, None, pid=2), completed(at=3.5)),
        ("overlap", run("1", 1, 5) + run("2", 3, 6, pid=2), completed()),
        ("overlap", run("1", 1, 5) + kill(2, 1) + run("2", 3, 6, pid=2), completed()),
        ("overlap", run("1", 1, None) + kill(4, 1) + run("2", 3, 6, pid=2), completed()),
        ("overlap", run("1", 1, None) + run("2", 3, 6, pid=2), completed()),
        ("overlap", run("1", 1, None) + kill(2, 1, dead=3.1) + run("2", 3, 6, pid=2), completed()),
        ("overlap", run("1", 1, None) + kill(2, 101) + run("2", 3, 6, pid=2), completed()),
        ("overlap", beat(1, 4) + run("1", 1, 5) + run("2", 3, 6, pid=2), completed()),
        ("overlap", beat(1, 2, pid=7) + run("1", 1, 5) + run("2", 3, 6, pid=2), completed()),
        ("unexplained", beat(2, 3.5) + run("1", 1, 2) + run("2", 3, 4, pid=2), completed()),
        ("unexplained", run("1", 1, 2) + kill(2.5, 1, dead=3.5) + run("2", 3, 4, pid=2), completed()),
        ("unexplained", run("1", 1, 2) + run("2", 3, 4, pid=2), completed()),
        ("unexplained", run("1", 1, 2) + kill(2.5, 7) + run("2", 3, 4, pid=2), completed()),
        ("unexplained", kill(0.5, 1) + run("1", 1, 2) + run("2", 3, 4, pid=2), completed()),
    ],
)
def test_a_planted_fault_is_found(
    fault: str, events: list[dict[str, Any]], records: dict[str, Record]
) -> None:
    faults = check(events, ["a"], records).faults
    assert fault in faults


def test_a_second_accepted_completion_is_found() -> None:
    assert check(run("1", 1, 2), ["a"], completed(), completed=2).faults == {"double": 1}
