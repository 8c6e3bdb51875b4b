"""The few words in which the conformance suite speaks: make a job, take it, end it."""

from __future__ import annotations

import itertools
import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.engine import Engine, OnLent, Settlement, Want, WorkerInfo
from penstock.model.clock import Clock, EngineClock
from penstock.model.ids import COUNTER_BITS, uuid7
from penstock.model.job import Claim, Edge, Held, Job, NewJob, OnFailure, Ties
from penstock.model.outcome import COMPLETED, Cancelled, Failed, Outcome, Park, Released, Retried, Snoozed
from penstock.model.states import State

QUEUE = "default"
TASK = "app.work"
SIGNATURE = "v1"
WORKER = "worker-1"
TTL = 30.0

_started_ms = time.time_ns() // 1_000_000
_counter = itertools.count(secrets.randbits(COUNTER_BITS - 4))
_requests = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """Where one test's jobs live. Can be sent to another process, which opens its own engine there."""

    kind: str  # sqlite, memory, postgres, redis or valkey
    address: str  # a path or a URL
    schema: str = ""
    ledger: str | None = None  # the URL of a database beside Redis

    @property
    def remembers(self) -> bool:
        """Whether pruned jobs go to a history. Redis alone has none: what is told goes with the record."""
        return self.kind not in ("redis", "valkey")

    def engine(self, clock: Clock | None = None) -> Engine:
        """A new engine object on this storage, not opened; without a clock the engine's own judges."""
        options = {} if clock is None else {"clock": clock}
        if self.kind == "postgres":
            from penstock.engines.postgres.engine import PostgresEngine

            return PostgresEngine(self.address, schema=self.schema, **options)
        if self.ledger:
            from penstock.model.clock import EngineClock
            from penstock.opening import make_engine

            return make_engine(self.address, self.schema, clock or EngineClock(), self.ledger)
        if self.kind in ("redis", "valkey"):
            from penstock.engines.redis.engine import RedisEngine

            return RedisEngine(self.address, schema=self.schema, **options)
        from penstock.engines.sqlite.engine import SqliteEngine

        return SqliteEngine(self.address, **options)

    def on_lent(self, clock: Clock | None = None) -> OnLent:
        """The verbs on connections of the caller's."""
        from penstock.opening import on_lent

        is_file = self.kind in ("sqlite", "memory")
        return on_lent(
            f"sqlite:///{self.address}" if is_file else self.address, self.schema, clock or EngineClock()
        )


def make_id() -> str:
    """A job id; later ones are greater."""
    return uuid7(_started_ms, next(_counter), secrets.randbits(44))


def new(queue: str = QUEUE, task: str = TASK, *, key: str | None = None, **more: Any) -> NewJob:
    """A job to enqueue. A key, where given, makes it unique; else its id is its key."""
    job_id = more.pop("id", None) or make_id()
    return NewJob(job_id, queue, task, key=key or job_id, unique=key is not None, **more)


def news(count: int, *args: Any, **more: Any) -> list[NewJob]:
    return [new(*args, **more) for _ in range(count)]


async def put(engine: Engine, *args: Any, **more: Any) -> str:
    """Enqueue one job and answer its id."""
    [enqueued] = await engine.enqueue([new(*args, **more)])
    return enqueued.id


def after(*upstream: str, on_failure: OnFailure = "fail", **more: Any) -> Ties:
    """The ties of a job that waits for these, all by the same rule."""
    return Ties(tuple(Edge(job_id, on_failure) for job_id in upstream), **more)


async def blocked(engine: Engine, upstream: str, on_failure: OnFailure = "fail", **more: Any) -> str:
    """Put one job in behind another, which feeds; its id."""
    return await put(engine, ties=after(upstream, on_failure=on_failure, feeds=True), **more)


FEEDS = Ties(feeds=True)  # of a job that others, put in later, wait for


async def register(engine: Engine, worker: str = WORKER, ttl: float = TTL, **more: Any) -> str:
    """Announce a worker and answer its id."""
    info = {"name": f"host:{worker}", "queues": (QUEUE,), "slots": 10, **more}
    await engine.register(WorkerInfo(id=worker, **info), ttl)
    return worker


