"""The inside of a child process: load the app, then run one job at a time until the parent is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from datetime import datetime
from queue import SimpleQueue
from typing import IO, Any

from penstock.model.decide import End, Returned, end_of
from penstock.model.job import Claim
from penstock.runtime.links import PipeLine
from penstock.runtime.orphan import die_with_parent
from penstock.runtime.wire import end_to_wire, pack, unpack
from penstock.tasks.loading import load_app
from penstock.tasks.task import Task


def main(app_ref: str, worker: str, fd: int, parent: int) -> None:
    die_with_parent(parent)
    # A signal to the whole group is for the supervisor to answer: this job ends with it, or is killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)  # not ignored: what a handler starts can be ended
    registry = load_app(app_ref).tasks
    with socket.socket(fileno=fd) as link, asyncio.Runner() as runner:
        outbox = link.makefile("wb", buffering=0)
        outbox.write(pack({"ready": True}))
        for message in _inbox(link.makefile("rb")):
            claim = _claim_from(message)
            task = registry.get(claim.task)
            assert task is not None
            end = _run(task, claim, PipeLine(claim, worker, outbox), runner)
            outbox.write(pack({"end": end_to_wire(end)}))


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
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
