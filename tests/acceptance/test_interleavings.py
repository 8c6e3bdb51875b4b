"""Several users in transactions of their own, in random order, while a worker runs: none of it differs."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from acceptance.orders import Shop, make_table, see
from conformance.kit import Place
from conftest import lent as lent_place
from conftest import make_place
from lent_kit import POSTGRES_KINDS, SQLITE_KINDS, User
from penstock import EngineUnavailable

FULL = os.environ.get("TRANSACTIONS") == "full"
PROGRAMS = 1_000 if FULL else 40
STEPS = 40
USERS = 3
CHECK_EVERY = 20
IMPATIENT = "pragma busy_timeout = 100"  # milliseconds: two users of one SQLite file are in each other's way

Action = str
ACTIONS = {
    "order": 6,
    "order again": 3,
    "many": 1,
    "flow": 1,
    "savepoint": 2,
    "back": 2,
    "keep": 1,
    "commit": 3,
    "rollback": 2,
}


@dataclass
class Actor:
    """A user, and what he expects of his open transaction."""

    user: User
    is_open: bool = False
    pending: dict[int, str | None] = field(default_factory=dict)  # orders, with their keys
    marks: list[dict[int, str | None]] = field(default_factory=list)  # as it was at each savepoint
    held: set[str] = field(default_factory=set)  # keys of what he committed


class Program:
    """One random interleaving."""

    def __init__(self, shop: Shop, actors: list[Actor], rng: random.Random, numbers: Iterator[int]) -> None:
        self.shop = shop
        self.actors = actors
        self.rng = rng
        self.numbers = numbers
        self.committed: set[int] = set()
        self.refused = 0

    async def run(self) -> None:
        for _ in range(STEPS):
            await self._step(self._whose_turn())
            await asyncio.sleep(0)  # the worker's
        for actor in self.actors:
            await self._end(actor, keep=False)

    def _whose_turn(self) -> Actor:
        """On SQLite mostly the one whose transaction is open: the others can only be refused."""
        writing = [actor for actor in self.actors if actor.pending]
        on_file = self.shop.app.url.startswith("sqlite")
        return (
            writing[0] if writing and on_file and self.rng.random() < 0.95 else self.rng.choice(self.actors)
        )

    async def _step(self, actor: Actor) -> None:
        if not actor.is_open:
            await actor.user.begin()
            actor.is_open = True
        [action] = self.rng.choices(list(ACTIONS), list(ACTIONS.values()))
        try:
            await self._do(actor, action)
        except EngineUnavailable:  # another writes: nothing was changed, and he begins again
            self.refused += 1
            await self._end(actor, keep=False)

    async def _do(self, actor: Actor, action: Action) -> None:
        if action == "order":
            await self._order(actor, f"k{next(self.numbers)}" if self.rng.random() < 0.5 else None)
        elif action == "order again":
            known = sorted({key for key in actor.pending.values() if key} | actor.held)
            await self._order(actor, self.rng.choice(known) if known else None)
        elif action in ("many", "flow"):
            await self._several(actor, as_flow=action == "flow")
        elif action == "savepoint":
            if actor.pending:  # else SQLite takes it for a transaction, which ends when it is released
                actor.marks.append(dict(actor.pending))
                await actor.user.savepoint()
        elif action in ("back", "keep"):
            await self._leave_savepoint(actor, back=action == "back")
        else:
            await self._end(actor, keep=action == "commit")

    async def _order(self, actor: Actor, key: str | None) -> None:
        number = next(self.numbers)
        job = await self.shop.order(actor.user, number, key)
        taken = key is not None and (key in actor.pending.values() or key in actor.held)
        assert job.duplicate is taken
        if not taken:
            actor.pending[number] = key

    async def _several(self, actor: Actor, *, as_flow: bool) -> None:
        made = [next(self.numbers) for _ in range(3)]
        calls = [self.shop.ship.call(number) for number in made]
        if as_flow:
            flow = self.shop.app.flow("orders")
            first, *others = calls
            start = flow.add(first)
            for call in others:
                flow.add(call, after=[start])
            await flow.aenqueue(connection=actor.user.raw)
        else:
            await self.shop.app.aenqueue_many(calls, connection=actor.user.raw)
        for number in made:
            await actor.user.execute(f"insert into orders values ({number})")
        actor.pending |= dict.fromkeys(made)

    async def _leave_savepoint(self, actor: Actor, *, back: bool) -> None:
        if not actor.marks:
            return
        before = actor.marks.pop()
        if back:
            await actor.user.back_to_savepoint()
            actor.pending = before
        else:
            await actor.user.keep_savepoint()

    async def _end(self, actor: Actor, *, keep: bool) -> None:
        if not actor.is_open:
            return
        actor.user.nested.clear()
        await (actor.user.commit() if keep else actor.user.rollback())
        if keep:
            self.committed |= set(actor.pending)
            actor.held |= {key for key in actor.pending.values() if key}
        actor.pending, actor.marks, actor.is_open = {}, [], False


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with lent_place(make_place(request.param, tmp_path, request)) as found:
        asyncio.run(Shop(found).app.migrate())
        make_table(found)
        yield found


@pytest.fixture
async def users(place: Place) -> AsyncIterator[list[User]]:
    """One of each kind."""
    async with AsyncExitStack() as stack:
        kinds = SQLITE_KINDS if place.kind == "sqlite" else POSTGRES_KINDS
        found = [await stack.enter_async_context(kind.open(place.address)) for kind in kinds]
        if place.kind == "sqlite":
            for user in found:
                await user.execute(IMPATIENT)
        yield found


@pytest.mark.timeout(3_600 if FULL else 120)
async def test_random_interleavings_leave_each_committed_order_with_its_job_and_no_others(
    place: Place, users: list[User]
) -> None:
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    rng, numbers, shop = random.Random(seed), count(1), Shop(place)
    committed: set[int] = set()
    refused = 0
    async with shop.app:
        worker = shop.app.worker()
        working = asyncio.create_task(worker.run())
        for number in range(1, PROGRAMS + 1):
            actors = [Actor(user) for user in rng.sample(users, USERS)]
            program = Program(shop, actors, rng, numbers)
            await program.run()
            committed |= program.committed
            refused += program.refused
            if number % CHECK_EVERY == 0:
                seen = see(place)
                assert (seen.orders ^ committed, seen.differences) == (set(), set()), f"SEED={seed}"
                await _until_shipped(shop, len(committed))
        worker.drain()
        await working
    assert shop.shipped == dict.fromkeys(committed, 1), f"SEED={seed}"
    print(
        f"{PROGRAMS} interleavings on {place.kind} (seed {seed}): {len(committed)} orders, {refused} refused"
    )


async def _until_shipped(shop: Shop, number: int) -> None:
    async with asyncio.timeout(60):
        while len(shop.shipped) < number:
            await asyncio.sleep(0.01)
