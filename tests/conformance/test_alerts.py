"""The watch for alerts, on every engine: one of many tells, once, and of the end too."""

import asyncio

from conformance.kit import claim, end, news
from penstock import Penstock
from penstock.alerts.channels import Channel
from penstock.alerts.config import Alerting
from penstock.alerts.desk import AlertDesk
from penstock.alerts.life import Event
from penstock.alerts.watch import AlertWatch
from penstock.engine import JobFilter
from penstock.model.states import State


class Fleet:
    """Processes that each have a watch, and the one channel that they all tell."""

    def __init__(self, engines, clock):
        self.told = []
        self.clock = clock
        registry = Penstock("sqlite://:memory:").registry
        alerting = Alerting(channels={"ops": Channel("ops", "webhook", "https://example.com")})
        self.watches = [
            AlertWatch(engine, registry, alerting, f"watcher-{n}", self.send)
            for n, engine in enumerate(engines)
        ]

    async def send(self, channel, notice):
        self.told += [(alert.rule, alert.phase.value, alert.message) for alert in notice.alerts]

    async def look(self, after):
        """All at once; how many had the turn."""
        self.clock.advance(after)
        looked = await asyncio.gather(*(watch.round() for watch in self.watches))
        for watch in self.watches:
            await watch.sender.idle()
            await watch.hear()
        return sum(looked)


async def test_of_several_watchers_one_tells_once_and_the_next_of_the_end(make_engine, clock):
    engines = [await make_engine(clock) for _ in range(3)]
    fleet = Fleet(engines, clock)
    (engine, *_) = engines
    await engine.enqueue(news(1_001))
    assert await fleet.look(0) == 1
    assert await fleet.look(15) == 1
    deep = ("queue_depth_high", "firing", "Queue default depth high: 1001 jobs waiting")
    down = ("worker_down", "firing", "Worker down: default (0/1)")
    assert sorted(fleet.told) == [deep, down]
    (first,) = [watch for watch in fleet.watches if watch._turn.held]
    fleet.watches.remove(first)  # it dies
    fleet.told.clear()
    while waiting := await engine.jobs(JobFilter(state=State.WAITING), 200):
        await engine.cancel([job.id for job in waiting], "not wanted")
    assert await fleet.look(46) == 1
    await fleet.look(60)
    await fleet.look(60)
    assert sorted(name for name, phase, _ in fleet.told if phase == "resolved") == [
        "queue_depth_high",
        "worker_down",
    ]
    assert await AlertDesk(engine).standing() == []
    events = [entry.event for entry in await AlertDesk(engine).history(10)]
    assert sorted(events) == [Event.FIRING, Event.FIRING, Event.RESOLVED, Event.RESOLVED]


async def test_what_runs_and_what_stands_is_read_alike(engine, clock, worker):
    fleet = Fleet([engine], clock)
    await engine.enqueue(news(2))
    (held, *_) = await claim(engine, limit=1)
    clock.advance(31)  # the worker is gone
    await fleet.look(0)
    await fleet.look(301)
    assert ("stalled_jobs", "firing", "Stalled jobs detected in default: 1") in fleet.told
    assert (await engine.settle([end(held)])).accepted == [True]
