"""Flow control under fire, over eight workers some of which die.

rate     100 starts a second for half a minute, two workers killed: no second with more than that and one
         burst, at least 95 % of it used
keys     at most two jobs of a key at once
fair     one tenant's 100,000 jobs do not stop fifty tenants with twenty each
flow     1 job, then 998, then 1: the sum is right though workers are killed in the middle
breaker  10,000 jobs wait for a service that is down: none starts but probes, others flow, all run soon after
"""

from __future__ import annotations

import argparse
import bisect
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tests.chaos import control_tasks as tasks
from tests.chaos import history
from tests.chaos.stage import Stage, arguments, stage, until, verdict

from penstock.engine import JobFilter
from penstock.model.breaker import Circuit
from penstock.model.job import Job
from penstock.model.states import State

Result = tuple[dict[str, Any], str]
CHUNK = 5_000


def start_workers(made: Stage, given: argparse.Namespace, slots: int = 4) -> None:
    trees = [made.start("--concurrency", str(slots), lease=3.0) for _ in range(given.workers)]
    made.up(*trees)


def events(made: Stage, f: str) -> list[history.Event]:
    return [e for e in history.read(made.history) if e["f"] == f]


def jobs_of(made: Stage, task: str) -> list[Job]:
    found: list[Job] = []
    after: str | None = None
    while page := made.ask(lambda e, after=after: e.jobs(JobFilter(task=task), 200, after)):
        found += page
        after = page[-1].id
    return found


def most_within(times: list[float], seconds: float) -> int:
    """The most of these sorted instants that lie within so many seconds of each other."""
    return max((bisect.bisect_left(times, t + seconds) - n for n, t in enumerate(times)), default=0)


def rate(made: Stage, given: argparse.Namespace) -> Result:
    seconds = given.seconds
    start_workers(made, given)
    made.enqueue([tasks.paced.call(n=n) for n in range(int(tasks.RATE * seconds * 1.2))])
    for tree in made.site.trees[:2]:
        time.sleep(seconds / 4)
        tree.kill()
    until(lambda: made.left() == 0, patience=2 * seconds + 30)
    claimed = sorted(j.claimed_at.timestamp() for j in jobs_of(made, "paced") if j.claimed_at)
    burst = made.app.queues["paced"].limit.burst
    window = [t for t in claimed if t < claimed[0] + seconds]
    most, used = most_within(claimed, 1.0), len(window) / (tasks.RATE * seconds)
    faults = {"most in a second": most} if most > tasks.RATE + burst else {}
    if used < 0.95:
        faults["used"] = round(used, 3)
    return (
        faults,
        f"rate: at most {most} in a second (limit {tasks.RATE} and a burst of {burst}), {used:.1%} used",
    )


def overlaps(starts: list[history.Event], ends: list[history.Event]) -> dict[str, int]:
    """The most of each tenant that ran at the same time."""
    changes: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for e in starts:
        changes[e["tenant"]].append((e["t"], 1))
    for e in ends:
        changes[e["tenant"]].append((e["t"], -1))
    most: dict[str, int] = {}
    for tenant, found in changes.items():
        running = 0
        for _, by in sorted(found):
            running += by
            most[tenant] = max(most.get(tenant, 0), running)
    return most


def keys(made: Stage, given: argparse.Namespace) -> Result:
    start_workers(made, given)
    tenants = [f"t{n % 10}" for n in range(given.jobs)]
    made.enqueue([tasks.of_tenant.call(tenant=t, seconds=0.1) for t in tenants])
    drained = made.drain(patience=60)
    most = max(overlaps(events(made, "start"), events(made, "end")).values())
    faults: dict[str, Any] = {} if drained else {"not_drained": made.left()}
    if most > 2:
        faults["at once"] = most
    return faults, f"keys: {given.jobs} jobs of 10 keys, at most {most} of a key at once (limit 2)"


def small_tenants(made: Stage) -> float:
    """Seconds in which fifty tenants get their twenty jobs done."""
    began = time.monotonic()
    ids = made.enqueue([tasks.of_tenant.call(tenant=f"s{n % 50}", seconds=0.02) for n in range(1_000)])
    wanted = set(ids)
    until(lambda: len({e["job"] for e in events(made, "end")} & wanted) == len(wanted), patience=300)
    return max(e["t"] for e in events(made, "end") if e["job"] in wanted) - began


