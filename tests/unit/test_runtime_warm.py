"""Warm processes and their children, for real: what they load, how they end, and with whom."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from runtime_kit import Ear
from test_runtime_child import CLAIM

from acceptance.fleet import eventually, is_alive
from penstock.model.decide import Returned
from penstock.model.failure import Failure
from penstock.model.job import Claim
from penstock.runtime import solo
from penstock.runtime.solo import Bereft, ChildDied, SoloPool
from penstock.runtime.warm import Warm

APP = """
import ctypes, json, os, signal, sqlite3, subprocess, sys, threading, time
from pathlib import Path
from penstock import Penstock, SyncContext

HERE = Path(__file__).parent
with (HERE / "loaded").open("a") as file:
    file.write("x")
app = Penstock("sqlite://:memory:")

@app.task
def where() -> list[int]:
    return [os.getpid(), os.getppid(), os.getsid(0)]

@app.task
async def where_async() -> list[int]:
    return where()

@app.task
def open_files() -> list[str]:
    return sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2
                  and os.path.exists(f"/proc/self/fd/{fd}"))

@app.task
def dies(ctx: SyncContext, how: str) -> None:
    ctx.progress(10, str(os.getpid()))
    if how == "segfault":
        ctypes.string_at(0)
    if how == "exit":
        os._exit(7)
    os.kill(os.getpid(), signal.SIGKILL)

@app.task
def kills_its_parent() -> None:
    below = subprocess.Popen(["sleep", "600"])
    (HERE / "killer").write_text(json.dumps([os.getpid(), below.pid]))
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()

@app.task
def waits_for_a_file(ctx: SyncContext) -> str:
    ctx.progress(10, str(os.getpid()))
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return "done"

@app.task
def leaves_a_child_behind(ctx: SyncContext) -> None:
    if os.fork() == 0:
        signal.pause()
    os._exit(5)

@app.task
def forks() -> str:
    return "the job" if os.fork() else "its copy"

@app.task
def leaves_a_thread_behind(ctx: SyncContext) -> None:
    def tell() -> None:
        for _ in range(1000):
            ctx.progress(66, "left behind")
    threading.Thread(target=tell, daemon=True).start()

@app.task(timeout=30)
def time_left(ctx: SyncContext) -> float:
    return ctx.deadline - time.monotonic()

@app.task
def tells_much(ctx: SyncContext) -> None:
    for n in range(2001):
        ctx.progress(n / 20, "")

@app.task
def hangs(ctx: SyncContext) -> None:
    ctx.progress(10, str(os.getpid()))
    ctypes.PyDLL(None).sleep(600)
"""


def claim(task: str, args: str = "{}") -> Claim:
    return CLAIM._replace(task=task, args=args, token=secrets.token_hex(16))


class Lot:
    """An app in a folder of its own, and a pool of children that run its tasks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "shop_of_children.py"
        self.write()
        self.warm = Warm(f"{self.path}:app")
        self.pool = SoloPool(self.warm)
        self.ear = Ear()

    def write(self, more: str = "") -> None:
        self.path.write_text(textwrap.dedent(APP) + textwrap.dedent(more))

    @property
    def warm_pid(self) -> int:
        assert self.warm._process is not None
        return self.warm._process.pid

    @property
    def loaded(self) -> int:
        """How often the app was loaded."""
        return len((self.folder / "loaded").read_text())

    async def run(self, task: str, args: str = "{}") -> Any:
        end = await self.pool.run(claim(task, args), self.ear)
        assert isinstance(end, Returned), end
        return None if end.result is None else json.loads(end.result)

    async def begun(self, task: str) -> tuple[asyncio.Task[Any], int]:
        """A run that has told its pid as progress."""
        ear = Ear()
        running = asyncio.create_task(self.pool.run(claim(task), ear))
        await ear.heard.wait()
        return running, int(ear.told[0]["message"])


