"""A forked child shares nothing with its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

from conformance.kit import new
from penstock.engine import JobFilter
from penstock.engines.sqlite import forks
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import EngineError

REFUSED, NOT_REFUSED = 7, 8


def refusal_of(verb) -> str:
    """What a verb says when it is begun; it must not get as far as waiting."""
    try:
        verb.send(None)
    except EngineError as error:
        return str(error)
    return ""


async def test_an_engine_opened_before_a_fork_refuses_to_work_in_the_child(tmp_path):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    child = os.fork()
    if child == 0:
        os._exit(REFUSED if "make a new engine" in refusal_of(engine.enqueue([new()])) else NOT_REFUSED)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == REFUSED
    assert len(await engine.enqueue([new()])) == 1
    await engine.close()


async def test_closing_in_the_child_leaves_the_parent_at_work(tmp_path):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    child = os.fork()
    if child == 0:
        try:
            engine.close().send(None)
        except StopIteration:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(await engine.enqueue([new()])) == 1
    await engine.close()


def in_child(work) -> int:
    """The exit code of a child in which `work` is done; 0 where it ended well."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        code = 1
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def enqueue_one(path: str) -> None:
    engine = SqliteEngine(path)
    await engine.open()
    await engine.enqueue([new()])
    await engine.close()


def until_a_fork_begins(inside: threading.Event):
    """A write that is still under way when the process forks."""

    def verb(tx) -> None:
        tx.change("keys_take", ("default", "hello", "held", "job", None))
        inside.set()
        while not forks._forking.locked():
            time.sleep(0.001)

    return verb


async def test_a_fork_during_a_write_leaves_parent_and_child_at_work(tmp_path):
    path = str(tmp_path / "jobs.db")
    engine = SqliteEngine(path)
    await engine.open()
    inside = threading.Event()
    write = asyncio.ensure_future(engine._write(until_a_fork_begins(inside)))
    await asyncio.to_thread(inside.wait, 10)
    began = time.monotonic()
    assert in_child(lambda: asyncio.run(enqueue_one(path))) == 0
    assert time.monotonic() - began < 10
    await write
    await engine.enqueue([new()])
    assert len(await engine.jobs(JobFilter(), 10)) == 2
    await engine.close()


async def test_a_child_of_a_fork_has_no_copy_of_connections_or_locks(tmp_path):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    await engine.enqueue([new()])
    await engine.jobs(JobFilter(), 10)
    await engine.workers()
    descriptors = Path("/proc/self/fd")

    def copies() -> int:
        there = [file for file in descriptors.iterdir() if file.is_symlink()]
        return sum(file.readlink().is_relative_to(tmp_path) for file in there)

    if descriptors.exists():
        assert copies() > 0
        assert in_child(copies) == 0
    await engine.close()


async def test_a_child_forked_during_an_endless_write_refuses_the_file_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(forks, "PATIENCE", 0.01)
    path = str(tmp_path / "jobs.db")
    engine = SqliteEngine(path)
    await engine.open()
    inside, forked = threading.Event(), threading.Event()

    def verb(tx) -> None:
        inside.set()
        forked.wait(30)

    def refused() -> int:
        try:
            asyncio.run(enqueue_one(path))
        except EngineError as error:
            return REFUSED if "spawn" in str(error) else NOT_REFUSED
        return NOT_REFUSED

    write = asyncio.ensure_future(engine._write(verb))
    await asyncio.to_thread(inside.wait, 10)
    assert in_child(refused) == REFUSED
    forked.set()
    await write
    await enqueue_one(path)
    await engine.close()
