"""The pool of child processes that run one job at a time: who gets which child, and when one is started."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from test_runtime_child import CLAIM

from penstock.model.decide import Returned
from penstock.runtime import solo


class Child:
    """Runs a job when the test says so."""

    def __init__(self) -> None:
        self.is_alive = True
        self.killed = False
        self.ran = 0

    async def run(self, _claim: object, _on_progress: object) -> Returned:
        self.ran += 1
        return Returned()

    async def kill(self) -> None:
        self.killed = True


class Nursery:
    """Gives birth to a child each time the test allows one."""

    def __init__(self) -> None:
        self.asked = 0
        self.children: list[Child] = []
        self.allowed = asyncio.Semaphore(0)
        self.error: Exception | None = None

    async def start(self, _app: str, _worker: str) -> Any:
        self.asked += 1
        await self.allowed.acquire()
        if self.error is not None:
            raise self.error
        self.children.append(Child())
        return self.children[-1]


@pytest.fixture
def nursery(monkeypatch: pytest.MonkeyPatch) -> Nursery:
    made = Nursery()
    monkeypatch.setattr(solo._Child, "start", made.start)
    return made


@pytest.fixture
def pool() -> solo.SoloPool:
    return solo.SoloPool("shop:app", "worker")


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_few_children_are_started_at_once_and_each_is_used_again(
    nursery: Nursery, pool: solo.SoloPool
) -> None:
    jobs = [asyncio.create_task(pool.run(CLAIM, print)) for _ in range(10)]
    await turns()
    assert 0 < nursery.asked <= solo.STARTS
    nursery.allowed.release()
    assert await asyncio.gather(*jobs) == [Returned()] * 10
    assert sum(child.ran for child in nursery.children) == 10
    await pool.close()
    assert all(child.killed for child in nursery.children)


async def test_a_child_that_died_while_idle_is_not_given_a_job(nursery: Nursery, pool: solo.SoloPool) -> None:
    nursery.allowed.release()
    await pool.run(CLAIM, print)
    nursery.children[0].is_alive = False
    nursery.allowed.release()
    await pool.run(CLAIM, print)
    assert [child.ran for child in nursery.children] == [1, 1]
    await pool.close()


async def test_a_child_that_cannot_start_fails_one_job_and_not_the_others(
    nursery: Nursery, pool: solo.SoloPool
) -> None:
    nursery.error = RuntimeError("could not load")
    nursery.allowed.release()
    with pytest.raises(RuntimeError, match="could not load"):
        await pool.run(CLAIM, print)
    nursery.error = None
    nursery.allowed.release()
    assert await pool.run(CLAIM, print) == Returned()
    await pool.close()


async def test_a_job_stopped_while_it_waits_leaves_the_child_to_the_next(
    nursery: Nursery, pool: solo.SoloPool
) -> None:
    stopped = asyncio.create_task(pool.run(CLAIM, print))
    await turns()
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    nursery.allowed.release()
    assert await pool.run(CLAIM, print) == Returned()
    assert len(nursery.children) == 1
    await pool.close()


async def test_closing_ends_those_who_wait(nursery: Nursery, pool: solo.SoloPool) -> None:
    waiting = asyncio.create_task(pool.run(CLAIM, print))
    await turns()
    await pool.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await turns()
    assert not pool._starting
