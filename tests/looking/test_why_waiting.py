"""Why a waiting job does not run: each cause, with the condition really there."""

from __future__ import annotations

import pytest

from conformance.kit import error
from looking.conftest import World
from penstock import Penstock
from penstock.model.breaker import Circuit
from penstock.model.outcome import Completed, Retried
from penstock.why import Because


@pytest.fixture
def work(shop: Penstock):
    @shop.task
    async def work(n: int = 0) -> None: ...

    return work


async def test_a_job_in_a_paused_queue_is_told_to_be_resumed(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire()
    await world.app.ops.pause("default")
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.PAUSED, "resume default")
    await world.app.ops.resume("default")
    assert await world.causes(job) == [Because.NEXT]


async def test_without_a_worker_one_is_to_be_started(world: World, work) -> None:
    job = await work.aenqueue()
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.NO_WORKER, "worker")
    assert cause.text == "No worker is running."


async def test_a_worker_of_other_queues_does_not_count(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire("email", "reports")
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.NO_WORKER, "worker --queue default")
    assert "those there are take: email, reports" in cause.text


async def test_a_worker_that_was_lost_does_not_count(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire(ttl=30)
    world.clock.advance(90)
    cause = await world.cause(job)
    assert cause.because is Because.NO_WORKER
    assert "host:w, was lost 1 min ago" in cause.text


async def test_a_task_that_no_worker_knows_is_told_with_what_is_known_here(world: World, work) -> None:
    job = await work.aenqueue()
    world.app.registry._tasks.pop("work")
    await world.work()
    await world.hire()
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.UNKNOWN_TASK, "tasks")
    assert "no worker here knows task 'work'" in cause.text
    assert "does not know it either" in cause.text
    world.app.registry._tasks["work"] = work
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.UNKNOWN_TASK, "workers")
    assert "The code here knows it: restart the workers" in cause.text


async def test_arguments_that_fit_no_more_are_told_by_name(world: World, work) -> None:
    job = await work.aenqueue(n=1)
    del world.app.registry._tasks["work"]

    @world.app.task(name="work")
    async def changed(m: int) -> None: ...

    await world.work()
    await world.hire()
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.MISFIT, "tasks")
    assert "its arguments no longer fit task 'work' (m:" in cause.text
    world.app.registry._tasks["work"] = work
    assert "take the job by themselves" in (await world.cause(job)).text


async def test_what_is_switched_off_is_told_whether_or_not_a_worker_has_seen_it(world: World) -> None:
    switch = {"on": True}

    @world.app.task(enabled=lambda: switch["on"], when_disabled="park")
    async def gated() -> None: ...

    job = await gated.aenqueue()
    await world.hire()
    switch["on"] = False
    assert await world.causes(job) == [Because.SWITCHED_OFF]
    await world.work()
    cause = await world.cause(job)
    assert cause.because is Because.SWITCHED_OFF
    assert "switched off by its enabled= check" in cause.text
    switch["on"] = True
    assert "Here it is switched on" in (await world.cause(job)).text


async def test_a_rate_tells_when_the_next_may_start(world: World) -> None:
    world.app.queue("paced", rate="1/10s")

    @world.app.task(queue="paced")
    async def send() -> None: ...

    jobs = [await send.aenqueue() for _ in range(2)]
    await world.hire("paced")
    await world.declare()
    [first] = await world.take("paced")
    assert first.id == jobs[0].id
    world.clock.advance(4)
    cause = await world.cause(jobs[1])
    assert (cause.because, cause.next) == (Because.RATE, "limits")
    assert "Queue 'paced' is limited to 6/min" in cause.text
    assert (cause.until - world.clock.now()).total_seconds() == pytest.approx(6, abs=0.1)


async def test_a_rate_of_a_key_names_the_key(world: World) -> None:
    @world.app.task(rate="1/min", rate_key="{tenant}")
    async def call(tenant: str) -> None: ...

    jobs = []
    for tenant in ("acme", "acme", "other"):
        jobs.append(await call.aenqueue(tenant=tenant))
        world.clock.advance(1)  # of equal turns any may be first
    await world.hire()
    await world.declare()
    [first] = await world.take()
    assert first.id == jobs[0].id
    cause = await world.cause(jobs[1])
    assert (cause.because, cause.next) == (Because.RATE, "limits 'default>call'")
    assert "Key 'acme' of task 'call'" in cause.text
    assert await world.causes(jobs[2]) == [Because.NEXT]


async def test_a_cooldown_tells_until_when_nothing_starts(world: World, work) -> None:
    jobs = [await work.aenqueue() for _ in range(2)]
    await world.hire()
    [held] = await world.take()
    await world.end(held, Retried(20.0, error("slow down"), cooldown=20.0))
    cause = await world.cause(jobs[1])
    assert cause.because is Because.COOLDOWN
    assert "Queue 'default' cools down" in cause.text
    assert (cause.until - world.clock.now()).total_seconds() == pytest.approx(20, abs=0.1)


