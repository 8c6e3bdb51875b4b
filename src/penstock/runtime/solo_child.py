"""The inside of a child process: it runs one job at a time, until the worker is gone."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Mapping
from datetime import datetime
from queue import SimpleQueue
from typing import IO, Any

from penstock.model.decide import End, Returned, end_of
from penstock.model.job import Claim
from penstock.runtime.links import PipeLine
from penstock.runtime.orphan import begin_below
from penstock.runtime.wire import end_to_wire, pack, unpack
from penstock.tasks.loading import load_app
from penstock.tasks.task import Task


def main(app_ref: str, fd: int, parent: int, *life: int) -> None:
    """Of a child that loads the app by itself. It holds `life` open for as long as it lives."""
    for held in life:
        os.set_inheritable(held, False)
    begin_below(parent)
    serve(load_app(app_ref).tasks, socket.socket(fileno=fd))


def serve(tasks: Mapping[str, Task[..., Any]], line: socket.socket) -> None:
    """Run one job after the other, as they come over the line."""
    with asyncio.Runner() as runner:
        line.sendall(pack({"ready": os.getpid()}))
        for message in _inbox(line.makefile("rb")):
            claim = _claim_from(message["claim"])
            line.sendall(pack({"begun": True}))
            end = _run(tasks[claim.task], claim, PipeLine(claim, message["worker"], line.sendall), runner)
            line.sendall(pack({"end": end_to_wire(end)}))


def _inbox(lines: IO[bytes]) -> Any:
    """Messages from the parent. A thread reads them, so that its end is seen while a handler runs."""
    messages: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        for line in lines:
            messages.put(unpack(line))
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield messages.get()


def _run(task: Task[..., Any], claim: Claim, link: PipeLine, runner: asyncio.Runner) -> End:
    try:
        args = task.decode(claim.args)
        value = runner.run(task.run(link, args)) if task.is_async else task.run_sync(link, args)
        if value is None:
            return Returned()
        return Returned(*task.encode_result(value))
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises ends in a settled attempt
        return end_of(error, task.policy_for(claim.options), task.classify)


def _claim_from(message: dict[str, Any]) -> Claim:
    message["created_at"] = datetime.fromisoformat(message["created_at"])
    message["due_at"] = datetime.fromisoformat(message["due_at"])
    return Claim(**message)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