@pytest.fixture
async def lot(tmp_path: Path) -> AsyncIterator[Lot]:
    made = Lot(tmp_path)
    yield made
    await made.pool.close()


async def until(condition: Callable[[], bool], what: str) -> None:
    await asyncio.to_thread(eventually, condition, 20, what)


async def test_a_child_is_ready_without_loading_the_app_again(lot: Lot) -> None:
    places = await asyncio.gather(*(lot.run(task) for task in ["where", "where_async"] * 3))
    assert lot.loaded == 1
    assert all(pid == session for pid, _, session in places)


async def test_a_child_is_used_again(lot: Lot) -> None:
    assert await lot.run("where") == await lot.run("where")


async def test_a_copy_that_a_handler_makes_of_itself_answers_for_no_job(lot: Lot) -> None:
    child, _, _ = await lot.run("where")
    for _ in range(10):
        assert await lot.run("forks") == "the job"
        assert (await lot.run("where"))[0] == child


async def test_a_thread_left_behind_says_nothing_about_the_next_job(lot: Lot) -> None:
    await lot.run("leaves_a_thread_behind")
    lot.ear.told.clear()
    for _ in range(20):
        assert await lot.run("where")
    assert lot.ear.told == []


async def test_however_much_progress_is_told_what_is_stored_last_is_the_last(lot: Lot) -> None:
    await lot.run("tells_much")
    assert lot.ear.told[-1]["percent"] == 100
    assert lot.ear.told == sorted(lot.ear.told, key=lambda progress: progress["percent"])


async def test_a_handler_in_a_process_knows_when_its_time_is_over(lot: Lot) -> None:
    assert 20 < await lot.run("time_left") <= 30


async def test_a_warm_process_that_dies_is_replaced(lot: Lot) -> None:
    child, _, _ = await lot.run("where")
    warm = lot.warm_pid
    os.kill(warm, signal.SIGKILL)
    await until(lambda: not is_alive(child), "its children go with it")
    other, _, _ = await lot.run("where")
    assert other != child
    assert lot.warm_pid != warm
    assert lot.loaded == 2
    assert not is_alive(warm)


async def test_a_job_that_kills_its_parent_has_crashed_and_harms_no_other(lot: Lot) -> None:
    running, child = await lot.begun("waits_for_a_file")
    with pytest.raises(ChildDied, match="SIGKILL"):
        await lot.run("kills_its_parent")
    assert is_alive(child)
    (lot.folder / "go").touch()
    assert (await running).result == '"done"'
    assert lot.loaded == 1


async def test_a_job_that_kills_its_parent_leaves_no_process_behind(lot: Lot) -> None:
    with pytest.raises(ChildDied, match="SIGKILL"):
        await lot.run("kills_its_parent")
    killer, below = json.loads((lot.folder / "killer").read_text())
    await until(lambda: not is_alive(killer) and not is_alive(below), "all gone")


async def test_a_job_whose_warm_process_dies_is_bereft(lot: Lot) -> None:
    running, child = await lot.begun("hangs")
    os.kill(lot.warm_pid, signal.SIGKILL)
    with pytest.raises(Bereft, match="lost together with the one it came from"):
        await running
    await until(lambda: not is_alive(child), "its child goes with it")