def fair(made: Stage, given: argparse.Namespace) -> Result:
    start_workers(made, given, slots=4)
    alone = small_tenants(made)
    for n in range(0, given.big, CHUNK):
        some = range(n, min(n + CHUNK, given.big))
        made.enqueue([tasks.of_tenant.call(tenant="big", seconds=0.02) for _ in some])
    together = small_tenants(made)
    ratio = together / alone
    return ({"ratio": round(ratio, 2)} if ratio > 2 else {}), (
        f"fair: fifty tenants alone {alone:.1f} s, beside {given.big:,} jobs of one {together:.1f} s: "
        f"{ratio:.2f} times as long"
    )


def breaker(made: Stage, given: argparse.Namespace) -> Result:
    tasks.service_flag().touch()
    made.ask(lambda e: e.put_breakers([made.app.registry.breakers["service"].declared]))
    made.ask(lambda e: e.set_breaker("service", Circuit.OPEN))
    opened = time.monotonic()
    for n in range(0, given.waiting, CHUNK):
        made.enqueue([tasks.needing.call(n=i) for i in range(n, min(n + CHUNK, given.waiting))])
    flowing = set(made.enqueue([tasks.beside.call(n=n) for n in range(1_000)]))
    start_workers(made, given)
    until(lambda: len({e["job"] for e in events(made, "start")} & flowing) == len(flowing), patience=60)
    time.sleep(3 * tasks.RESET)
    probes = [e for e in events(made, "start") if "down" in e]
    allowed = (time.monotonic() - opened) / tasks.RESET + 1
    tasks.service_flag().unlink()
    recovered = time.monotonic()
    until(lambda: made.ask(lambda e: e.breakers())[0].circuit is Circuit.CLOSED, patience=30)
    closed = time.monotonic() - recovered
    drained = made.drain(patience=60)
    jobs = jobs_of(made, "needing")
    burnt = sum(j.attempt - 1 for j in jobs)
    faults: dict[str, Any] = {} if drained else {"not_drained": made.left()}
    if len(probes) > allowed:
        faults["probes"] = len(probes)
    if burnt > len(probes):
        faults["burnt"] = burnt
    if closed > tasks.RESET + 1.0:
        faults["closed after"] = round(closed, 2)
    if any(j.state is not State.COMPLETED for j in jobs):
        faults["not completed"] = sum(j.state is not State.COMPLETED for j in jobs)
    return faults, (
        f"breaker: {len(probes)} probes while down (at most {allowed:.0f}), {burnt} attempts burnt, "
        f"1,000 others flowed, closed {closed:.1f} s after recovery (probed every {tasks.RESET:g} s)"
    )


def flow(made: Stage, given: argparse.Namespace) -> Result:
    size = given.flow
    start_workers(made, given)
    planned = made.app.flow("fan-out and fan-in")
    first = planned.add(tasks.root.call())
    leaves = [planned.add(tasks.leaf.call(n=n), after=[first]) for n in range(size - 2)]
    last = planned.add(tasks.total.call(), after=leaves)
    began = time.monotonic()
    planned.enqueue()
    for share, tree in zip((0.2, 0.5), made.site.trees, strict=False):
        until(lambda share=share: len(events(made, "start")) >= share * size)
        tree.kill()
    drained = made.drain(patience=60)
    took = time.monotonic() - began
    job = made.ask(lambda e: e.get(last.call.job.id))
    expected = sum(n + 1 for n in range(size - 2))
    faults: dict[str, Any] = {} if drained else {"not_drained": made.left()}
    if job.result != expected:
        faults["result"] = job.result
    counts = made.counts()
    if counts[State.COMPLETED] != size:
        faults["states"] = {state.value: n for state, n in counts.items() if n}
    return faults, f"flow: {size:,} jobs, two workers killed, the sum is right; {took:.1f} s"


RUNS: dict[str, Callable[[Stage, argparse.Namespace], Result]] = {
    "rate": rate,
    "keys": keys,
    "fair": fair,
    "breaker": breaker,
    "flow": flow,
}


def run(engine: str, name: str, given: argparse.Namespace) -> bool:
    with stage(engine, f"control-{name}", module=tasks) as made:
        faults, figures = RUNS[name](made, given)
        return verdict(made, faults, figures)


def main() -> None:
    given = arguments(
        "flow control", workers=8, seconds=30.0, jobs=2_000, big=100_000, waiting=10_000, flow=1_000, only=""
    )
    chosen = [name for name in RUNS if given.only in ("", name)]
    good = [run(engine, name, given) for engine in given.engines for name in chosen]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
