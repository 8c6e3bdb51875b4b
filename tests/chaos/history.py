"""What happened, from lines that handlers and the one who kills have written; and what must not have.

Times are `time.monotonic()`, which all processes of one host share; `wall` is the engine's clock. A line is a
JSON object with `f`:

    start, end   one run of a job: job, run, worker, pids (of the process it runs in, and of its parent)
    kill         these pids are about to be killed, or die with those that are; `workers` are their ids
    dead         this pid was seen dead
    beat         the engine was seen to hold this worker alive, until then
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job's handler."""

    job: str
    run: str
    worker: str
    pids: tuple[int, ...]
    start: float
    start_wall: float
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
    overlap: list[str] = field(default_factory=list)  # run again before the first had ended, or was seen dead
    unexplained: list[str] = field(default_factory=list)  # run again, and neither death nor expiry was seen
    double: int = 0  # completions counted by the engine beyond one per job
    runs: int = 0
    interrupted: int = 0
    by_death: int = 0  # second starts after the death of the first's process
    by_expiry: int = 0  # second starts after the heartbeat of the first's worker had expired, and no death
    recovery: list[float] = field(
        default_factory=list
    )  # seconds from the kill of its holder to the next start
    passed_on: int = 0  # of these, killed with a second holder before its handler began
    since_first: list[float] = field(default_factory=list)  # the same from the first holder's kill
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


def check(
    events: Sequence[Event],
    acknowledged: Iterable[str],
    records: Mapping[str, Record],
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
    seen = Seen(events)
    for job, job_runs in runs.items():
        lost = records[job].lost if job in records else ()
        verdict.back += [at - t for worker, at in lost for t in seen.killed_wall.get(worker, ())]
        _check_starts(verdict, job_runs, seen)
    return verdict


class Seen:
    """What was seen from outside: who was killed, who died, who was alive until when."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.kills: dict[int, list[float]] = defaultdict(list)  # of processes
        self.deaths: dict[int, list[float]] = defaultdict(list)
        self.killed_wall: dict[str, list[float]] = defaultdict(list)  # of workers, by the engine's clock
        self._beats: dict[str, list[tuple[float, float]]] = defaultdict(list)  # worker -> (seen, until)
        for e in events:
            if e["f"] == "kill":
                for pid in e["pids"]:
                    self.kills[pid].append(e["t"])
                for worker in e["workers"]:
                    self.killed_wall[worker].append(e["wall"])
            elif e["f"] == "dead":
                self.deaths[e["pid"]].append(e["t"])
            elif e["f"] == "beat":
                self._beats[e["worker"]].append((e["t"], e["until"]))

    def killed(self, run: Run) -> float | None:
        """When the process of a run was killed, or its parent."""
        return _first(run, self.kills)

    def died(self, run: Run) -> float | None:
        """When the process of a run was seen dead."""
        return _first(run, self.deaths, run.pids[:1])

    def expired(self, run: Run, then: Run) -> bool:
        """Whether the last that was seen of the worker's heartbeat was over when the next run began."""
        beats = [until for seen, until in self._beats.get(run.worker, ()) if seen <= then.start]
        return bool(beats) and beats[-1] <= then.start_wall


def _first(run: Run, times: Mapping[int, list[float]], pids: Sequence[int] | None = None) -> float | None:
    found = [t for pid in pids or run.pids for t in times.get(pid, ()) if t >= run.start]
    return min(found, default=None)


def _runs(events: Sequence[Event]) -> dict[str, list[Run]]:
    """The runs of each job in the order of their starts."""
    ends = {e["run"]: e for e in events if e["f"] == "end"}
    runs: dict[str, list[Run]] = defaultdict(list)
    for e in sorted((e for e in events if e["f"] == "start"), key=lambda e: e["t"]):
        end = ends.get(e["run"], {})
        about = (e["job"], e["run"], e["worker"], tuple(e["pids"]), e["t"], e["wall"])
        runs[e["job"]].append(Run(*about, end.get("t"), end.get("wall")))
    return runs


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


def _check_starts(verdict: Verdict, runs: list[Run], seen: Seen) -> None:
    for run, then in zip(runs, [*runs[1:], None], strict=True):
        killed = seen.killed(run)
        if killed is not None and (run.end is None or run.end > killed or then is not None):
            verdict.interrupted += 1
            if then is not None:
                # From the first kill, though a second holder may have been killed before the handler began.
                verdict.recovery.append(then.start - killed)
        if then is not None:
            _check_pair(verdict, run, then, seen)


def _check_pair(verdict: Verdict, run: Run, then: Run, seen: Seen) -> None:
    died = seen.died(run)
    over = run.end if run.end is not None else died
    if died is not None and died <= then.start:
        verdict.by_death += 1
    elif seen.expired(run, then):
        verdict.by_expiry += 1
        return
    elif over is not None and over <= then.start:
        verdict.unexplained.append(run.job)
    if over is None or over > then.start:
        verdict.overlap.append(run.job)
