"""What people ask an engine for, and what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from penstock.engine.counting import Minute
from penstock.engine.running import WorkerInfo
from penstock.engine.scheduling import ScheduleRow
from penstock.model.breaker import BreakerState
from penstock.model.job import Job
from penstock.model.states import State, Status

NOT_READ = "null"  # stands for a payload that was not asked for
OLDEST_LANES = 1_000  # of a queue, looked at for what has waited longest


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list. Empty means all; newest first.

    Found by time are jobs whose id was made within a minute of their creation; near the ends of the range
    others may be left out.
    """

    queue: str | None = None
    task: str | None = None
    state: State | None = None
    owner: str | None = None
    key: str | None = None
    since: datetime | None = None  # created at or after
    until: datetime | None = None  # created before
    parked: bool | None = None
    payloads: bool = True  # False: `NOT_READ` in their place; they may be a megabyte each


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFilter:
    """Which jobs that have ended to list. Empty means all; newest first. As to times, see JobFilter."""

    queue: str | None = None
    task: str | None = None
    status: Status | None = None
    owner: str | None = None
    key: str | None = None
    since: datetime | None = None  # created at or after
    until: datetime | None = None  # created before
    payloads: bool = True  # False: `NOT_READ` in their place; they may be a megabyte each


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters to list. Those already recovered only where asked for; newest first."""

    queue: str | None = None
    task: str | None = None
    owner: str | None = None
    reason: str | None = None
    since: datetime | None = None  # failed at or after
    until: datetime | None = None
    recovered: bool = False
    payloads: bool = True  # False: `NOT_READ` in their place; they may be a megabyte each


class Recovery(NamedTuple):
    """Recover one dead letter as a new job; `args` replaces the payload where given."""

    dead_id: str
    new_id: str
    args: str | None = None
    delay: float = 0.0


class Parked(NamedTuple):
    """A parked lane: what waits there and why."""

    lane: str
    queue: str
    task: str
    reason: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A flow: its members in the order in which they were put in."""

    id: str
    name: str
    created_at: datetime
    unfinished: int
    jobs: tuple[Job, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueState:
    """What the engine knows of a queue."""

    queue: str
    paused: bool
    counts: Mapping[State, int]
    oldest_at: datetime | None = None  # when the one that has waited longest was due; see "Standing"


class Survey(NamedTuple):
    """What stands, all at one time: each as the verb for it tells."""

    now: datetime
    queues: list[QueueState]
    workers: list[WorkerInfo]
    minutes: list[Minute]  # those that began within the reach that was asked for
    dead: int  # see `dead_count`
    breakers: list[BreakerState]
    parked: list[Parked]
    schedules: list[ScheduleRow]


class Standing(NamedTuple):
    """Where a job stands in its lane."""

    ahead: int  # jobs that are claimed before it
    more: bool = False  # and more

    @classmethod
    def counted(cls, ahead: int, most: int) -> Standing:
        return cls(min(ahead, most), ahead > most)
