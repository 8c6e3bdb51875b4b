"""The same random programs under limits and breakers on SQLite, PostgreSQL and Redis: the same jobs start."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.kit import TASK, end, error, make_request, new, register
from conftest import make_place
from penstock.engine import Engine, Group, Settled, Want
from penstock.model.breaker import Breaker, Circuit
from penstock.model.clock import FakeClock
from penstock.model.job import Claim
from penstock.model.lanes import group_name, limited_lane
from penstock.model.limits import NO_LIMIT, Limit
from penstock.model.outcome import Cancelled, Completed, Failed, Outcome, Released, Retried, Snoozed

KINDS = ("memory", "postgres", "redis")
PROGRAMS = 400 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 10
STEPS = 80
SLIGHTLY = 1e-5  # instants are whole multiples of it
QUEUES = ("a", "b")
GROUPS = [*QUEUES, group_name("a", TASK), group_name("b", TASK), group_name("a")]
LANES = ["a", "b", "a>app.work", *(limited_lane(g, k) for g in GROUPS[2:] for k in ("x", "y", "z"))]
LIMITS = (
    NO_LIMIT,
    Limit(concurrency=1),
    Limit(concurrency=3),
    Limit(0.5, 1),
    Limit(2.0, 3),
    Limit(2.0, 2, 2),
)
ENDS = (
    Completed(healthy=True),
    Completed(healthy=True),
    Completed(),
    Retried(0.0, error(), healthy=False),
    Retried(5.0, error(), cooldown=5.0),
    Failed("exhausted", error(), healthy=False),
    Snoozed(3.0),
    Released(),
    Cancelled("no"),
)


class Limited:
    """The engines, side by side, under the same limits."""

    def __init__(self, engines: dict[str, Engine], clock: FakeClock, rng: random.Random) -> None:
        self._engines = engines
        self._clock = clock
        self._rng = rng
        self._held: dict[str, list[Claim]] = {}  # by job, what each engine gave
        self._told: list[str] = []

    async def run(self) -> None:
        await self._do("register", lambda e, _: register(e, "w", ttl=100_000))
        await self._do("breakers", lambda e, _: e.put_breakers([Breaker(name="s", threshold=2, reset=7.0)]))
        for _ in range(STEPS):
            verb = self._rng.choice(VERBS)
            await getattr(self, verb)()
        await self.look()

    async def _do(self, words: str, call: Callable[[Engine, int], Awaitable[Any]]) -> list[Any]:
        answers = [await call(engine, n) for n, engine in enumerate(self._engines.values())]
        shown = [_plain(answer) for answer in answers]
        self._told.append(f"{words} -> {shown[0]}")
        for name, other in zip(self._engines, shown, strict=True):
            assert other == shown[0], "\n".join([*self._told, f"but {name}: {other}"])
        return answers

    def _move_on(self) -> None:
        """So that no two have the same turn: of those any may be first."""
        self._clock.advance(self._rng.randint(1, 100) * SLIGHTLY)

    async def enqueue(self) -> None:
        for _ in range(self._rng.randint(1, 6)):
            lane = self._rng.choice(LANES)
            job = new(lane[0], lane=lane, priority=self._rng.choice((1, 2, 3, 3, 4)))
            told = f"enqueue {job.id} {job.lane} {job.priority}"
            await self._do(told, lambda e, _, job=job: e.enqueue([job]))
            self._move_on()

    async def declare(self) -> None:
        rng = self._rng
        name = rng.choice(GROUPS)
        needs = ("s",) if name.endswith(TASK) and rng.random() < 0.4 else ()
        group = Group(name, rng.choice(LIMITS), rng.choice(LIMITS) if ">" in name else NO_LIMIT, needs)
        await self._do(f"declare {group}", lambda e, _: e.put_groups([group]))
        await self._do("tidy", lambda e, _: e.tidy())

    async def settle(self) -> None:
        rng = self._rng
        jobs = rng.sample(sorted(self._held), min(len(self._held), rng.randint(0, 4)))
        how = [_apart(rng.choice(ENDS), n) for n in range(len(jobs))]
        held = [self._held.pop(job) for job in jobs]
        limit = rng.randint(1, 6)
        most, free = dict.fromkeys(QUEUES, rng.randint(1, 6)), rng.randint(limit // 2, limit)
        want = Want("w", make_request(), most, limit, {TASK: "v1"}, free)

        def call(engine: Engine, n: int) -> Awaitable[Settled]:
            return engine.settle([end(h[n], o) for h, o in zip(held, how, strict=True)], want)

        answers = await self._do(
            f"settle {list(zip(jobs, how, strict=True))} want {most} {limit} {free}", call
        )
        for n, claim in enumerate(answers[0].claims):
            self._held[claim.id] = [
                next(other for other in answer.claims if other.id == claim.id) for answer in answers
            ]
            assert n < limit
        self._move_on()

    async def time(self) -> None:
        seconds = self._rng.choice((0.1, 0.5, 1.0, 7.0, 60.0))
        self._clock.advance(seconds)
        await self._do(f"{seconds} s, stage", lambda e, _: _only(e.stage(100)))

    async def breaker(self) -> None:
        circuit = self._rng.choice((Circuit.OPEN, Circuit.CLOSED))
        await self._do(f"breaker {circuit}", lambda e, _: e.set_breaker("s", circuit))

    async def look(self) -> None:
        await self._do("groups", lambda e, _: _groups(e))
        await self._do("breakers", lambda e, _: _breakers(e))
        for group in GROUPS[2:]:
            await self._do(f"lanes {group}", lambda e, _, group=group: _filled(e, group))
        for lane in LANES:
            await self._do(f"limits of {lane}", lambda e, _, lane=lane: _limits(e, lane))
        await self._do("queues", lambda e, _: e.queues())


VERBS = [*("enqueue",) * 4, *("settle",) * 6, *("time",) * 4, "declare", "declare", "breaker", "look"]


async def _only(verb: Awaitable[Any]) -> None:
    await verb


async def _filled(engine: Engine, group: str) -> list[Any]:
    """The lanes that hold jobs: when an empty one is dropped is the engine's to choose."""
    return [
        lane._replace(opens_in=_seconds(lane.opens_in))
        for lane in await engine.lanes(group, 100)
        if lane.waiting + lane.active
    ]


