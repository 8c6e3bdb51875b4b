"""Health: judged by depth, by what moves, by who is there; with the condition really there."""

from __future__ import annotations

import pytest

from conformance.kit import error
from looking.conftest import World
from penstock import Penstock, Settings
from penstock.engine import Sample
from penstock.health import Pulse, QueueStatus, Status, WorkerStatus, liveness
from penstock.ledger.sqlite import SqliteLedger
from penstock.model.clock import EngineClock
from penstock.model.outcome import Failed, Park, Released

in_memory = pytest.mark.parametrize("place", ["memory"], indirect=True)


@pytest.fixture
def work(shop: Penstock):
    @shop.task
    async def work(n: int = 0) -> None: ...

    return work


async def queue(world: World, name: str = "default"):
    return next(found for found in (await world.app.health()).queues if found.queue == name)


async def count(world: World, **measures: float) -> None:
    await world.app.engine.count([Sample("default", "work", measures)])


async def test_all_is_healthy_where_work_moves(world: World, work) -> None:
    await work.aenqueue()
    await world.hire(slots=4)
    [held] = await world.take()
    found = await world.app.health()
    assert (found.status, found.problems, found.dead_letters) == (Status.HEALTHY, [], 0)
    assert found.checked_at == world.clock.now()
    [worker] = found.workers
    assert (worker.status, worker.concurrency, worker.processing) == (WorkerStatus.RUNNING, 4, 1)
    await world.end(held, Failed("exhausted", error()))
    assert (await world.app.health()).dead_letters == 1


async def test_a_deep_queue_is_backlogged_and_a_deeper_one_stalled(shop, world: World, work) -> None:
    shop.settings = shop.settings.model_copy(update={"health_backlogged": 2, "health_stalled": 4})
    await world.hire()
    seen = []
    for n in range(6):
        await work.aenqueue(n=n)
        seen.append((await queue(world)).status)
    assert seen == [QueueStatus.OK] * 2 + [QueueStatus.BACKLOGGED] * 2 + [QueueStatus.STALLED] * 2
    assert (await world.app.health()).status is Status.DEGRADED


async def test_work_that_waits_while_nothing_moves_is_stalled(world: World, work) -> None:
    await work.aenqueue()
    await world.hire()
    world.clock.advance(290)
    assert (await queue(world)).status is QueueStatus.OK
    world.clock.advance(20)
    found = await world.app.health()
    assert (found.status, found.queues[0].status) == (Status.DEGRADED, QueueStatus.STALLED)
    assert found.queues[0].oldest_age == pytest.approx(310)
    assert "1 waiting, the longest for 5 min 10 s, and nothing moves" in found.problems[0].text
    await count(world, completed=1)  # others of the queue do end
    assert (await queue(world)).status is QueueStatus.OK


@in_memory
async def test_work_that_waits_behind_a_running_job_is_not_stalled(world: World, work) -> None:
    [await work.aenqueue() for _ in range(2)]
    await world.hire(slots=1)
    await world.take()
    world.clock.advance(900)
    assert (await queue(world)).status is QueueStatus.OK


@in_memory
async def test_work_that_nobody_serves_is_stalled_and_without_any_worker_all_is_unhealthy(
    world: World, work
) -> None:
    await work.aenqueue()
    world.clock.advance(20)
    assert (await world.app.health()).status is Status.HEALTHY  # a deploy may take so long
    world.clock.advance(20)
    found = await world.app.health()
    assert found.status is Status.UNHEALTHY
    assert found.problems[0].text == "no worker is running, and work waits"
    await world.hire("elsewhere")
    found = await world.app.health()
    assert found.status is Status.DEGRADED
    assert "no live worker serves it" in found.problems[0].text


@in_memory
async def test_what_is_paused_or_parked_is_not_stalled(world: World, work) -> None:
    await work.aenqueue()
    await world.hire()
    await world.app.ops.pause("default")
    world.clock.advance(900)
    found = await world.app.health()
    assert (found.status, found.queues[0].paused) == (Status.HEALTHY, True)
    assert found.workers[0].status is WorkerStatus.PAUSED
    await world.app.ops.resume("default")
    [held] = await world.take()
    await world.end(held, Released("nobody knows it", park=Park("work", "nobody knows it")))
    world.clock.advance(900)
    of_queue = await queue(world)
    assert (of_queue.status, of_queue.waiting, of_queue.parked) == (QueueStatus.OK, 0, 1)


