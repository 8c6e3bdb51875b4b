"""Claims where there are limits: lanes take turns, and what cannot start is not looked at."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.engine import Want
from penstock.engines.sqlite import groups as group_rows
from penstock.engines.sqlite import lanes, turns
from penstock.engines.sqlite.gauges import Bound, Gauge
from penstock.engines.sqlite.groups import GroupRow
from penstock.engines.sqlite.lanes import COST, OLDEST, LaneRow
from penstock.engines.sqlite.session import Tx

Groups = Mapping[str, GroupRow]


@dataclass(slots=True)
class Source:
    """A lane from which a claim may take, and where it stands."""

    lane: str
    queue: str
    bounds: Sequence[Bound]
    limited: bool  # what it gives must be able to begin at once
    turn: int
    rank: int
    jobs: list[tuple[int, str]] = field(default_factory=list)  # the next ones, the first last
    row: LaneRow | None = None  # None: not a limited lane
    gauge: Gauge | None = None
    owes: int = 0
    taken: int = 0

    @property
    def place(self) -> tuple[int, int, str]:
        return self.turn, self.rank, self.lane


def concerning(groups: Groups, want: Want) -> bool:
    """Whether there are limits, or lanes with jobs, where this worker looks."""
    return any(
        row.queue in want.queues and (row.waiting if not row.is_queue else _bounds_queue(row))
        for row in groups.values()
    )


def _bounds_queue(row: GroupRow) -> bool:
    return row.is_limited or row.gauge.cooled_until > 0


class Round:
    """One claim under limits."""

    def __init__(self, tx: Tx, want: Want, queues: Iterable[str], groups: Groups) -> None:
        self._tx = tx
        self._want = want
        self._queues = {queue for queue in queues if want.queues[queue] > 0}
        self._groups = groups
        self._budget = min(want.limit, want.free)
        self._from: Counter[str] = Counter()
        self._free = want.free
        self._ids: list[str] = []
        self._sources: list[Source] = []
        self.probes: set[str] = set()  # ids of the jobs that try a breaker

    def take(self, unlimited: Iterable[tuple[str, str]]) -> list[str]:
        """The ids of the jobs whose turn it is; `unlimited` are the lanes, with their queues, that have no
        limits but their queues'."""
        for lane, queue in unlimited:
            self._add_unlimited(lane, queue)
        for queue in self._queues:
            opened = [group for group in self._groups.values() if group.queue == queue and self._opens(group)]
            lanes.work_off(self._tx, queue, opened)
            for group in opened:
                self._add_group(group)
        line = [(source.place, n, source) for n, source in enumerate(self._sources)]
        heapq.heapify(line)
        while line and len(self._ids) < self._want.limit:
            _, n, source = line[0]
            if self._take_from(source):
                heapq.heapreplace(line, (source.place, n, source))
            else:
                heapq.heappop(line)
        self._write()
        return self._ids

    def _add_unlimited(self, lane: str, queue: str) -> None:
        group = self._groups.get(queue)
        limited = group is not None and group.is_limited
        bounds = group.bounds(self._groups) if group else []
        most = min(self._want.queues[queue], self._budget if limited else self._want.limit)
        if most > 0 and not _is_closed(bounds, self._tx.now):
            source = Source(lane, queue, bounds, limited, 0, 0, _read(self._tx, lane, most, 0))
            if source.jobs:
                self._step(source)
                self._sources.append(source)

    def _opens(self, group: GroupRow) -> bool:
        if group.is_queue or not group.waiting:
            return False
        return not _is_closed(group.bounds(self._groups), self._tx.now)

    def _add_group(self, group: GroupRow) -> None:
        most = min(self._want.queues[group.queue], self._budget)
        if most <= 0:
            return
        bounds, clock = group.bounds(self._groups), turns.clock(self._tx, group.queue)
        for row in lanes.ready(self._tx, group.group.name, most):
            gauge = row.gauge(group)
            assert row.first_rank is not None
            self._sources.append(
                Source(
                    row.lane,
                    row.queue,
                    [*bounds, gauge],
                    limited=True,
                    turn=row.turn(self._tx.now, clock),
                    rank=row.first_rank,
                    owes=row.owes(clock),
                    row=row,
                    gauge=gauge,
                )
            )

    def _take_from(self, source: Source) -> bool:
        """Take the next job of a lane; whether more may come from it."""
        tx = self._tx
        if self._from[source.queue] >= self._want.queues[source.queue] or (
            source.limited and self._free <= 0
        ):
            return False
        if _is_closed(source.bounds, tx.now) or not self._fill(source):
            return False
        _, job_id = source.jobs.pop()
        for bound in source.bounds:
            if bound.start(tx.now, job_id):
                self.probes.add(job_id)
        self._ids.append(job_id)
        self._from[source.queue] += 1
        self._free -= source.limited
        source.taken += 1
        return self._step(source)

    def _fill(self, source: Source) -> bool:
        """Read the next jobs of a limited lane, few at a time: others have their turns too."""
        if not source.jobs and source.row is not None:
            some = 1 + self._free // len(self._sources)
            source.jobs = _read(self._tx, source.lane, some, source.taken)
            if not source.jobs and not source.taken:
                self._look_again(source)
        return bool(source.jobs)

    def _look_again(self, source: Source) -> None:
        """All jobs of the lane have expired: it steps aside, and who stands behind it may be asked for."""
        self._tx.touch(source.lane)
        self._tx.woken.add(source.queue)

    def _step(self, source: Source) -> bool:
        """Where the lane stands with its next job."""
        if source.row is not None:
            source.owes += COST
            if self._free <= 0 or not self._fill(source):
                return False
        if source.jobs:
            source.rank = source.jobs[-1][0]
            source.turn = max(source.rank, self._tx.now - OLDEST) + source.owes
        return bool(source.jobs)

    def _write(self) -> None:
        taken = [(s.row, s.gauge, s.taken) for s in self._sources if s.row and s.gauge and s.taken]
        lanes.spend(self._tx, taken)
        group_rows.save(self._tx, list(self._groups.values()))


