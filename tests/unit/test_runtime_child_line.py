"""What one run in a child process says to its worker: named, in order, and never more than can be taken."""

from __future__ import annotations

import io
import os
import threading
import time
from typing import Any

from test_runtime_child import CLAIM

from penstock.model.decide import Returned
from penstock.runtime import solo_child
from penstock.runtime.child_line import ChildLine
from penstock.runtime.wire import end_to_wire, pack, unpack

END = end_to_wire(Returned("2"))


class Said:
    """A line, and what was said over it."""

    def __init__(self, timeout: float | None = None) -> None:
        self._sent: list[bytes] = []
        self.line = ChildLine(CLAIM, "worker", self._sent.append, timeout)

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