async def test_more_than_a_tenth_of_failures_in_the_last_minute_is_unhealthy(world: World, work) -> None:
    await work.aenqueue()
    await world.hire()
    await count(world, completed=9, failed=1)
    assert (await world.app.health()).status is Status.HEALTHY
    await count(world, failed=1)
    found = await world.app.health()
    assert (found.status, found.queues[0].error_rate) == (Status.UNHEALTHY, pytest.approx(2 / 11))
    assert "18 % of what ended in the last minute failed" in found.problems[0].text
    world.clock.advance(125)
    assert (await world.app.health()).queues[0].error_rate == 0.0


async def test_a_worker_that_was_lost_is_down_and_all_is_unhealthy(world: World, work) -> None:
    await work.aenqueue()
    await world.hire(ttl=30)
    await world.hire(name="other")
    await world.take()
    world.clock.advance(40)
    found = await world.app.health()
    assert found.status is Status.UNHEALTHY
    assert {w.name: w.status for w in found.workers} == {
        "host:w": WorkerStatus.DOWN,
        "host:other": WorkerStatus.RUNNING,
    }
    assert found.problems[0].text == "worker host:w is down, with 1 in its hands: others take that over"


async def test_an_engine_that_is_away_is_told_not_raised(monkeypatch) -> None:
    monkeypatch.setattr("penstock.engines.redis.server.TRIES", 1)
    found = await Penstock("redis://127.0.0.1:1/0").health()
    assert found.status is Status.UNHEALTHY
    assert found.as_dict()["engine"]["status"] == "unreachable"
    assert "cannot be reached" in found.problems[0].text


@in_memory
async def test_programs_are_told_in_the_documents_words(world: World, work) -> None:
    await work.aenqueue()
    await world.hire()
    await world.hire(name="w2")
    told = (await world.app.health()).as_dict()
    assert told["status"] == "healthy"
    assert (
        told["queues"]["default"].items()
        >= {"status": "ok", "waiting": 1, "active": 0, "error_rate": 0}.items()
    )
    assert told["workers"]["host:w"] == {
        "status": "running",
        "concurrency": 10,
        "processing": 0,
        "queues": ["default"],
    }
    assert (told["dlq_size"], told["last_check"]) == (0, world.clock.now().isoformat())


# -- probes -----------------------------------------------------------------------------------------
async def test_a_process_is_ready_where_it_can_write(world: World) -> None:
    ready = await world.app.ops.health.readiness()
    assert (ready.ready, ready.error) == (True, None)


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_process_that_can_only_read_is_not_ready(place, world: World, hurried: None) -> None:
    mark = "&" if "?" in place.address else "?"
    url = f"{place.address}{mark}options=-c%20default_transaction_read_only%3Don"
    async with Penstock(url, schema=place.schema) as app:
        ready = await app.ops.health.readiness()
        assert await app.engine.queues() == []
    assert not ready.ready
    assert "read-only" in (ready.error or "")


async def test_with_a_ledger_jobs_can_be_put_in_while_redis_is_away(tmp_path) -> None:
    await SqliteLedger(str(tmp_path / "ledger.db"), "penstock", EngineClock()).migrate()
    settings = Settings(url="redis://127.0.0.1:1/0", ledger=f"sqlite:///{tmp_path / 'ledger.db'}")
    async with Penstock(settings=settings) as app:
        ready = await app.ops.health.readiness()
        assert ready.ready
        assert "no answer" in (ready.error or "")


def test_a_loop_that_does_not_come_round_is_not_alive() -> None:
    now = [0.0]
    pulse = Pulse(lambda: now[0])
    assert liveness().alive
    pulse.beat("feed", within=10)
    pulse.beat("alerts", within=60)
    now[0] = 30.0
    assert liveness(pulse) == liveness(pulse)
    assert (liveness(pulse).alive, liveness(pulse).stuck) == (False, ("feed",))
    pulse.ended("feed")
    assert liveness(pulse).alive
