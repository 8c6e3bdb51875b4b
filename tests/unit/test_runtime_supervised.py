"""One worker process, seen from its supervisor, without starting one."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import Any

import pytest
from runtime_kit import FakeProcess, Flaky, no_waiting, small_app  # noqa: F401 - fixtures

from penstock import EngineUnavailable, Penstock
from penstock.engine import CancelOrder, Order, Orders, WorkerInfo
from penstock.runtime import supervised
from penstock.runtime.board import Board
from penstock.runtime.supervised import BadApp, KilledEarly, Supervised
from penstock.runtime.wire import pack, unpack


class Told:
    """A writer that keeps what it was told."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.messages.append(unpack(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def make(
    process: FakeProcess | None = None, said: bytes = b"", *, gone: bool = True
) -> tuple[Supervised, Told]:
    """A worker; what it has said after its hello, and whether nobody holds its line any more."""
    worker, told = Supervised("shop:app", {}, "INFO"), Told()
    worker._process, worker._writer = process, told  # type: ignore[assignment]
    worker._reader = asyncio.StreamReader()
    worker._reader.feed_data(said)
    if gone:
        worker._reader.feed_eof()
    return worker, told


FAREWELL = pack({"leaving": "it was told to"})
HELLO = {
    "worker": "w1",
    "name": "host:1",
    "queues": ["default"],
    "slots": 1,
    "lease": 30.0,
    "grace": 1.0,
    "metrics": True,
}


# -- supervised -------------------------------------------------------------------------------------
async def test_a_worker_is_registered_told_to_go_beaten_for_and_buried(app: Penstock) -> None:
    process = FakeProcess()
    worker, told = make(process, FAREWELL)
    engine = Flaky(app.engine)
    board = Board.private(1, 30.0)
    living = asyncio.create_task(worker._supervise(engine, board, HELLO))  # type: ignore[arg-type]
    while "beat" not in engine.verbs():
        await asyncio.sleep(0)
    assert [info.id for info in await app.ops.workers()] == ["w1"]
    process.end(0)
    await living
    assert told.messages == [{"go": True}]
    assert engine.verbs() == ["register", "beat", "rescue_worker"]
    assert worker.ended_well
    assert await app.ops.workers() == []


async def test_a_drain_asked_before_the_worker_was_there_reaches_it(app: Penstock) -> None:
    process = FakeProcess()
    worker, told = make(process)
    worker.drain(now=False)
    living = asyncio.create_task(worker._supervise(app.engine, Board.private(1, 30.0), HELLO))
    while {"go": True} not in told.messages:
        await asyncio.sleep(0)
    process.end(0)
    await living
    await worker._end()
    assert told.messages == [{"drain": "soon"}, {"go": True}, {"drain": "soon"}]