async def test_a_warm_process_that_bears_no_child_in_time_is_replaced_and_its_children_go_on(
    lot: Lot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    running, _ = await lot.begun("waits_for_a_file")
    stopped = lot.warm_pid
    os.kill(stopped, signal.SIGSTOP)
    started = solo.Child.start

    async def start(line: socket.socket) -> solo.Child:
        monkeypatch.setattr(solo, "START", 60.0)
        return await started(line)

    monkeypatch.setattr(solo, "START", 0.1)
    monkeypatch.setattr(solo.Child, "start", start)
    assert await lot.run("where")
    assert lot.warm_pid != stopped
    assert "is replaced" in caplog.text
    (lot.folder / "go").touch()
    assert (await running).result == '"done"'
    await lot.pool.close()
    assert not is_alive(stopped)


async def test_a_warm_process_killed_while_a_child_is_asked_for_costs_the_job_nothing(lot: Lot) -> None:
    lot.warm.bear().close()
    os.kill(lot.warm_pid, signal.SIGKILL)
    assert await lot.run("where")


@pytest.mark.parametrize(
    ("how", "told"), [("segfault", "SIGSEGV"), ("exit", "exited with code 7"), ("kill", "SIGKILL")]
)
async def test_a_child_that_dies_is_told_of_with_how_it_ended(lot: Lot, how: str, told: str) -> None:
    with pytest.raises(ChildDied, match=told):
        await lot.run("dies", f'{{"how": "{how}"}}')
    assert await lot.run("where")
    assert lot.loaded == 1


async def test_a_death_is_seen_though_what_the_child_started_holds_its_line(lot: Lot) -> None:
    with pytest.raises(ChildDied, match="exited with code 5"):
        await lot.run("leaves_a_child_behind")


async def test_a_child_killed_while_idle_costs_the_next_job_nothing(lot: Lot) -> None:
    child, _, _ = await lot.run("where")
    os.kill(child, signal.SIGKILL)
    assert (await lot.run("where"))[0] != child


async def test_stopping_a_run_kills_its_child_whatever_it_does(lot: Lot) -> None:
    running, child = await lot.begun("hangs")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_alive(child)


async def test_nothing_stays_behind_when_the_pool_is_closed(lot: Lot) -> None:
    child, guard, _ = await lot.run("where")
    warm = lot.warm_pid
    await lot.pool.close()
    assert not any(map(is_alive, (child, warm)))
    await until(lambda: not is_alive(guard), "the guard has told the end, and ends by itself")


async def test_children_end_when_their_worker_closes_the_line_to_the_warm_process(lot: Lot) -> None:
    running, child = await lot.begun("hangs")
    process = lot.warm._process
    assert process is not None
    process._control.close()  # what the death of the worker does, where the system sends no signal
    await until(lambda: not is_alive(child) and not is_alive(process.pid), "all gone")
    with pytest.raises(ChildDied):
        await running


async def test_a_child_holds_nothing_of_its_siblings_nor_of_the_warm_process(lot: Lot) -> None:
    running, _ = await lot.begun("hangs")
    one = await lot.run("open_files")
    assert len([path for path in one if path.startswith("socket:")]) == 1 + 2  # its line, its loop's own
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize(
    "careless",
    [
        "threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "kept = sqlite3.connect(HERE / 'own.db'); kept.execute('create table if not exists t (x)')",
        "import asyncio; loop = asyncio.new_event_loop()",
    ],
)
async def test_an_app_that_must_not_be_copied_is_loaded_by_each_child(lot: Lot, careless: str) -> None:
    lot.write(careless)
    places = [await lot.run("where")]
    hanging, _ = await lot.begun("hangs")
    places.append(await lot.run("where"))
    assert len({pid for pid, _, _ in places}) == 2
    assert lot.loaded == 3
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    with pytest.raises(ChildDied, match="exited with code 7"):
        await lot.run("dies", '{"how": "exit"}')


async def test_an_app_that_cannot_be_loaded_fails_the_job_and_is_no_crash(lot: Lot) -> None:
    lot.write("raise ValueError('not today')")
    with pytest.raises(RuntimeError, match="could not begin"):
        await lot.run("where")
    lot.write()
    assert await lot.run("where")


async def test_a_handler_that_fails_in_a_child_ends_as_it_would_anywhere(lot: Lot) -> None:
    lot.write(
        """
        @app.task
        def fails() -> None:
            raise ValueError("no")
        """
    )
    end = await lot.pool.run(claim("fails"), Ear())
    assert isinstance(end, Failure)
    assert end.type == "ValueError"
