"""A worker process under a supervisor: it loads the app, works, and is beaten for from outside."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from typing import Any

from penstock import logs
from penstock.engine import CancelOrder, Order, Orders
from penstock.model.errors import PenstockError
from penstock.model.redaction import redacted
from penstock.runtime import signals
from penstock.runtime.board import Board
from penstock.runtime.forking import load_to_fork
from penstock.runtime.host import Beside, WorkerHost, WorkerSource
from penstock.runtime.memory import keep_what_is_there
from penstock.runtime.orphan import die_with_parent
from penstock.runtime.safety import check_safety
from penstock.runtime.warm import Warm, WarmProcess
from penstock.runtime.wire import MAX_LINE, pack, unpack
from penstock.runtime.worker import Worker

log = logging.getLogger("penstock.worker")

# Seconds after which a thread must pass the interpreter on. The loop, the threads of handlers and SQLite's
# writer want it by turns. The writer waits that long after each of its statements if the loop is busy: with
# the default of 5 ms it would stand still. Ten threads that compute all the time lose a fifth to this.
SWITCH_INTERVAL = 0.00005


def main(fd: int, board_fd: int, parent: int) -> None:
    die_with_parent(parent)
    sys.setswitchinterval(SWITCH_INTERVAL)
    # The terminal's Ctrl-C reaches the whole process group: only the supervisor answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = socket.socket(fileno=fd)
    config = unpack(link.makefile("rb").readline())
    logs.configure(config["log_level"], config["log_format"])
    _load_and_run(config, link, board_fd)
    # Threads that do not end must not keep the process (closing the loop would wait for them): what they
    # hold is handed back by the supervisor.
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, AttributeError):  # nobody reads it any more, or it was never open
            stream.flush()
    os._exit(0)  # whether we ended well was said over the line: a job can end this process with any code


def _load_and_run(config: dict[str, Any], link: socket.socket, board_fd: int) -> None:
    try:
        app, may_fork = load_to_fork(config["app"])
    except Exception as error:  # noqa: BLE001 - the supervisor shows it to a person
        _failed(link, error)
        return
    # Now or never: once a loop, an engine or a thread is there, this process cannot be copied any more.
    process = WarmProcess.forked(app.tasks, board_fd) if may_fork else None
    if not may_fork:
        log.info("the app starts threads or opens connections while it is loaded: children load it anew")
    warm = Warm(config["app"], process=process, life=(link.fileno(),))
    asyncio.Runner(loop_factory=loop_factory()).run(_main(app, warm, config, link, board_fd))


async def _main(
    app: WorkerSource, warm: Warm, config: dict[str, Any], link: socket.socket, board_fd: int
) -> None:
    async with contextlib.AsyncExitStack() as open_app:
        try:
            await open_app.enter_async_context(app)
            host = app.worker_host(app_ref=config["app"], **config["wishes"])
            await check_safety(host.engine, host.options.accept)
            if host.beside is not None:
                open_app.push_async_callback(host.beside.close)
                await host.beside.open()
        except Exception as error:  # noqa: BLE001 - as above
            _failed(link, error)
        else:
            await _work(host, warm, link, board_fd)


def _failed(link: socket.socket, error: Exception) -> None:
    link.sendall(pack({"failed": described(error)}))


def described(error: BaseException) -> str:
    """What was raised, and on which line of the user's code, in one sentence."""
    told = redacted(f"{type(error).__name__}: {error}")
    if isinstance(error, PenstockError | SyntaxError):
        return told
    frames = traceback.extract_tb(error.__traceback__)
    return f"{told} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else told


async def _work(host: WorkerHost, warm: Warm, link: socket.socket, board_fd: int) -> None:
    options = host.options
    board = Board.shared(board_fd, options.slots, options.lease)
    worker = Worker(host.engine, host.registry, options, board, warm)
    beside = host.beside
    reader, writer = await asyncio.open_connection(sock=link, limit=MAX_LINE)
    signals.answer_by(lambda: _drain(worker, beside), signal.SIGTERM)
    writer.write(pack(_hello(host, worker)))
    why = "it was told to before it began"
    if "go" in await _read(reader):
        keep_what_is_there()
        await _run(worker, beside, reader)
        why = _why(worker)
    with contextlib.suppress(ConnectionError):
        writer.write(pack({"leaving": why}))
        await writer.drain()
    signals.ignore()


async def _run(worker: Worker, beside: Beside | None, reader: asyncio.StreamReader) -> None:
    listening = asyncio.create_task(_listen(reader, worker, beside))
    other = None if beside is None else asyncio.create_task(beside.work())
    try:
        await worker.run()
        if beside is not None and other is not None:
            beside.drain()
            await other
    finally:
        listening.cancel()


def _drain(worker: Worker, beside: Beside | None, *, now: bool = False) -> None:
    worker.drain(now=now)
    if beside is not None:
        beside.drain(now=now)


def _why(worker: Worker) -> str:
    if worker.expired:
        return "it was given up"
    return "too many of its runs do not stop" if worker.recycle else "it was told to"


def _hello(host: WorkerHost, worker: Worker) -> dict[str, Any]:
    info = worker.info()
    return {
        "worker": info.id,
        "name": info.name,
        "queues": list(info.queues),
        "slots": info.slots,
        "lease": host.options.lease,
        "grace": host.options.grace,
        "metrics": host.options.metrics,
        "url": host.url,
        "schema": host.schema,
    }


async def _listen(reader: asyncio.StreamReader, worker: Worker, beside: Beside | None) -> None:
    while message := await _read(reader):
        if "drain" in message:
            _drain(worker, beside, now=message["drain"] == "now")
        if "orders" in message:
            worker.obey(_orders(*message["orders"]))


def _orders(
    given_up: bool, cancel: list[list[str]], paused: list[str], watched: bool, order: str | None
) -> Orders:
    stops = tuple(CancelOrder(*each) for each in cancel)
    return Orders(given_up, stops, frozenset(paused), watched, None if order is None else Order(order))


async def _read(reader: asyncio.StreamReader) -> dict[str, Any]:
    line = await reader.readline()
    if not line:
        # The supervisor is gone: nobody beats for us any more.
        threading.Timer(1.0, os._exit, (1,)).start()
        return {}
    return unpack(line)


def loop_factory() -> Any:
    """uvloop's, where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