async def test_a_worker_that_died_is_told_of_and_its_jobs_taken_back(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    worker, _ = make(FakeProcess(-11))
    with caplog.at_level(logging.ERROR, "penstock.supervisor"):
        await worker._supervise(app.engine, Board.private(1, 30.0), HELLO)
    assert "SIGSEGV" in caplog.text
    assert not worker.ended_well


async def test_jobs_are_taken_back_only_when_every_process_below_the_worker_is_gone(app: Penstock) -> None:
    worker, _ = make(FakeProcess(-9), gone=False)
    assert worker._reader is not None
    engine = Flaky(app.engine)
    burying = asyncio.create_task(worker._supervise(engine, Board.private(1, 30.0), HELLO))  # type: ignore[arg-type]
    while not worker._reader._waiter:  # type: ignore[attr-defined]
        await asyncio.sleep(0)
    assert "rescue_worker" not in engine.verbs()
    worker._reader.feed_eof()  # nobody holds the other end any more
    await burying
    assert "rescue_worker" in engine.verbs()


async def test_what_a_handler_left_behind_does_not_keep_jobs_from_being_taken_back(
    app: Penstock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "LINGER", 0.0)
    worker, _ = make(FakeProcess(-9), gone=False)
    with caplog.at_level(logging.WARNING, "penstock.supervisor"):
        await worker._supervise(app.engine, Board.private(1, 30.0), HELLO)
    assert "still lives" in caplog.text
    assert await app.ops.workers() == []


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4])
async def test_a_worker_that_ends_without_a_word_has_crashed_whatever_its_exit_code(
    app: Penstock, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    worker, _ = make(FakeProcess(code))
    with caplog.at_level(logging.ERROR, "penstock.supervisor"):
        await worker._supervise(app.engine, Board.private(1, 30.0), HELLO)
    assert not worker.ended_well
    assert f"died: its process exited with code {code}" in caplog.text


async def test_a_worker_that_said_farewell_and_does_not_end_is_killed(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "EXTRA", 0.0)
    process = FakeProcess()
    worker, _ = make(process, FAREWELL)
    await worker._supervise(app.engine, Board.private(1, 30.0), HELLO)
    assert process.killed == [signal.SIGKILL]
    assert worker.ended_well


async def test_orders_are_passed_on_once_and_given_up_ends_the_worker(app: Penstock) -> None:
    worker, told = make(FakeProcess())
    orders = Orders(cancel=(CancelOrder("job", "token"),), paused=frozenset({"b", "a"}))
    worker._pass_on(orders)
    worker._pass_on(orders)
    assert told.messages == [{"orders": [False, [["job", "token"]], ["a", "b"], False, None]}]
    board = Board.private(1, 30.0)
    await worker._beat_on(app.engine, board, "nobody")
    assert board.given_up
    assert told.messages[-1] == {"drain": "now"}
    await worker._end()


async def test_a_worker_told_to_stop_is_drained_once_and_has_no_successor() -> None:
    worker, told = make(FakeProcess())
    for _ in range(2):
        worker._pass_on(Orders(order=Order.STOP))
    assert told.messages == [{"orders": [False, [], [], False, "stop"]}, {"drain": "soon"}]
    assert worker.dismissed
    await worker._end()


async def test_a_worker_that_died_is_remembered_with_what_was_taken_back(app: Penstock) -> None:
    worker, _ = make(FakeProcess(-9))
    await worker._supervise(app.engine, Board.private(1, 30.0), HELLO)
    (lost,) = await app.ops.workforce.lost()
    assert (lost.id, lost.name, lost.rescued) == (HELLO["worker"], HELLO["name"], 0)
    assert "SIGKILL" in lost.why


async def test_a_missed_heartbeat_is_tried_again_sooner(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    worker, _ = make(FakeProcess())
    engine = Flaky(app.engine)
    engine.before["beat"] = [EngineUnavailable("away"), TimeoutError()]
    await app.engine.register(WorkerInfo(id="w1", name="n", queues=(), slots=1), 30.0)
    with caplog.at_level(logging.WARNING, "penstock.supervisor"):
        beating = asyncio.create_task(worker._beat_on(engine, Board.private(1, 0.03), "w1"))  # type: ignore[arg-type]
        while engine.verbs().count("beat") < 3:
            await asyncio.sleep(0)
        beating.cancel()
    assert caplog.text.count("missed") == 2


async def test_a_worker_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised, "EXTRA", 0.0)
    process = FakeProcess()
    worker, told = make(process)
    worker.drain(now=False)
    worker.drain(now=True)
    assert await process.wait() == -signal.SIGKILL
    assert [message["drain"] for message in told.messages] == ["soon", "now"]
    await worker._end()
    assert told.closed
    worker._tell({"more": 1})
    assert len(told.messages) == 2


async def test_a_child_that_says_it_failed_or_says_nothing_is_a_bad_app() -> None:
    for sent, told in [(pack({"failed": "no module 'x'"}), "no module 'x'"), (b"", "exited with code 1")]:
        worker, _ = make(FakeProcess(1))
        reader = asyncio.StreamReader()
        reader.feed_data(sent)
        reader.feed_eof()
        with pytest.raises(BadApp, match=told):
            await worker._hello(reader)


async def test_a_verb_is_insisted_on_until_the_lease_is_over() -> None:
    tries: list[int] = []

    async def third_time() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise EngineUnavailable("away")
        return "done"

    async def never() -> None:
        raise EngineUnavailable("away")

    assert await supervised._insist(third_time, 60.0) == "done"
    with pytest.raises(EngineUnavailable):
        await supervised._insist(never, -1.0)


@pytest.mark.parametrize("code", [-signal.SIGKILL, -signal.SIGTERM])
async def test_a_child_killed_from_outside_before_its_hello_is_not_a_bad_app(code: int) -> None:
    worker = Supervised("shop:app", {}, "INFO")
    worker._process = FakeProcess(code)
    silent = asyncio.StreamReader()
    silent.feed_eof()
    with pytest.raises(KilledEarly, match="killed by"):
        await worker._hello(silent)