async def _groups(engine: Engine) -> list[Any]:
    return [state._replace(cooled_for=_seconds(state.cooled_for)) for state in await engine.groups()]


async def _limits(engine: Engine, lane: str) -> list[Any]:
    return [
        state._replace(cooled_for=_seconds(state.cooled_for), spent_for=_seconds(state.spent_for))
        for state in await engine.limits_of(lane)
    ]


async def _breakers(engine: Engine) -> list[Any]:
    return [replace(state, retry_in=_seconds(state.retry_in)) for state in await engine.breakers()]


def _apart(outcome: Outcome, nth: int) -> Outcome:
    """As one of several in a step: they come back one after the other, and one alone tells of its health."""
    if isinstance(outcome, Retried | Snoozed):
        outcome = replace(outcome, delay=outcome.delay + nth * SLIGHTLY)
    return (
        replace(outcome, healthy=None) if nth and getattr(outcome, "healthy", None) is not None else outcome
    )


def _seconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 5)


def _plain(answer: Any) -> Any:
    if isinstance(answer, Settled):
        return answer.accepted, sorted(claim.id for claim in answer.claims), _seconds(answer.next_in)
    return answer


@pytest.mark.parametrize("seed", range(PROGRAMS))
async def test_engines_start_the_same_jobs_under_the_same_limits(seed, tmp_path, request):
    clock = FakeClock()
    engines = {kind: make_place(kind, tmp_path, request).engine(clock) for kind in KINDS}
    try:
        for engine in engines.values():
            await engine.migrate()
            await engine.open()
        await Limited(engines, clock, random.Random(seed)).run()
    finally:
        for engine in engines.values():
            await engine.close()