@pytest.mark.parametrize("of", ["queue", "task", "key"])
async def test_full_concurrency_names_who_holds_the_places(world: World, of: str) -> None:
    world.app.queue("jobs", max_active=1 if of == "queue" else None)
    options = {"queue": {}, "task": {"concurrency": 1}, "key": {"concurrency": 1, "rate_key": "{tenant}"}}
    told = {"queue": "Queue 'jobs'", "task": "Task 'report'", "key": "Key 'acme' of task 'report'"}

    @world.app.task(queue="jobs", **options[of])
    async def report(tenant: str) -> None: ...

    jobs = [await report.aenqueue(tenant="acme") for _ in range(2)]
    await world.hire("jobs")
    await world.declare()
    [held] = await world.take("jobs")
    world.clock.advance(70)
    cause = await world.cause(jobs[1])
    assert cause.because is Because.CONCURRENCY
    assert cause.text.startswith(f"{told[of]} runs at most 1 at once, over all workers, and 1 run")
    assert f"{held.id} on host:w for 1 min 10 s" in cause.text
    assert (cause.next, cause.jobs) == (f"why {held.id}", (held.id,))


async def test_an_open_breaker_tells_when_it_is_tried_again(world: World) -> None:
    world.app.breaker("sms", threshold=1, reset=60)

    @world.app.task(needs="sms")
    async def text() -> None: ...

    jobs = [await text.aenqueue() for _ in range(3)]
    await world.hire()
    await world.declare()
    [held] = await world.take()
    await world.end(held, Retried(0.0, error(), healthy=False))
    world.clock.advance(20)
    cause = await world.cause(jobs[1])
    assert (cause.because, cause.next) == (Because.BREAKER_OPEN, "breakers close sms")
    assert (cause.until - world.clock.now()).total_seconds() == pytest.approx(40, abs=0.1)
    world.clock.advance(41)  # half-open: one may try
    assert await world.causes(jobs[2]) == [Because.BEHIND]
    [probe] = await world.take()
    cause = await world.cause(jobs[2])
    assert (cause.because, cause.next) == (Because.BREAKER_PROBED, "breakers close sms")
    await world.end(probe, Completed(healthy=True))
    assert not {Because.BREAKER_OPEN, Because.BREAKER_PROBED} & {*await world.causes(jobs[2])}


async def test_a_breaker_opened_by_hand_holds_as_well(world: World) -> None:
    world.app.breaker("sms")

    @world.app.task(needs="sms")
    async def text() -> None: ...

    job = await text.aenqueue()
    await world.hire()
    await world.declare()
    await world.app.ops.set_breaker("sms", Circuit.OPEN)
    assert await world.causes(job) == [Because.BREAKER_OPEN]


async def test_workers_that_are_all_busy_are_told_so(world: World, work) -> None:
    jobs = [await work.aenqueue() for _ in range(3)]
    await world.hire(slots=2)
    await world.take(most=2)
    cause = await world.cause(jobs[2])
    assert (cause.because, cause.next) == (Because.BUSY, "top")
    assert "All 2 slots of the one worker that serves queue 'default' are taken" in cause.text


async def test_workers_full_of_their_queues_share_are_busy_too(world: World) -> None:
    world.app.queue("heavy", concurrency=1)

    @world.app.task(queue="heavy")
    async def crunch() -> None: ...

    jobs = [await crunch.aenqueue() for _ in range(2)]
    await world.hire("heavy", slots=5)
    await world.take("heavy")
    cause = await world.cause(jobs[1])
    assert cause.because is Because.BUSY
    assert "Each worker runs at most 1 of queue 'heavy'" in cause.text


async def test_a_job_tells_how_many_stand_before_it(world: World, work, monkeypatch) -> None:
    jobs = [await work.aenqueue() for _ in range(4)]
    await world.hire()
    cause = await world.cause(jobs[3])
    assert (cause.because, cause.next) == (Because.BEHIND, "top")
    assert cause.text.startswith("3 jobs are taken before it")
    monkeypatch.setattr("penstock.why.gathering.AHEAD_COUNTED", 2)
    assert (await world.cause(jobs[3])).text.startswith("More than 2 jobs are taken")
    assert (await world.cause(jobs[1])).text.startswith("1 job is taken before it")
    urgent = await work.using(priority="critical").aenqueue()
    assert await world.causes(urgent) == [Because.NEXT]


async def test_a_job_that_nobody_takes_though_nothing_holds_it_is_suspicious(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire()
    assert await world.causes(job) == [Because.NEXT]
    world.clock.advance(60)
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.UNCLAIMED, "health")


async def test_all_causes_are_told_and_the_decisive_one_first(world: World) -> None:
    world.app.queue("jobs", max_active=1)
    world.app.breaker("sms", threshold=1)

    @world.app.task(queue="jobs", needs="sms")
    async def text() -> None: ...

    jobs = [await text.aenqueue() for _ in range(2)]
    await world.hire("jobs", slots=1, ttl=30)
    await world.declare()
    await world.take("jobs")
    await world.app.ops.set_breaker("sms", Circuit.OPEN)
    await world.app.ops.pause("jobs")
    assert await world.causes(jobs[1]) == [
        Because.PAUSED,
        Because.BREAKER_OPEN,
        Because.CONCURRENCY,
        Because.BUSY,
    ]
    world.clock.advance(40)
    assert (await world.causes(jobs[1]))[:2] == [Because.PAUSED, Because.NO_WORKER]
