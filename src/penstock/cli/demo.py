"""`penstock demo`: a shop on SQLite, with real workers and crashes, to watch here and in a browser."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from penstock.app import Penstock
from penstock.cli.demo_summary import sum_up
from penstock.cli.output import GLYPH, STYLE, complain, console, say
from penstock.cli.service import ServiceProcess, open_door, say_how_to_enter
from penstock.engine import JobFilter
from penstock.model.job import Job
from penstock.model.states import State
from penstock.opening import open_engine
from penstock.ops import Ops
from penstock.runtime import signals
from penstock.runtime.supervisor import Supervisor, SupervisorOptions
from penstock.tasks.loading import load_app

if TYPE_CHECKING:
    from penstock.cli.demo_story import Story

TASKS = "penstock.cli.demo_tasks:app"
PROCESSES = 2
SLOTS = 16  # of all of them
PAUSE = 5.0  # seconds between two acts where somebody watches
PATIENCE = 30.0  # seconds from start to end where nobody watches, whatever is left
ENDING = 6.0  # of them: for workers and dashboard to end, and to sum up


def run(port: int | None = None, seconds: float | None = None) -> int:
    """The exit code. It ends after `seconds`, on Ctrl-C, or, where nobody watches, when the story does."""
    began = time.monotonic()
    logging.getLogger("penstock").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder, contextlib.chdir(folder):
        for name in [name for name in os.environ if name.startswith("PENSTOCK_")]:
            del os.environ[name]  # nothing of the user's own is used, nobody of theirs is told
        os.environ["PENSTOCK_URL"] = f"sqlite:///{Path(folder, 'demo.db')}"
        os.environ["PENSTOCK_DEMO"] = folder
        try:
            return asyncio.run(_run(port, seconds, began + PATIENCE - ENDING))
        finally:
            signals.ignore()


@dataclass
class Watched:
    """What the screen shows; read anew several times a second."""

    began: float = field(default_factory=time.monotonic)
    counts: Counter[State] = field(default_factory=Counter)
    running: list[Job] = field(default_factory=list)

    async def look(self, ops: Ops) -> None:
        held: Counter[State] = Counter()
        for row in await ops.queues():
            held.update(row.counts)
        self.counts = as_seen(held)
        self.running = await ops.jobs(JobFilter(task="render_invoice", state=State.ACTIVE), 8)

    def tell(self, text: str) -> None:
        """A line of the story, above the screen."""
        console.print(
            Text.assemble((f"{time.monotonic() - self.began:4.0f} s  ", "bright_black"), text), soft_wrap=True
        )


def as_seen(counts: Counter[State]) -> Counter[State]:
    """What a worker claimed ahead of its slots is active to the engine; to people it waits for a slot."""
    ahead = max(0, counts[State.ACTIVE] - SLOTS)
    return counts + Counter({State.WAITING: ahead}) - Counter({State.ACTIVE: ahead})


async def _run(port: int | None, seconds: float | None, latest: float) -> int:
    from penstock.cli.demo_story import Story  # noqa: PLC0415 - its app reads the URL set above

    app: Penstock = load_app(TASKS)
    forever = seconds is not None or console.is_terminal
    asked_to_end = asyncio.Event()
    signals.answer_by(asked_to_end.set)
    async with app:
        watched = Watched()
        async with _shop(app, open_door(port)):
            story = Story(app, app.ops, watched.tell, PAUSE if forever else 0.0)
            told = asyncio.create_task(_tell(story, watched, forever=forever))
            screen = asyncio.create_task(_show(app.ops, watched))
            ends = asyncio.create_task(asked_to_end.wait())
            limit = seconds if forever else max(0.0, latest - time.monotonic())
            over, _ = await asyncio.wait(
                {told, screen, ends}, timeout=limit, return_when=asyncio.FIRST_COMPLETED
            )
            await _cancel(told, screen, ends)
            for task in over:
                task.result()  # raises what went wrong
        await watched.look(app.ops)
        await sum_up(app.ops, watched.counts[State.COMPLETED], time.monotonic() - watched.began)
        if over or forever:
            return 0
        complain("the story took too long here, and was not told to its end")
        return 1


@contextlib.asynccontextmanager
async def _shop(app: Penstock, door: socket.socket | None) -> AsyncIterator[None]:
    """Workers, and a dashboard where there is a door to it."""
    if door is not None:
        await say_how_to_enter(app, door)
    say(
        f"On SQLite, with {PROCESSES} worker processes. Ctrl-C ends it, and nothing is left behind.",
        "bright_black",
    )
    options = SupervisorOptions(
        app_ref=TASKS,
        processes=PROCESSES,
        wishes={"slots": SLOTS // PROCESSES, "grace": 2.0},
        log_level="CRITICAL",
    )
    supervisor = Supervisor(options, open_engine)
    working = asyncio.create_task(supervisor.run())
    async with _dashboard(door):
        try:
            yield
        finally:
            supervisor.stop()
            await working


@contextlib.asynccontextmanager
async def _dashboard(door: socket.socket | None) -> AsyncIterator[None]:
    if door is None:
        yield
        return
    with door:
        serving = asyncio.create_task(ServiceProcess(TASKS, door, "CRITICAL", "console").run())
        try:
            yield
        finally:
            await _cancel(serving)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _tell(story: Story, watched: Watched, *, forever: bool) -> None:
    """To its end, and that of every job; or for as long as somebody watches."""
    await story.tell_all()
    if forever:
        watched.tell("And so it goes on.")
        await story.go_on()
    await story.end()


async def _show(ops: Ops, watched: Watched) -> None:
    if not console.is_terminal:
        await _show_quietly(ops, watched)
        return
    with Live(_screen(watched), console=console, refresh_per_second=10, transient=True) as live:
        while True:
            await watched.look(ops)
            live.update(_screen(watched))
            await asyncio.sleep(0.1)


async def _show_quietly(ops: Ops, watched: Watched) -> None:
    told = time.monotonic()
    while True:
        await watched.look(ops)
        if time.monotonic() - told >= 2.0:
            told = time.monotonic()
            say("        " + "  ".join(f"{watched.counts[s]} {s}" for s in State if watched.counts[s]))
        await asyncio.sleep(0.1)


def _screen(watched: Watched) -> Group:
    counts = Table.grid(padding=(0, 3))
    counts.add_row(*(Text(f"{GLYPH[s]} {watched.counts[s]:>3} {s}", style=STYLE[s]) for s in State))
    bars = Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
    for job in watched.running:
        progress = job.progress or {}
        said = progress.get("message", "")
        bars.add_task(
            f"invoice {job.args['order_id']}", total=100, completed=progress.get("percent", 0), said=said
        )
    return Group(counts, Text(), bars)
