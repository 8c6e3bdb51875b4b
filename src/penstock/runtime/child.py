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

from penstock.engine import CancelOrder, Orders
from penstock.model.errors import PenstockError
from penstock.runtime.board import Board
from penstock.runtime.host import WorkerHost, WorkerSource
from penstock.runtime.orphan import die_with_parent
from penstock.runtime.safety import check_safety
from penstock.runtime.wire import MAX_LINE, pack, unpack
from penstock.runtime.worker import Worker
from penstock.tasks.loading import load_app

log = logging.getLogger("penstock.worker")

EXIT_BAD_APP = 2
EXIT_EXPIRED = 3
EXIT_RECYCLE = 4


def main(fd: int, board_fd: int, parent: int) -> None:
    die_with_parent(parent)
    # The terminal's Ctrl-C reaches the whole process group: only the supervisor answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = socket.socket(fileno=fd)
    config = unpack(link.makefile("rb").readline())
    logging.basicConfig(level=config["log_level"], format="%(asctime)s %(process)d %(message)s")
    code = asyncio.Runner(loop_factory=_loop_factory()).run(_main(config, link, board_fd))
    # Threads that do not end must not keep the process (closing the loop would wait for them): what they
    # hold is handed back by the supervisor.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def _main(config: dict[str, Any], link: socket.socket, board_fd: int) -> int:
    async with contextlib.AsyncExitStack() as open_app:
        try:
            app: WorkerSource = await open_app.enter_async_context(load_app(config["app"]))
            host = app.worker_host(app_ref=config["app"], **config["wishes"])
            await check_safety(host.engine, host.options.accept)
        except Exception as error:  # noqa: BLE001 - the supervisor shows it to a person
            link.sendall(pack({"failed": described(error)}))
            return EXIT_BAD_APP
        return await _work(host, link, board_fd)


def described(error: BaseException) -> str:
    """What was raised, and on which line of the user's code, in one sentence."""
    told = f"{type(error).__name__}: {error}"
    if isinstance(error, PenstockError | SyntaxError):
        return told
    frames = traceback.extract_tb(error.__traceback__)
    return f"{told} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else told


async def _work(host: WorkerHost, link: socket.socket, board_fd: int) -> int:
    options = host.options
    worker = Worker(host.engine, host.registry, options, Board.shared(board_fd, options.slots, options.lease))
    reader, writer = await asyncio.open_connection(sock=link, limit=MAX_LINE)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain)
    writer.write(pack(_hello(host, worker)))
    if "go" not in await _read(reader):
        return EXIT_BAD_APP
    listening = asyncio.create_task(_listen(reader, worker))
    try:
        await worker.run()
    finally:
        listening.cancel()
    if worker.expired:
        return EXIT_EXPIRED
    return EXIT_RECYCLE if worker.recycle else 0


def _hello(host: WorkerHost, worker: Worker) -> dict[str, Any]:
    info = worker.info()
    return {
        "worker": info.id,
        "name": info.name,
        "queues": list(info.queues),
        "slots": info.slots,
        "lease": host.options.lease,
        "grace": host.options.grace,
        "url": host.url,
        "schema": host.schema,
    }


async def _listen(reader: asyncio.StreamReader, worker: Worker) -> None:
    while message := await _read(reader):
        if "drain" in message:
            worker.drain(now=message["drain"] == "now")
        if "orders" in message:
            given_up, cancel, paused = message["orders"]
            orders = Orders(given_up, tuple(CancelOrder(*c) for c in cancel), frozenset(paused))
            worker.obey(orders)


async def _read(reader: asyncio.StreamReader) -> dict[str, Any]:
    line = await reader.readline()
    if not line:
        # The supervisor is gone: nobody beats for us any more.
        threading.Timer(1.0, os._exit, (1,)).start()
        return {}
    return unpack(line)


def _loop_factory() -> Any:
    try:
        import uvloop  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