def make_request() -> str:
    return f"request-{next(_requests)}-{secrets.token_hex(4)}"


def want(
    *queues: str,
    worker: str = WORKER,
    limit: int = 1_000,
    each: int = 1_000,
    request: str | None = None,
    tasks: Mapping[str, str] | None = None,
    per_queue: Mapping[str, int] | None = None,
    free: int | None = None,
) -> Want:
    """What a worker asks for: everything in the default queue, unless told otherwise."""
    per_queue = per_queue if per_queue is not None else dict.fromkeys(queues or (QUEUE,), each)
    tasks = {TASK: SIGNATURE} if tasks is None else tasks
    return Want(worker, request or make_request(), per_queue, limit, tasks, limit if free is None else free)


async def claim(engine: Engine, *queues: str, **more: Any) -> list[Claim]:
    return (await engine.claim(want(*queues, **more))).claims


async def take(engine: Engine, *args: Any, worker: str = WORKER, **more: Any) -> Claim:
    """Enqueue one job and claim it: it must be the only one waiting in its queue."""
    job = new(*args, **more)
    await engine.enqueue([job])
    [taken] = await claim(engine, job.queue, worker=worker)
    assert taken.id == job.id
    return taken


def end(
    held: Claim,
    outcome: Outcome = COMPLETED,
    ran_for: float = 0.0,
    keep: bool = True,
    then: Iterable[NewJob] = (),
) -> Settlement:
    return Settlement(held.id, held.token, outcome, ran_for, keep, tuple(then))


async def settle(engine: Engine, held: Claim, outcome: Outcome = COMPLETED, **more: Any) -> bool:
    """End one run; whether that was accepted."""
    again = more.pop("again", False)
    settled = await engine.settle([end(held, outcome, **more)], again=again)
    [accepted] = settled.accepted
    return accepted


async def finish(engine: Engine, *args: Any, outcome: Outcome = COMPLETED, **more: Any) -> Claim:
    """Enqueue one job, run it and end it. Its worker must be registered."""
    held = await take(engine, *args, **more)
    assert await settle(engine, held, outcome)
    return held


def error(message: str = "boom", **more: Any) -> str:
    return json.dumps({"type": "Boom", "message": message, "code": None, "attempt": 1, **more})


def failed(reason: str = "exhausted", message: str = "boom") -> Failed:
    return Failed(reason, error(message))


def retried(delay: float = 0.0, message: str = "boom") -> Retried:
    return Retried(delay, error(message))


def snoozed(delay: float = 0.0) -> Snoozed:
    return Snoozed(delay, "later")


def parked(task: str = TASK, misfit: str | None = None, reason: str = "nobody knows it") -> Released:
    return Released(reason, park=Park(task, reason, misfit))


EVERY_OUTCOME = (
    COMPLETED,
    retried(),
    retried(60),
    snoozed(),
    snoozed(60),
    Released(),
    Cancelled("no"),
    failed(),
)


def name_of(outcome: Outcome) -> str:
    """An outcome as the id of a test."""
    return f"{outcome.verb}-{outcome.state}"


def gone(_held: Held) -> Outcome:
    """The plain judge: back in line, a suspect."""
    return Released("its worker was lost", suspect=True, rescued=True)


class Witness:
    """A judge that remembers what it was shown."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.seen: list[Held] = []
        self.outcome = outcome

    def __call__(self, held: Held) -> Outcome:
        self.seen.append(held)
        return self.outcome or gone(held)


def never(held: Held) -> Outcome:
    """The judge that must not be asked."""
    raise AssertionError(f"asked about {held}")


async def read(engine: Engine, job_id: str) -> Job:
    """A job that must be there."""
    job = await engine.get(job_id)
    assert job is not None, f"no record of {job_id}"
    return job


async def state(engine: Engine, job_id: str) -> State | None:
    job = await engine.get(job_id)
    return None if job is None else job.state


async def counts(engine: Engine, queue: str = QUEUE) -> dict[State, int]:
    """What the engine counts in a queue, without zeros."""
    for found in await engine.queues():
        if found.queue == queue:
            return {state: n for state, n in found.counts.items() if n}
    return {}


def ids(items: Iterable[Any]) -> list[str]:
    return [item.id for item in items]
