"""The inside of a child process: it runs one job at a time, until the worker is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import threading
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from queue import SimpleQueue
from typing import IO, Any

from penstock.model.decide import End
from penstock.model.job import Claim
from penstock.runtime.child_line import ChildLine
from penstock.runtime.guard import guarded
from penstock.runtime.orphan import begin_below
from penstock.runtime.wire import Terms, pack, unpack
from penstock.tasks.loading import load_app
from penstock.tasks.task import Task


def main(app_ref: str, fd: int, parent: int, *life: int) -> None:
    """Of a child that loads the app by itself. It holds `life` open for as long as it lives."""
    for held in life:
        os.set_inheritable(held, False)
    begin_below(parent)
    line = socket.socket(fileno=fd)
    guarded(lambda: serve(load_app(app_ref).tasks, line), line)


def serve(tasks: Mapping[str, Task[..., Any]], line: socket.socket) -> None:
    """Run one job after the other, as they come over the line."""
    inbox = Inbox(line.makefile("rb"))
    send = partial(_send, line)
    with asyncio.Runner() as runner:
        send(pack({"ready": os.getpid()}))
        while True:
            message = inbox.next_job()
            claim = _claim_from(message["claim"])
            task = tasks[claim.task]
            link = ChildLine(claim, task, Terms(*message["terms"]), send)
            inbox.link = link
            link.begin()
            end = _run(task, claim, link, runner)
            if link.copied:
                os._exit(0)  # a copy that the handler made and let go on: the job is not its own
            link.end(end)


def _send(line: socket.socket, message: bytes) -> None:
    try:
        line.sendall(message)
    except OSError:
        os._exit(1)  # the worker is gone: its jobs are taken back, and what is said here concerns nobody


class Inbox:
    """Messages from the worker. A thread reads them, so that its end is seen while a handler runs."""

    def __init__(self, lines: IO[bytes]) -> None:
        self._lines = lines
        self._jobs: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.link: ChildLine | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def next_job(self) -> dict[str, Any]:
        return self._jobs.get()

    def hear(self, message: dict[str, Any]) -> None:
        if "claim" in message:
            self._jobs.put(message)
        elif self.link is not None and self.link.claim.token == message.get("stored"):
            self.link.stored()
        elif self.link is not None and self.link.claim.token == message.get("answered"):
            self.link.answered(message)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # a worker that was killed does not take leave
            for line in self._lines:
                self.hear(unpack(line))
        os._exit(1)


def _run(task: Task[..., Any], claim: Claim, link: ChildLine, runner: asyncio.Runner) -> End:
    try:
        args = task.decode(claim.args)
        value = runner.run(task.run(link, args)) if task.is_async else task.run_sync(link, args)
        return link.returned(value)
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises ends in a settled attempt
        return link.ended_by(error)


def _claim_from(message: dict[str, Any]) -> Claim:
    message["created_at"] = datetime.fromisoformat(message["created_at"])
    message["due_at"] = datetime.fromisoformat(message["due_at"])
    return Claim(**message)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
