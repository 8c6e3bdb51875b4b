"""What a worker and its engine tell each other about runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from penstock.model.job import Claim, Held, NewJob
from penstock.model.outcome import Outcome
from penstock.model.states import State

Judge: TypeAlias = Callable[[Held], Outcome]


class Rhythm(NamedTuple):
    """How a worker talks to an engine while it has much to do: what a call costs by itself decides it."""

    calls: int = 2  # at once: while the engine writes one, the handlers fill the next
    ends: int = 450  # of runs, that go beside a call under way; fewer wait for its answer


class Want(NamedTuple):
    """What a worker can take now."""

    worker: str
    request: str  # fresh for each call: names what this call claimed, should its answer be lost
    queues: Mapping[str, int]  # queue -> how many from it at most
    limit: int  # how many in all
    tasks: Mapping[str, str]  # task name -> fingerprint of its signature
    free: int  # how many can begin at once: no more come from where there are limits


class Settlement(NamedTuple):
    """The end of one run."""

    id: str
    token: str
    outcome: Outcome
    ran_for: float = 0.0  # seconds
    keep: bool = True  # False: a completed job leaves no record
    then: tuple[NewJob, ...] = ()  # put in with it, where it is accepted and completes the run
    remember: bool = True  # False: without `keep` it leaves nothing in the history either


class Claimed(NamedTuple):
    """The answer to a claim."""

    claims: list[Claim]
    next_in: float | None = None  # seconds after which more may be had, where only time is needed for it
    fence: int = 0  # greater than that of every claim before, where there is one (Redis)


class Settled(NamedTuple):
    """The answer to a settle: for each settlement whether it was accepted; and the next claims."""

    accepted: list[bool]
    claims: list[Claim]
    expired: bool = False  # the worker in `want` is not alive any more
    next_in: float | None = None  # as of a claim
    fence: int = 0  # as of a claim


class Grip(NamedTuple):
    """What a worker holds, as the engine has it."""

    job_id: str
    token: str
    attempt: int
    for_seconds: float  # since its claim


class Order(StrEnum):
    """What a person has told a worker to do."""

    QUIET = "quiet"  # claim nothing more; what runs goes on
    STOP = "stop"  # claim nothing more, let what runs finish within its grace period, and end


class CancelOrder(NamedTuple):
    job_id: str
    token: str


class Orders(NamedTuple):
    """What a heartbeat brings back."""

    given_up: bool = False
    cancel: tuple[CancelOrder, ...] = ()
    paused: frozenset[str] = frozenset()
    watched: bool = False  # somebody watches the feed: there is a note of LISTENER_KIND, LISTENER_KEY
    order: Order | None = None  # of a person, to this worker


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker process: who it is and what it does."""

    id: str
    name: str  # host:pid, for people
    queues: tuple[str, ...]
    slots: int
    started_at: datetime | None = None
    expires_at: datetime | None = None
    active: int = 0
    alive: bool = True
    order: Order | None = None
    memory: int | None = None  # bytes, as its heartbeats told; None: they have not

    @property
    def claims(self) -> bool:
        """Whether it takes jobs: it lives, and nobody has told it not to."""
        return self.alive and self.order is None


class Expired(NamedTuple):
    """One job whose time passed before it could begin."""

    id: str
    queue: str
    task: str
    owner: str | None
    state: State  # that it is in now: cancelled, failed, or waiting where it waits for others no longer
    missed: bool  # those for which it waited had not ended by its deadline; else it is its own expiry


class Rescued(NamedTuple):
    """One job taken back from a worker that is gone."""

    id: str
    queue: str
    task: str
    worker: str
    state: State
