"""A worker process and a solo process from the inside, in this very process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from datetime import UTC, datetime
from typing import Any, Self

import pytest
from runtime_kit import TERMS, FakeProcess, make_app, no_waiting, small_app  # noqa: F401 - fixtures

from penstock import Penstock, Snooze, SyncContext
from penstock.engine import WorkerInfo
from penstock.model.decide import Deferred, End, Returned
from penstock.model.failure import Failure
from penstock.model.job import Claim
from penstock.runtime import child, solo_child
from penstock.runtime.board import Board
from penstock.runtime.child_line import ChildLine
from penstock.runtime.warm import Warm
from penstock.runtime.wire import pack, unpack

AT = datetime(2026, 1, 1, tzinfo=UTC)
CLAIM = Claim(
    "job", "token", "default", "add", "default", '{"a": 1}', "key", 1, 3, 3, None, None, False, 0, AT, AT
)


# -- the child --------------------------------------------------------------------------------------
class Session:
    """A child's inside, with the test as its supervisor."""

    def __init__(self, app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
        self.app = app
        self._board_fd = Board.make_file()
        self._writers: list[asyncio.StreamWriter] = []
        connect = asyncio.open_connection

        async def remembered(**more: Any) -> Any:
            reader, writer = await connect(**more)
            self._writers.append(writer)
            return reader, writer

        monkeypatch.setattr(asyncio, "open_connection", remembered)

    async def __aenter__(self) -> Self:
        ours, theirs = socket.socketpair()
        Board.shared(self._board_fd, 5, 30.0).beaten(time.monotonic())
        host = self.app.worker_host(slots=5, grace=5.0)
        self.working = asyncio.create_task(child._work(host, Warm(None), theirs, self._board_fd))
        self._reader, self._writer = await asyncio.open_connection(sock=ours)
        self.hello = await self.hear()
        info = WorkerInfo(id=self.hello["worker"], name="n", queues=("default",), slots=5)
        await self.app.engine.register(info, 30.0)
        return self

    async def hear(self) -> dict[str, Any]:
        return unpack(await asyncio.wait_for(self._reader.readline(), 20))

    def tell(self, message: dict[str, Any]) -> None:
        self._writer.write(pack(message))

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
        for writer in self._writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        os.close(self._board_fd)


async def test_a_child_says_hello_waits_for_go_obeys_and_drains(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Session(app, monkeypatch) as session:
        assert (session.hello["slots"], session.hello["grace"]) == (5, 5.0)
        job = await app.tasks["nothing"].aenqueue()
        session.tell({"go": True})
        session.tell({"orders": [False, [["no-job", "no-token"]], [], False, None]})
        await job.aresult(20)
        session.tell({"drain": "soon"})
        assert await session.hear() == {"leaving": "it was told to"}
        await asyncio.wait_for(session.working, 20)


async def test_a_child_that_was_given_up_says_so_and_leaves(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Session(app, monkeypatch) as session:
        session.tell({"go": True})
        session.tell({"orders": [True, [], [], False, None]})
        assert await session.hear() == {"leaving": "it was given up"}
        await asyncio.wait_for(session.working, 20)


async def test_a_child_that_is_not_told_to_go_does_not_claim(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await app.tasks["nothing"].aenqueue()
    async with Session(app, monkeypatch) as session:
        session.tell({"drain": "now"})
        assert await session.hear() == {"leaving": "it was told to before it began"}
        await asyncio.wait_for(session.working, 20)
    assert (await job.arefresh()).state == "waiting"


async def test_a_child_whose_supervisor_is_gone_ends_itself(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers: list[tuple[Any, ...]] = []

    class Timer:
        def __init__(self, *args: Any) -> None:
            timers.append(args)

        def start(self) -> None: ...

    monkeypatch.setattr("penstock.runtime.child.threading.Timer", Timer)
    reader = asyncio.StreamReader()
    reader.feed_eof()
    assert await child._read(reader) == {}
    assert timers == [(1.0, os._exit, (1,))]


def test_a_child_that_cannot_load_its_app_says_why() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child._load_and_run({"app": "no_such_module:app", "wishes": {}}, theirs, -1)
        assert "no_such_module" in unpack(ours.recv(4096))["failed"]


async def test_a_child_that_cannot_open_its_app_says_why(app: Penstock) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        config = {"app": "shop:app", "wishes": {"queues": ["nowhere"]}}
        await child._main(app, Warm(None), config, theirs, -1)
        assert "nowhere" in unpack(ours.recv(4096))["failed"]


# -- solo -------------------------------------------------------------------------------------------
def test_inside_a_child_a_run_ends_as_plain_data() -> None:
    app = make_app()

    @app.task
    def add(ctx: SyncContext, a: int) -> int:
        ctx.progress(50, "half")
        return a + 1

    @app.task
    async def later() -> None:
        raise Snooze(3)

    @app.task
    async def nothing() -> None: ...

    sent: list[bytes] = []

    def run(name: str, claim: Claim) -> End:
        link = ChildLine(claim, app.tasks[name], TERMS, sent.append)
        return solo_child._run(app.tasks[name], claim, link, runner)

    with asyncio.Runner() as runner:
        empty = CLAIM._replace(args="{}")
        assert run("add", CLAIM) == Returned("2")
        assert isinstance(run("later", empty), Deferred)
        assert run("nothing", empty) == Returned()
        assert isinstance(run("add", empty), Failure)
    assert "half" in unpack(sent[0])["progress"]