def _read(tx: Tx, lane: str, most: int, beyond: int) -> list[tuple[int, str]]:
    """The next jobs of a lane, the first last."""
    ((text,),) = tx.rows("claim_limited", (lane, tx.now, most, beyond))
    return [(rank, job_id) for rank, job_id in reversed(json.loads(text))]


def _is_closed(bounds: Sequence[Bound], now: int) -> bool:
    return any(bound.room(now) == 0 for bound in bounds)


def next_in(tx: Tx, unlimited: Sequence[tuple[str, str]]) -> float | None:
    """Seconds after which it is worth asking again, where only time is needed; `unlimited` as in `take`."""
    groups = group_rows.load(tx)
    by_queue: dict[str, list[str]] = {}
    for lane, queue in unlimited:
        by_queue.setdefault(queue, []).append(lane)
    there = [seconds for queue, names in by_queue.items() for seconds in _openings(tx, queue, names, groups)]
    return min(there, default=None)


def _openings(tx: Tx, queue: str, unlimited: Sequence[str], groups: Groups) -> Iterable[float]:
    """When a queue opens that lets nothing start, else its groups that do not, else the lanes of those."""
    whole = groups.get(queue)
    limited = [row for row in groups.values() if row.queue == queue and not row.is_queue]
    standing = [row for row in limited if lanes.are_standing(tx, row)]
    closed = whole.closed_for(groups, tx.now) if whole else 0.0
    if closed == 0.0:
        yield from (seconds for group in standing for seconds in _opening(tx, group, groups))
    elif closed and (standing or any(_read(tx, lane, 1, 0) for lane in unlimited)):
        yield closed


def _opening(tx: Tx, group: GroupRow, groups: Groups) -> Iterable[float]:
    closed = group.closed_for(groups, tx.now)
    opens = closed or (None if closed is None else lanes.opens_in(tx, group))
    if opens is not None:
        yield opens
