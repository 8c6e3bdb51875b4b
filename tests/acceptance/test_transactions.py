"""A process killed in a transaction of its own: the order and its job are both there, or neither."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from acceptance.orders import Shop, make_table, see
from conformance.kit import Place
from conftest import lent as lent_place
from conftest import make_place
from forks import FORKS
from lent_kit import KINDS, Kind

FULL = os.environ.get("TRANSACTIONS") == "full"
KILLS = 20 if FULL else 1  # of each kind, at each point
LONGEST = 0.15  # seconds that one lives who is killed at any moment


@pytest.fixture
def place(kind: Kind, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with lent_place(
        make_place("sqlite" if kind.dialect == "sqlite" else "postgres", tmp_path, request)
    ) as found:
        asyncio.run(Shop(found).app.migrate())
        make_table(found)
        yield found


def shop_on(kind_at: int, place: Place, first: int, stop_at: str, line: Connection) -> None:
    """Take order after order until killed, and tell of each that is committed. In a process of its own."""
    asyncio.run(_take_orders(KINDS[kind_at], place, first, stop_at, line))


async def _take_orders(kind: Kind, place: Place, number: int, stop_at: str, line: Connection) -> None:
    shop = Shop(place)
    async with kind.open(place.address) as user:
        while True:
            await user.begin()
            await shop.order(user, number)
            if stop_at == "before the commit":
                _stop(line, number)
            await user.commit()
            if stop_at == "after the commit":
                _stop(line, number)
            line.send(number)
            number += 1


def _stop(line: Connection, number: int) -> None:
    line.send(number)
    time.sleep(3_600)


class Killed:
    """What one process told before it was killed."""

    def __init__(self, kind: Kind, place: Place, first: int, stop_at: str) -> None:
        ours, its = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=shop_on, args=(KINDS.index(kind), place, first, stop_at, its))
        process.start()
        its.close()
        self.told = [ours.recv()]  # from now on it is on its way
        if stop_at == "any moment":
            time.sleep(random.uniform(0, LONGEST))
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        while ours.poll():
            try:
                self.told.append(ours.recv())
            except EOFError:
                break
        ours.close()
        process.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.dialect} {kind.name}")
def test_a_killed_process_leaves_an_order_with_its_job_or_neither(kind: Kind, place: Place) -> None:
    acknowledged: set[int] = set()
    for round_ in range(KILLS):
        for point, stop_at in enumerate(("before the commit", "after the commit", "any moment")):
            first = 1 + (round_ * 3 + point) * 100_000
            told = Killed(kind, place, first, stop_at).told
            if stop_at == "before the commit":
                assert told[0] not in see(place).orders
            else:
                acknowledged |= set(told)
    asyncio.run(_all_run(place, acknowledged))


async def _all_run(place: Place, acknowledged: set[int]) -> None:
    """Every order that was taken is shipped, once; others are not."""
    shop = Shop(place)
    async with shop.app:
        await shop.app.worker().run(burst=True)
    seen = see(place)
    assert seen.differences == set()
    assert acknowledged <= seen.orders
    assert shop.shipped == dict.fromkeys(seen.orders, 1)
