"""One program on several engines at once: every answer must be the same on each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from conformance.answers import differing, plain
from conformance.batches import OWNERS, QUEUES, SHELF, TASKS, Batches
from conformance.kit import EVERY_OUTCOME, SIGNATURE, end, make_id, make_request, parked, register
from penstock.engine import (
    Claimed,
    DeadFilter,
    Engine,
    JobFilter,
    Recovery,
    Retention,
    Settled,
    Want,
)
from penstock.model.clock import FakeClock
from penstock.model.errors import PenstockError
from penstock.model.job import (
    Claim,
    Held,
    NewJob,
)
from penstock.model.outcome import Failed, Outcome, Released
from penstock.model.states import State

JUDGEMENTS = (
    Released("its worker was lost", suspect=True, rescued=True),
    Failed("crash-loop", None, crashed=True, rescued=True),
)
OUTCOMES = (
    *EVERY_OUTCOME,
    parked(misfit=SIGNATURE),
    parked(),
    Released("crashed", None, suspect=True, crashed=True),
)
MOST = 100  # more than there ever are

Call = Callable[[Engine, int], Awaitable[Any]]


class Trio:
    """The engines, side by side, and what the program remembers of them."""

    def __init__(self, engines: dict[str, Engine], clock: FakeClock, rng: Random) -> None:
        self._engines = engines
        self._clock = clock
        self._rng = rng
        self._workers: list[str] = []
        self._jobs = Batches(rng)
        self._batches: list[list[NewJob]] = []
        self._held: list[list[Claim]] = []  # for each claim, what each engine gave; never forgotten
        self._wants: list[Want] = []
        self.told: list[str] = []

    async def run(self, steps: int) -> None:
        await self.worker()
        for _ in range(steps):
            await getattr(self, self._rng.choice(VERBS))()
        await self.look()

    async def _do(self, words: str, call: Call) -> list[Any]:
        """What each engine answers; they must agree."""
        answers = [await _answer(call, engine, n) for n, engine in enumerate(self._engines.values())]
        shown = [plain(answer) for answer in answers]
        self.told.append(f"{words} -> {shown[0]}")
        for name, other in zip(self._engines, shown, strict=True):
            assert other == shown[0], "\n".join([*self.told, f"but {name}: {differing(shown[0], other)}"])
        return answers

    # -- in and out -----------------------------------------------------------------------------------
    async def enqueue(self) -> None:
        batch = self._jobs.draw(self._rng.randint(1, 4))
        self._batches.append(batch)
        await self._do(f"enqueue {batch}", lambda e, _: e.enqueue(batch))

    async def enqueue_again(self) -> None:
        if self._batches:
            batch = self._rng.choice(self._batches)
            await self._do(f"enqueue again {batch}", lambda e, _: e.enqueue(batch, again=True))

    async def worker(self) -> None:
        worker = make_id()
        self._workers.append(worker)
        await self._do(f"register {worker}", lambda e, _: register(e, worker, 30.5))

    async def claim(self) -> None:
        want = self._want()
        answers = await self._do(f"claim {want}", lambda e, _: e.claim(want))
        self._remember([answer.claims for answer in answers if isinstance(answer, Claimed)])

    async def settle(self) -> None:
        if not self._held:
            return
        rng = self._rng
        some = {rng.choice(self._held[-6:])[0].id: 0 for _ in range(rng.randint(1, 3))}
        chosen = [next(claims for claims in reversed(self._held) if claims[0].id == job) for job in some]
        how: list[tuple[Outcome, float, bool]] = [
            (rng.choice(OUTCOMES), rng.choice((0.0, 1.5)), rng.random() < 0.8) for _ in chosen
        ]
        parks = any(outcome.park for outcome, _, _ in how)  # and does not ask for the same again
        want = self._want() if rng.random() < 0.4 and not parks else None
        again = rng.random() < 0.2
        then = self._jobs.draw(rng.choice((0, 0, 1, 2)))

        def call(engine: Engine, n: int) -> Awaitable[Settled]:
            ends = [
                end(claims[n], outcome, ran_for=ran, keep=keep, then=() if number else then)
                for number, (claims, (outcome, ran, keep)) in enumerate(zip(chosen, how, strict=True))
            ]
            return engine.settle(ends, want, again=again)

        answers = await self._do(f"settle {[*some]} {how} {want} {again=} {then=}", call)
        self._remember([answer.claims for answer in answers if isinstance(answer, Settled)])

    async def progress(self) -> None:
        if self._held:
            held = self._rng.choice(self._held)
            await self._do(
                f"progress {held[0].id}", lambda e, n: e.progress(held[n].id, held[n].token, '{"percent":4}')
            )

    async def save_step(self) -> None:
        if self._held:
            held, name = self._rng.choice(self._held[-6:]), self._rng.choice(("price", "charge"))
            await self._do(
                f"step {held[0].id} {name}",
                lambda e, n: e.save_step(held[n].id, held[n].token, name, str(len(self.told))),
            )
            await self._do(f"steps {held[0].id}", lambda e, n: e.steps(held[n].id))

    async def release(self) -> None:
        if self._wants:
            want = self._rng.choice(self._wants[-3:])
            await self._do(f"release {want.request}", lambda e, _: e.release(want.worker, want.request))

    def _want(self) -> Want:
        rng = self._rng
        queues = {queue: rng.randint(0, 3) for queue in QUEUES if rng.random() < 0.8}
        tasks = {task: rng.choice((SIGNATURE, SIGNATURE, "v2")) for task in TASKS}
        want = Want(rng.choice(self._workers), make_request(), queues, rng.randint(0, 5), tasks, free=5)
        self._wants.append(want)
        return want

    def _remember(self, answers: list[Any]) -> None:
        if answers and isinstance(answers[0], list):
            self._held += [list(claims) for claims in zip(*answers, strict=True)]

    # -- upkeep ---------------------------------------------------------------------------------------
    async def time(self) -> None:
        seconds = self._rng.choice((1, 5, 20, 60))
        self._clock.advance(seconds)
        self.told.append(f"{seconds} s pass")

    async def beat(self) -> None:
        worker = self._rng.choice(self._workers)
        await self._do(f"beat {worker}", lambda e, _: e.beat(worker, 30.5))

    async def stage(self) -> None:
        await self._do("stage", lambda e, _: e.stage(MOST))

    async def rescue(self) -> None:
        outcome = self._rng.choice(JUDGEMENTS)
        await self._do(f"rescue {outcome}", lambda e, _: e.rescue(MOST, lambda _held: outcome))

    async def rescue_worker(self) -> None:
        worker = self._rng.choice(self._workers)
        begun = [claims for claims in self._held if self._rng.random() < 0.5]

        async def call(engine: Engine, n: int) -> Any:
            seen: list[Held] = []

            def judge(held: Held) -> Outcome:
                seen.append(held)
                return JUDGEMENTS[0] if held.started else Released("never begun")

            rescued = await engine.rescue_worker(worker, frozenset(c[n].token for c in begun), judge)
            return rescued, sorted(seen)

        await self._do(f"rescue worker {worker}", call)

    async def expire(self) -> None:
        async def call(engine: Engine, _: int) -> Any:
            return sorted(await engine.expire(MOST))

        await self._do("expire", call)

    async def prune(self) -> None:
        rng = self._rng
        rules = Retention(
            rng.choice((*QUEUES, SHELF)),
            rng.choice((None, 0, 2)),
            rng.choice((None, 0, 2)),
            rng.choice((None, 30)),
        )
        run = rng.choice((None, None, "2026-01-01", "2026-01-02"))
        await self._do(f"prune {rules} {run}", lambda e, _: e.prune(rules, MOST, run=run))

    async def purge(self) -> None:
        await self._do("purge", lambda e, _: e.purge(30, MOST))

    async def remove_dead_letters(self) -> None:
        ids = self._some()
        await self._do(f"remove_dead_letters {ids}", lambda e, _: e.remove_dead_letters(ids))

    async def tidy(self) -> None:
        await self._do("tidy", lambda e, _: e.tidy())

    # -- operate --------------------------------------------------------------------------------------
    async def cancel(self) -> None:
        ids = self._some()
        await self._do(f"cancel {ids}", lambda e, _: e.cancel(ids, "no"))

    async def promote(self) -> None:
        ids = self._some()
        await self._do(f"promote {ids}", lambda e, _: e.promote(ids))

    async def reschedule(self) -> None:
        ids, delay = self._some(), self._rng.choice((0.0, 7.0))
        await self._do(f"reschedule {ids} {delay}", lambda e, _: e.reschedule(ids, delay))

    async def delete(self) -> None:
        ids = self._some()
        await self._do(f"delete {ids}", lambda e, _: e.delete(ids))

    async def recover(self) -> None:
        rng = self._rng
        some = [
            Recovery(job, make_id(), rng.choice((None, '{"n":2}')), rng.choice((0.0, 5.0)))
            for job in dict.fromkeys(self._some())
        ]
        self._jobs.ids += [recovery.new_id for recovery in some]
        await self._do(f"recover {some}", lambda e, _: e.recover(some))

    async def pause(self) -> None:
        queue, paused = self._rng.choice(QUEUES), self._rng.random() < 0.5
        await self._do(f"pause {queue} {paused}", lambda e, _: e.set_paused(queue, paused))

    def _some(self) -> list[str]:
        """Ids of jobs, most of them made lately, and sometimes of none."""
        some = [
            self._rng.choice(self._jobs.ids[-8:]) for _ in range(self._rng.randint(1, 3)) if self._jobs.ids
        ]
        return some if some and self._rng.random() < 0.9 else [make_id()]

    # -- look -----------------------------------------------------------------------------------------
    async def page(self) -> None:
        rng = self._rng
        where = JobFilter(
            queue=rng.choice((None, *QUEUES)),
            task=rng.choice((None, *TASKS)),
            state=rng.choice((None, *State)),
            owner=rng.choice(OWNERS),
            key=rng.choice((None, None, "k1")),
            parked=rng.choice((None, None, True, False)),
        )
        after, limit = rng.choice((None, *self._jobs.ids[-5:])), rng.choice((1, 3, MOST))
        await self._do(f"jobs {where} {limit} {after}", lambda e, _: e.jobs(where, limit, after))

    async def look(self) -> None:
        """Everything there is to see."""
        await self._do("queues", lambda e, _: e.queues())
        await self._do("all", lambda e, _: e.jobs(JobFilter(), 10 * MOST))
        for recovered in (False, True):
            where = DeadFilter(recovered=recovered)
            await self._do(f"dead {recovered=}", lambda e, _, where=where: e.dead_letters(where, MOST))
        await self._do("dead count", lambda e, _: e.dead_count())
        await self._do("workers", lambda e, _: e.workers())
        await self._do("parked", lambda e, _: e.parked())
        for flow in self._jobs.flows:
            await self._do(f"flow {flow}", lambda e, _, flow=flow: e.flow(flow))
        for job in self._jobs.ids:
            await self._do(f"get {job}", lambda e, _, job=job: e.get(job))


VERBS = [
    *("enqueue",) * 6,
    *("claim", "settle") * 6,
    *("time", "page", "look", "stage", "worker") * 2,
    *("enqueue_again", "progress", "release", "beat", "rescue", "rescue_worker", "expire", "prune", "purge"),
    *(
        "tidy",
        "cancel",
        "promote",
        "delete",
        "recover",
        "pause",
        "save_step",
        "reschedule",
        "remove_dead_letters",
    ),
]


async def _answer(call: Call, engine: Engine, n: int) -> Any:
    try:
        return await call(engine, n)
    except PenstockError as error:
        return error
