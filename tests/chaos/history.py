"""What happened, from lines that handlers and the one who kills have written; and what must not have.

Times are `time.monotonic()`, which all processes of one host share. A line is a JSON object with `f`:

    start, end   one run of a job: job, run, worker, pids (of the process it runs in, and of its parent)
    kill         these pids, of these workers, were killed; written just before, so that none died earlier
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]

_RESCUED = re.compile(r"rescued job (\S+) \(.*\) from lost worker ([^\s:]+)")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job's handler."""

    job: str
    run: str
    worker: str
    pids: frozenset[int]
    start: float
    end: float | None = None
    end_wall: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A job as the engine has it when all is over."""

    state: str
    finished_wall: float | None = None
    lost: tuple[tuple[str, float], ...] = ()  # the workers that died holding it, and when it was taken back


@dataclass(slots=True)
class Verdict:
    """What the history says. Empty lists are good news."""

    lost: list[str] = field(default_factory=list)  # acknowledged, and no record of it
    phantom: list[str] = field(default_factory=list)  # a record nobody asked for
    stuck: list[str] = field(default_factory=list)  # not ended after the drain
    dead: list[str] = field(default_factory=list)  # ended otherwise than completed
    unrun: list[str] = field(default_factory=list)  # completed, and no run of it came to its end
    stale: list[str] = field(default_factory=list)  # settled by a run that was not the last
    overlap: list[str] = field(default_factory=list)  # two runs at once, both alive and neither given up
    unexplained: list[str] = field(default_factory=list)  # run again, and nobody died
    double: int = 0  # completions counted by the engine beyond one per job
    runs: int = 0
    interrupted: int = 0
    by_expiry: int = 0  # second starts explained by an expired heartbeat
    recovery: list[float] = field(default_factory=list)  # seconds from the kill to the next start
    back: list[float] = field(default_factory=list)  # seconds from the kill until it was taken back

    @property
    def faults(self) -> dict[str, int]:
        """How often each rule was broken; empty when none was."""
        names = ("lost", "phantom", "stuck", "dead", "unrun", "stale", "overlap", "unexplained")
        found = {name: len(getattr(self, name)) for name in names} | {"double": self.double}
        return {name: n for name, n in found.items() if n}

    def recovered_in(self, share: float) -> float:
        """The recovery time that this share of the interrupted jobs did not exceed."""
        return _quantile(self.recovery, share)

    def recovery_figures(self) -> str:
        back = f"taken back {_figures(self.back)}; " if self.back else ""
        return f"{back}running again {_figures(self.recovery)}"


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _figures(values: Sequence[float]) -> str:
    half, most, worst = (_quantile(values, share) for share in (0.5, 0.99, 1.0))
    return f"p50 {half:.2f} s, p99 {most:.2f} s, worst {worst:.2f} s"


def read(path: Path) -> list[Event]:
    """All whole lines of a history; the last one may have been cut by a kill."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def expired_in(logs: Iterable[str]) -> set[tuple[str, str]]:
    """(job, worker) of every rescue after an expired heartbeat that the logs tell of."""
    return {match.groups() for text in logs for match in _RESCUED.finditer(text)}  # type: ignore[misc]


def check(
    events: Sequence[Event],
    acknowledged: Iterable[str],
    records: Mapping[str, Record],
    expired: set[tuple[str, str]] = frozenset(),  # type: ignore[assignment]
    completed: int | None = None,
) -> Verdict:
    """Judge a history against what the engine holds after the drain."""
    verdict = Verdict()
    wanted = set(acknowledged)
    runs = _runs(events)
    verdict.runs = sum(map(len, runs.values()))
    verdict.lost = sorted(wanted - records.keys())
    verdict.phantom = sorted(records.keys() - wanted)
    for job, record in records.items():
        _check_end(verdict, job, record, runs.get(job, []))
    if completed is not None:
        verdict.double = completed - sum(record.state == "completed" for record in records.values())
    deaths = _deaths(events, "pids")
    holders = _deaths(events, "workers")
    walls = _deaths(events, "workers", "wall")
    for job, job_runs in runs.items():
        lost = records[job].lost if job in records else ()
        held = sorted(t for worker, _ in lost for t in holders.get(worker, ()))
        verdict.back += [at - t for worker, at in lost for t in walls.get(worker, ())]
        _check_starts(verdict, job_runs, deaths, expired, held)
    return verdict


def _runs(events: Sequence[Event]) -> dict[str, list[Run]]:
    """The runs of each job in the order of their starts."""
    ends = {e["run"]: e for e in events if e["f"] == "end"}
    runs: dict[str, list[Run]] = defaultdict(list)
    for e in sorted((e for e in events if e["f"] == "start"), key=lambda e: e["t"]):
        end = ends.get(e["run"], {})
        pids = frozenset(e["pids"])
        runs[e["job"]].append(
            Run(e["job"], e["run"], e["worker"], pids, e["t"], end.get("t"), end.get("wall"))
        )
    return runs


def _deaths(events: Sequence[Event], named: str, clock: str = "t") -> dict[Any, list[float]]:
    """When each process, or each worker, was killed."""
    deaths: dict[Any, list[float]] = defaultdict(list)
    for e in events:
        if e["f"] == "kill":
            for who in e.get(named, ()):
                deaths[who].append(e[clock])
    return deaths


def _died(run: Run, deaths: Mapping[Any, list[float]]) -> float | None:
    """When the process of a run was killed, if it was after it had begun."""
    times = [t for pid in run.pids for t in deaths.get(pid, ()) if t >= run.start]
    return min(times, default=None)


def _check_end(verdict: Verdict, job: str, record: Record, runs: list[Run]) -> None:
    if record.state in ("waiting", "delayed", "active"):
        verdict.stuck.append(job)
    elif record.state != "completed":
        verdict.dead.append(job)
    elif not runs or runs[-1].end is None or runs[-1].end_wall is None:
        # Whatever completed it, it was not the run that began last.
        (verdict.stale if any(run.end for run in runs) else verdict.unrun).append(job)
    elif record.finished_wall is not None and record.finished_wall < runs[-1].end_wall - 0.001:
        verdict.stale.append(job)


def _check_starts(
    verdict: Verdict,
    runs: list[Run],
    deaths: Mapping[Any, list[float]],
    expired: set[tuple[str, str]],
    held: Sequence[float],
) -> None:
    for run, then in zip(runs, [*runs[1:], None], strict=True):
        died = _died(run, deaths)
        if died is not None and (run.end is None or run.end > died or then is not None):
            verdict.interrupted += 1
            if then is not None:
                # A worker that took it up meanwhile may have been killed before the handler began.
                last = max((t for t in held if died < t < then.start), default=died)
                verdict.recovery.append(then.start - last)
        if then is not None:
            _check_pair(verdict, run, then, died, given_up=(run.job, run.worker) in expired)


def _check_pair(verdict: Verdict, run: Run, then: Run, died: float | None, *, given_up: bool) -> None:
    if given_up:
        verdict.by_expiry += 1
        return
    alive_until = min((t for t in (run.end, died) if t is not None), default=float("inf"))
    if died is not None and run.end is not None and run.end > died:
        alive_until = run.end  # killed, it is said; but it wrote its end
    if then.start < alive_until:
        verdict.overlap.append(run.job)
    elif died is None or died > then.start:
        verdict.unexplained.append(run.job)
