"""Turns: jobs are claimed in the order of the contract's own rule, however time passes."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import datetime, timedelta

import pytest

from conformance.kit import QUEUE, TASK, claim, end, new, register
from penstock.model.job import NewJob
from penstock.model.lanes import OLDEST_TURN, TURN_COST, group_name, limited_lane
from penstock.model.priority import HEAD_START, Priority

GROUP = group_name(QUEUE, TASK)
LANES = [None, *(limited_lane(GROUP, key) for key in "abcdefgh")]


class Reference:
    """The contract's rule, by looking at everything."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
        self.owing: dict[str, datetime] = {}

    def put(self, job: NewJob, now: datetime) -> None:
        head = timedelta(seconds=HEAD_START[Priority(job.priority)])
        self.waiting[job.lane or QUEUE].append((now - head, job.id))
        self.waiting[job.lane or QUEUE].sort()

    def turn(self, lane: str, now: datetime) -> datetime:
        rank = max(self.waiting[lane][0][0], now - timedelta(seconds=OLDEST_TURN))
        return rank + max(self.owing.get(lane, now) - now, timedelta(0))

    def begin(self, now: datetime) -> None:
        """A claim begins: where all limited lanes owe, the least of it is forgiven to all."""
        owed = [
            self.owing.get(lane, now) - now for lane, jobs in self.waiting.items() if jobs and lane != QUEUE
        ]
        least = max(min(owed, default=timedelta(0)), timedelta(0))
        self.owing = {lane: until - least for lane, until in self.owing.items()}

    def first(self, now: datetime) -> set[str]:
        """The lanes whose turn it is: several, where theirs are equal."""
        turns = {lane: self.turn(lane, now) for lane, jobs in self.waiting.items() if jobs}
        return {lane for lane, turn in turns.items() if turn == min(turns.values())}

    def take(self, lane: str, now: datetime) -> str:
        if lane != QUEUE:
            self.owing[lane] = max(self.owing.get(lane, now), now) + timedelta(seconds=TURN_COST)
        return self.waiting[lane].pop(0)[1]


@pytest.mark.parametrize("seed", range(6))
async def test_the_order_of_claims_is_the_rules_own(engine, clock, seed):
    chance, rule = random.Random(seed), Reference()
    for step in range(60):
        jobs = [
            new(lane=chance.choice(LANES), priority=chance.choice(list(Priority)))
            for _ in range(chance.randrange(6))
        ]
        await engine.enqueue(jobs)
        for job in jobs:
            rule.put(job, clock.now())
        worker = await register(engine, f"w{step}")
        held = await claim(engine, worker=worker, limit=chance.randrange(1, 6))
        rule.begin(clock.now())
        for each in held:
            assert each.lane in rule.first(clock.now())
            assert rule.take(each.lane, clock.now()) == each.id
        await engine.settle([end(each) for each in held])
        clock.advance(chance.choice([0, 1, 5, 10, 30, 400, 1_000]))
