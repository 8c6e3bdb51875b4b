"""Jobs drawn at random: with keys and windows, with ties, in flows."""

from __future__ import annotations

from random import Random

from conformance.kit import TASK, make_id, new
from penstock.model.job import RECORD, Edge, FlowName, NewJob, OnFailure, Ties, Window

QUEUES = ("a", "b")
TASKS = (TASK, "app.other")
OWNERS = (None, None, "ana", "ben")
WINDOWS = {
    "unfinished": Window("unfinished"),
    "started": Window("started"),
    "period": Window("period", 30.5),
    "debounce": Window("debounce", 10.5),
}
KEYS = (*(None,) * 6, "k1", "k2", *WINDOWS)
SHELF = "a shelf"


class Batches:
    """Draws jobs, and remembers their ids and those of their flows."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.ids: list[str] = []
        self.flows: list[str] = []

    def draw(self, count: int) -> list[NewJob]:
        flow = FlowName(make_id(), "flow") if self._rng.random() < 0.2 else None
        batch: list[NewJob] = []
        for _ in range(count):
            batch.append(self._one(batch, flow))
        self.ids += [job.id for job in batch]
        self.flows += [flow.id] if flow else []
        return batch

    def _one(self, before: list[NewJob], flow: FlowName | None) -> NewJob:
        rng = self._rng
        key = rng.choice(KEYS)
        return new(
            rng.choice(QUEUES),
            rng.choice(TASKS),
            key=key,
            owner=rng.choice(OWNERS),
            args=rng.choice(('{"n":1}', '{"text":"ä\\u0000\\"\\n"}')),
            priority=rng.choice((1, 2, 3, 4)),
            delay=rng.choice((0, 0, 0, 5, 60)),
            max_attempts=rng.choice((1, 3)),
            expire_after=rng.choice((None, None, 40.5)),
            options=rng.choice((None, '{"timeout":5}')),
            window=WINDOWS.get(key or "", RECORD),
            ties=self._ties(None if key else [job.id for job in before if not job.unique], flow),
        )

    def _ties(self, before: list[str] | None, flow: FlowName | None) -> Ties:
        """`before`: those of its call for which it may wait; None: it waits for nobody.

        It has one rule for all its edges: of two that differ, an engine may follow either, where both are
        told at once. With a deadline it waits for one that never comes: else it could end by two at once.
        """
        rng = self._rng
        rule: OnFailure = rng.choice(("fail", "continue", "ignore", "wait"))
        late = rng.random() < 0.1
        some = [make_id()] if late else [*(before or ()), *self.ids[-6:]]
        named = {rng.choice(some): rule for _ in range(rng.randint(1, 3))} if some else {}
        tied = before is not None and rng.random() < 0.3
        edges = tuple(Edge(upstream, rule) for upstream in named) if tied else ()
        return Ties(
            edges,
            feeds=True,
            flow=flow,
            deadline=20.5 if late and edges else None,
            at_deadline=rng.choice(("skip", "run", "fail")),
            shelf=rng.choice((None, None, None, SHELF)),
            origin=rng.choice((None, "by hand")),
        )
