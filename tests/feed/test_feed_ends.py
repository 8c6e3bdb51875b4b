"""How jobs end, or go on, that nobody was running: told all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from feed.kit import PATIENCE
from feed.test_feed_life import SECRET, declare, told
from penstock import Penstock
from penstock.engine import Want, WorkerInfo
from penstock.feed.publisher import WorkerPublisher
from penstock.feed.subscription import Happened, Subscription
from penstock.runtime.account import Account


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    made = Penstock("sqlite://:memory:")
    declare(made)
    async with made:
        yield made


async def heard_of(listener: Subscription, *events: str) -> list[Happened]:
    """What is heard, until the last was of these names."""
    heard: list[Happened] = []
    async with asyncio.timeout(PATIENCE):
        while [each.event.event for each in heard][-len(events) :] != list(events):
            heard += [each for each in await listener.take(1.0) if isinstance(each, Happened)]
    return heard


async def test_a_job_that_is_cancelled_before_it_runs_is_told(app: Penstock) -> None:
    async with app.feed.subscribe() as listener:
        job = await app.tasks["not_yet"].using(owner="ana").aenqueue()
        await heard_of(listener, "added")
        await app.ops.cancel(job.id)
        (last,) = await heard_of(listener, "cancelled")
    assert (last.event.job_id, last.event.owner) == (job.id, "ana")


async def test_a_flow_that_is_cancelled_is_told_job_by_job(app: Penstock) -> None:
    async with app.feed.subscribe() as listener:
        flow = app.flow("two")
        first = flow.add(app.tasks["not_yet"].call())
        flow.add(app.tasks["not_yet"].call(), after=[first])
        made = await flow.aenqueue()
        await heard_of(listener, "added", "added")
        await app.ops.flows.cancel(made.id, "not wanted")
        told = await heard_of(listener, "cancelled", "cancelled")
    assert len({each.event.job_id for each in told}) == 2


async def test_a_job_whose_time_passed_is_told_with_the_reason(app: Penstock) -> None:
    async with app.feed.subscribe() as listener:
        job = await app.tasks["not_yet"].using(owner="ana", expire_after=0.05).aenqueue()
        await heard_of(listener, "added")
        await asyncio.sleep(0.1)  # by the engine's own clock
        last = (await told(app, listener, "cancelled"))[-1]
    assert (last.event.job_id, last.event.owner, last.data["reason"]) == (job.id, "ana", "expired")


async def test_a_job_taken_back_from_a_dead_worker_is_told(app: Penstock) -> None:
    lost = WorkerInfo(id="lost", name="host:1", queues=("default",), slots=1)
    async with app.feed.subscribe() as listener:
        job = await app.tasks["second_time_lucky"].using(owner="ana").aenqueue(password=SECRET)
        await heard_of(listener, "added")
        await app.engine.register(lost, 0.2)
        await app.engine.claim(Want("lost", "r", {"default": 1}, 1, app.registry.fingerprints(), 1))
        await asyncio.sleep(0.3)  # its lease, by the engine's own clock
        feed = WorkerPublisher(app.engine)
        feed.watched(True)
        account = Account(app.engine, feed=feed)
        await account.rescue(lambda judge: app.engine.rescue(10, judge))
        await feed.last_words()
        (last,) = await heard_of(listener, "retrying")
    assert (last.event.job_id, last.event.owner, last.data["rescued"]) == (job.id, "ana", True)
