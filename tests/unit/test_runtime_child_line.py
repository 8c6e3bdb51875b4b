"""What one run in a child process says to its worker: named, in order, and never more than can be taken."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from runtime_kit import TERMS, make_app
from test_runtime_child import CLAIM

from penstock.model.decide import Returned
from penstock.model.errors import EngineUnavailable, InvalidOption, LeaseLost
from penstock.model.job import NewJob
from penstock.runtime import solo_child
from penstock.runtime.child_line import ChildLine
from penstock.runtime.running import MAX_FOLLOWERS_BYTES
from penstock.runtime.wire import end_to_wire, pack, unpack
from penstock.tasks.errands import STEPS, UPSTREAM

END = end_to_wire(Returned("2"))


class Said:
    """A line, and what was said over it."""

    def __init__(self, timeout: float | None = None) -> None:
        self._sent: list[bytes] = []
        app = make_app()

        @app.task(timeout=timeout)
        def work(a: int) -> int:
            return a

        self.line = ChildLine(CLAIM, work, TERMS, self._sent.append)

    def messages(self) -> list[dict[str, Any]]:
        found = [unpack(data) for data in self._sent]
        assert all(message.pop("token") == CLAIM.token for message in found)
        return found

    def told(self) -> list[Any]:
        """The percentages told, and END."""
        return [unpack(m["progress"])["percent"] if "progress" in m else m["end"] for m in self.messages()]


async def test_every_message_names_the_run() -> None:
    said = Said()
    said.line.begin()
    await said.line.progress(5, "a")
    said.line.end(Returned("2"))
    assert said.messages() == [{"begun": True}, {"progress": '{"percent":5,"message":"a"}'}, {"end": END}]
    assert not said.line.cancelled()
    assert not said.line.lease_lost()


def test_of_much_progress_only_the_latest_is_told_once_the_worker_can_take_it() -> None:
    said = Said()
    for percent in range(50):
        said.line.progress_sync(percent, "")
    assert said.told() == [0]
    said.line.stored()
    assert said.told() == [0, 49]
    said.line.stored()
    said.line.progress_sync(50, "")
    assert said.told() == [0, 49, 50]


def test_the_last_progress_is_told_before_the_end_and_none_after_it() -> None:
    said = Said()
    for percent in (98, 99, 100):
        said.line.progress_sync(percent, "")
    said.line.end(Returned("2"))
    said.line.progress_sync(7, "a thread that was left behind")
    said.line.stored()
    assert said.told() == [98, 100, END]


def test_a_copy_of_the_process_says_nothing(monkeypatch: Any) -> None:
    said = Said()
    assert not said.line.copied
    monkeypatch.setattr(os, "getpid", lambda: 1)
    said.line.progress_sync(5, "")
    assert said.line.copied
    assert said.messages() == []


def test_a_run_knows_when_its_time_is_over() -> None:
    assert Said().line.deadline is None
    deadline = Said(timeout=30.0).line.deadline
    assert deadline is not None
    assert 0 < deadline - time.monotonic() <= 30


class Endless(io.BytesIO):
    """Lines from a worker that lives on."""

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            threading.Event().wait()
        return line


def test_jobs_come_in_order() -> None:
    inbox = solo_child.Inbox(Endless(pack({"claim": 1}) + pack({"claim": 2})))
    assert [inbox.next_job(), inbox.next_job()] == [{"claim": 1}, {"claim": 2}]


def test_only_the_run_in_hand_hears_that_its_progress_is_stored() -> None:
    said = Said()
    said.line.progress_sync(1, "")
    said.line.progress_sync(2, "")
    inbox = solo_child.Inbox(Endless())
    inbox.hear({"stored": "before its time"})
    inbox.link = said.line
    inbox.hear({"stored": "another"})
    assert said.told() == [1]
    inbox.hear({"stored": CLAIM.token})
    assert said.told() == [1, 2]


# -- errands and followers --------------------------------------------------------------------------


def test_each_errand_waits_for_its_own_answer() -> None:
    said = Said()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(said.line.do_sync, STEPS), None
        _until(lambda: len(said.messages()) == 1)
        second = pool.submit(said.line.do_sync, UPSTREAM)
        _until(lambda: len(said.messages()) == 2)
        assert [(m["errand"][0], m["number"]) for m in said.messages()] == [("steps", 0), ("upstream", 1)]
        said.line.answered({"number": 1, "answer": ["b"]})
        said.line.answered({"number": 0, "answer": {"a": "1"}})
        assert (first.result(10), second.result(10)) == ({"a": "1"}, ["b"])


async def test_an_errand_that_could_not_be_done_raises_in_the_handler() -> None:
    said = Said()
    asking = asyncio.create_task(said.line.do(STEPS))
    await asyncio.sleep(0)
    await asyncio.to_thread(said.line.answered, {"number": 0, "unavailable": "away"})
    with pytest.raises(EngineUnavailable, match="away"):
        await asking


async def test_an_answer_that_nobody_waits_for_any_more_is_passed_over() -> None:
    said = Said()
    asking = asyncio.create_task(said.line.do(STEPS))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait({asking})
    said.line.answered({"number": 0, "answer": {}})


def test_a_run_that_is_over_asks_for_nothing_and_is_followed_by_nothing() -> None:
    said = Said()
    said.line.end(Returned("2"))
    with pytest.raises(LeaseLost):
        said.line.do_sync(STEPS)
    with pytest.raises(LeaseLost):
        said.line.follow(NewJob("1", "default", "hello"))
    assert said.messages() == [{"end": END}]


def test_followers_are_told_at_once_and_bounded() -> None:
    said = Said()
    said.line.follow(NewJob("1", "default", "hello", args="x" * MAX_FOLLOWERS_BYTES))
    with pytest.raises(InvalidOption, match="4 MB"):
        said.line.follow(NewJob("2", "default", "hello"))
    assert [message["follow"][0] for message in said.messages()] == ["1"]


def test_only_the_run_in_hand_hears_the_answer_to_its_errand() -> None:
    said = Said()
    inbox = solo_child.Inbox(Endless())
    inbox.link = said.line
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(said.line.do_sync, STEPS)
        _until(lambda: len(said.messages()) == 1)
        inbox.hear({"answered": "another", "number": 0, "answer": {"not": "mine"}})
        inbox.hear({"answered": CLAIM.token, "number": 0, "answer": {}})
        assert asking.result(10) == {}


def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)


@pytest.mark.parametrize("doing", ["reading", "speaking"])
def test_a_child_whose_worker_was_killed_ends_without_a_word(
    doing: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        with contextlib.suppress(BaseException):
            if doing == "reading":
                solo_child.Inbox(theirs.makefile("rb")).next_job()
            while True:
                solo_child._send(theirs, b"still here")
        os._exit(9)
    theirs.close()
    assert ours.recv(1, socket.MSG_PEEK) if doing == "speaking" else True
    ours.close()  # with something unread where the child speaks, which resets the line
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert capfd.readouterr().err == ""
