"""Wake-ups cross from process to process; a missed one costs half a second, never a job."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from contextlib import closing

import pytest

from conformance.kit import QUEUE, Place, claim, new, register
from forks import FORKS
from penstock.engines.sqlite import bell
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.engines.sqlite.files import Files

LONG = 60.0  # seconds: a wait that only a wake-up ends in time


@pytest.fixture
def place(tmp_path):
    return Place("sqlite", str(tmp_path / "jobs.db"))


@pytest.fixture
def no_polling(monkeypatch):
    """Only a bell can be heard."""
    monkeypatch.setattr(bell, "POLL", 1_000.0)


@pytest.fixture
async def idle(place):
    """An engine whose worker has looked and found nothing."""
    engine = place.engine()
    await engine.open()
    await register(engine)
    assert await claim(engine) == []
    yield engine
    await engine.close()


def enqueue_elsewhere(place: Place, queue: str) -> None:
    async def run() -> None:
        engine = place.engine()
        await engine.open()
        await engine.enqueue([new(queue)])
        await engine.close()

    asyncio.run(run())


async def in_another_process(work, *args):
    process = FORKS.Process(target=work, args=args)
    process.start()
    await asyncio.to_thread(process.join)
    assert process.exitcode == 0
    process.close()


async def woken(engine, *queues, within=30.0):
    await asyncio.wait_for(engine.wait(queues or [QUEUE], LONG), within)


async def test_an_enqueue_in_another_process_wakes_a_waiting_worker(no_polling, place, idle):
    waiting = asyncio.create_task(woken(idle))
    await in_another_process(enqueue_elsewhere, place, QUEUE)
    await waiting
    assert len(await claim(idle)) == 1


async def test_a_wake_up_of_another_queue_is_not_for_us(no_polling, place, idle):
    await in_another_process(enqueue_elsewhere, place, "other")
    with pytest.raises(TimeoutError):
        await woken(idle, within=0.1)


async def test_a_wake_up_between_the_claim_and_the_wait_is_not_missed(no_polling, place, idle):
    await in_another_process(enqueue_elsewhere, place, QUEUE)
    await woken(idle)


async def test_a_commit_by_a_strangers_connection_is_noticed_by_polling(place, idle):
    await woken(idle)  # the first look at the file counts as a change
    assert await claim(idle) == []
    waiting = asyncio.create_task(woken(idle))
    with closing(sqlite3.connect(place.address)) as stranger, stranger:
        stranger.execute("insert into penstock_queues (name) values ('stranger')")
    await waiting


async def test_the_socket_of_a_dead_process_is_removed(place, idle):
    folder = bell.folder_of(Files.at(place.address))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(str(folder / "dead.sock"))
    await idle.enqueue([new()])
    assert [path.name for path in folder.iterdir()] == [idle._parts.listener.path.rpartition("/")[2]]


async def test_a_long_path_gets_its_sockets_in_a_short_place(no_polling, tmp_path):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    place = Place("sqlite", str(folder / "jobs.db"))
    engine = SqliteEngine(place.address)
    await engine.open()
    await register(engine)
    assert await claim(engine) == []
    waiting = asyncio.create_task(woken(engine))
    await in_another_process(enqueue_elsewhere, place, QUEUE)
    await waiting
    await engine.close()
    assert not bell.folder_of(Files.at(place.address)).exists()


async def test_more_queues_than_fit_a_datagram_wake_everybody(no_polling, place, idle):
    other = SqliteEngine(place.address)
    await other.open()
    await other.enqueue([new(f"queue-{n:03}" + "x" * 100) for n in range(100)])
    await woken(idle)
    await other.close()
