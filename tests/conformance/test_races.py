"""Races between real processes, on the engine's own clock."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from conformance.kit import (
    QUEUE,
    Place,
    claim,
    counts,
    end,
    failed,
    finish,
    gone,
    ids,
    make_id,
    new,
    news,
    register,
    want,
)
from forks import FORKS
from penstock.engine import JobFilter, Recovery
from penstock.model.errors import WorkerExpired
from penstock.model.job import Edge, FlowName, Ties
from penstock.model.outcome import COMPLETED
from penstock.model.states import State

Meet = Callable[[], Awaitable[Any]]


def together(work: Callable[..., Awaitable[Any]], place: Place, *arguments: tuple[Any, ...]) -> list[Any]:
    """Run `work(place, meet, *arguments)` in one process for each; `meet()` waits for all. Their answers."""
    barrier = FORKS.Barrier(len(arguments))
    children = []
    for some in arguments:
        ours, theirs = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=_child, args=(theirs, barrier, work, place, some))
        process.start()
        theirs.close()
        children.append((process, ours))
    answers = [ours.recv() for _, ours in children]
    for process, ours in children:
        process.join()
        ours.close()
        process.close()
    for problem, _ in answers:
        assert problem is None, problem
    return [answer for _, answer in answers]


def _child(
    pipe: Connection, barrier: Barrier, work: Callable[..., Any], place: Place, some: tuple[Any, ...]
) -> None:
    async def meet() -> None:
        await asyncio.to_thread(barrier.wait, 60)

    try:
        pipe.send((None, asyncio.run(work(place, meet, *some))))
    except BaseException as error:
        barrier.abort()
        pipe.send((repr(error), None))
        raise


@asynccontextmanager
async def opened(place: Place, migrate: bool = False):
    engine = place.engine()
    if migrate:
        await engine.migrate()
    await engine.open()
    yield engine
    await engine.close()


# -- claims ------------------------------------------------------------------------------------------


async def drain(place: Place, meet: Meet, name: str) -> tuple[list[str], list[bool]]:
    """Claim and complete in batches until nothing is left; what was claimed and what was accepted."""
    async with opened(place) as engine:
        await register(engine, name, ttl=300)
        await meet()
        taken, accepted = [], []
        held = await claim(engine, worker=name, limit=20)
        while held:
            taken += ids(held)
            settled = await engine.settle([end(h) for h in held], want(worker=name, limit=20))
            accepted += settled.accepted
            held = settled.claims or await claim(engine, worker=name, limit=20)
        return taken, accepted


async def test_no_job_is_claimed_twice_by_three_processes(shared_place):
    async with opened(shared_place, migrate=True) as engine:
        jobs = news(3_000)
        await engine.enqueue(jobs)
        answers = await asyncio.to_thread(together, drain, shared_place, ("w1",), ("w2",), ("w3",))
        assert sorted(job for taken, _ in answers for job in taken) == ids(jobs)
        assert all(ok for _, accepted in answers for ok in accepted)
        assert await counts(engine) == {State.COMPLETED: 3_000}


# -- ties --------------------------------------------------------------------------------------------


async def drain_flow(place: Place, meet: Meet, name: str) -> list[str]:
    """Claim and end a few at a time until nothing is unfinished; ids of the accepted ends."""
    chance = random.Random(name)
    ended: list[str] = []
    async with opened(place) as engine:
        await register(engine, name, ttl=300)
        await meet()
        while await unfinished(engine):
            held = await claim(engine, worker=name, limit=chance.randint(1, 4))
            outcomes = [failed() if chance.random() < 0.1 else COMPLETED for _ in held]
            settled = await engine.settle([end(h, o) for h, o in zip(held, outcomes, strict=True)])
            ended += [h.id for h, ok in zip(held, settled.accepted, strict=True) if ok]
        return ended


async def test_layers_of_jobs_that_wait_for_each_other_end_once_each_by_three_processes(shared_place):
    chance, flow = random.Random(3), FlowName(make_id(), "layers")
    layers = [[new(ties=Ties(flow=flow)) for _ in range(10)]]
    for _ in range(14):
        some = [tuple(Edge(job.id, "ignore") for job in chance.sample(layers[-1], 3)) for _ in range(10)]
        layers.append([new(ties=Ties(edges, flow=flow)) for edges in some])
    jobs = [job for layer in layers for job in layer]
    async with opened(shared_place, migrate=True) as engine:
        await engine.enqueue(jobs)
        answers = await asyncio.to_thread(together, drain_flow, shared_place, ("w1",), ("w2",), ("w3",))
        assert sorted(job for ended in answers for job in ended) == ids(jobs)
        found = await engine.flow(flow.id)
        assert found is not None
        assert found.unfinished == 0
        ends = {job.id: (job.claimed_at, job.finished_at) for job in found.jobs}
        assert all(ends[edge.id][1] <= ends[job.id][0] for job in jobs for edge in job.ties.after)


# -- keys --------------------------------------------------------------------------------------------


async def enqueue_keys(place: Place, meet: Meet, batches: list[list[str]]) -> dict[str, tuple[str, bool]]:
    """Enqueue batch by batch: key -> (id, duplicate)."""
    async with opened(place) as engine:
        await meet()
        answers: dict[str, tuple[str, bool]] = {}
        for keys in batches:
            enqueued = await engine.enqueue([new(key=k) for k in keys])
            answers |= {k: (e.id, e.duplicate) for k, e in zip(keys, enqueued, strict=True)}
        return answers


def assert_one_job_per_key(answers: list[dict[str, tuple[str, bool]]]) -> None:
    for key in answers[0]:
        told = [answer[key] for answer in answers]
        assert len({job for job, _ in told}) == 1, f"{key} is held by several: {told}"
        assert [duplicate for _, duplicate in told].count(False) == 1, f"{key} was not made once: {told}"


async def test_four_processes_with_one_key_make_one_job(shared_place):
    async with opened(shared_place, migrate=True) as engine:
        batches = [[f"k{n}"] for n in range(60)]
        answers = await asyncio.to_thread(together, enqueue_keys, shared_place, *[(batches,)] * 4)
        assert_one_job_per_key(answers)
        assert await counts(engine) == {State.WAITING: 60}


async def test_batches_with_the_same_keys_in_opposite_order_do_not_deadlock(shared_place):
    async with opened(shared_place, migrate=True) as engine:
        batches = [[f"k{n}-{m}" for m in range(50)] for n in range(12)]
        opposite = [batch[::-1] for batch in batches]
        shuffled = [random.Random(7).sample(batch, len(batch)) for batch in batches]
        answers = await asyncio.to_thread(
            together, enqueue_keys, shared_place, (batches,), (opposite,), (shuffled,), (opposite,)
        )
        assert_one_job_per_key(answers)
        assert await counts(engine) == {State.WAITING: 600}


# -- recover -----------------------------------------------------------------------------------------


async def recover_all(place: Place, meet: Meet, dead: list[str]) -> dict[str, str | None]:
    async with opened(place) as engine:
        await meet()
        singles = {job: (await engine.recover([Recovery(job, make_id())]))[0] for job in dead[:20]}
        rest = await engine.recover([Recovery(job, make_id()) for job in dead[20:]])
        return singles | dict(zip(dead[20:], rest, strict=True))


async def test_a_dead_letter_recovered_by_four_processes_becomes_one_job(shared_place):
    async with opened(shared_place, migrate=True) as engine:
        await register(engine, ttl=300)
        dead = [(await finish(engine, key=f"k{n}", outcome=failed())).id for n in range(40)]
        answers = await asyncio.to_thread(
            together, recover_all, shared_place, (dead,), (dead[::-1],), (dead,), (dead[::-1],)
        )
        assert all(answer == answers[0] for answer in answers)
        assert await counts(engine) == {State.FAILED: 40, State.WAITING: 40}
        assert await engine.dead_count() == 0
        heirs = {job.recovered_from: job.id for job in await engine.jobs(JobFilter(state=State.WAITING), 100)}
        assert heirs == answers[0]


# -- rescue ------------------------------------------------------------------------------------------


async def run_hastily(place: Place, meet: Meet, name: str) -> list[str]:
    """Run jobs under leases so short that many are lost; ids of the accepted completions."""
    chance = random.Random(name)
    completed: list[str] = []
    async with opened(place) as engine:
        await meet()
        for life in itertools.count():
            worker = f"{name}-{life}"
            await register(engine, worker, ttl=0.05)
            try:
                while True:
                    held = await claim(engine, worker=worker, limit=5)
                    if not held and not await unfinished(engine):
                        return completed
                    await asyncio.sleep(chance.choice([0, 0, 0.03, 0.06]))
                    await engine.beat(worker, 0.05)
                    settled = await engine.settle([end(h) for h in held])
                    completed += [h.id for h, ok in zip(held, settled.accepted, strict=True) if ok]
            except WorkerExpired:
                continue
    raise AssertionError("not reached")


async def rescue_eagerly(place: Place, meet: Meet, _name: str) -> list[str]:
    async with opened(place) as engine:
        await meet()
        while await unfinished(engine):
            await engine.rescue(7, gone)
        return []


async def unfinished(engine) -> int:
    return sum(n for state, n in (await counts(engine)).items() if not state.finished)


async def either(place: Place, meet: Meet, name: str) -> list[str]:
    return await (rescue_eagerly if name.startswith("rescue") else run_hastily)(place, meet, name)


async def test_rescue_racing_settle_and_beat_completes_each_job_once(shared_place):
    async with opened(shared_place, migrate=True) as engine:
        jobs = news(200)
        await engine.enqueue(jobs)
        names = [("run1",), ("run2",), ("rescue1",), ("rescue2",)]
        answers = await asyncio.to_thread(together, either, shared_place, *names)
        accepted = Counter(job for completed in answers for job in completed)
        assert accepted == dict.fromkeys(ids(jobs), 1)
        assert await counts(engine) == {State.COMPLETED: 200}
        found = await engine.jobs(JobFilter(queue=QUEUE), 1_000)
        assert {job.state for job in found} == {State.COMPLETED}
        assert {job.attempt for job in found} == {1}


# -- migrate -----------------------------------------------------------------------------------------


async def migrate(place: Place, meet: Meet) -> list[str]:
    engine = place.engine()
    await meet()
    applied = await engine.migrate()
    await engine.open()
    await engine.enqueue(news(5))
    await engine.close()
    return applied


async def test_four_processes_migrate_at_once(shared_place):
    applied = await asyncio.to_thread(together, migrate, shared_place, (), (), (), ())
    assert len([names for names in applied if names]) == 1
    async with opened(shared_place) as engine:
        assert await counts(engine) == {State.WAITING: 20}


async def break_down(place: Place, meet: Meet) -> None:
    await meet()
    raise ZeroDivisionError


async def test_a_child_that_breaks_is_told(shared_place):
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        await asyncio.to_thread(together, break_down, shared_place, ())
