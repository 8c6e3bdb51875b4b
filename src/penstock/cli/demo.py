"""`penstock demo`: a few hundred jobs on an SQLite file, with a real supervisor, worker and crashes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from penstock.app import Penstock
from penstock.cli.output import GLYPH, STYLE, console, counted, print_table
from penstock.engine import DeadFilter, JobFilter
from penstock.model.job import Job
from penstock.model.states import State
from penstock.opening import open_engine
from penstock.ops import Ops
from penstock.runtime.supervisor import Supervisor, SupervisorOptions
from penstock.tasks.loading import load_app

TASKS = "penstock.cli.demo_tasks:app"
SLOTS = 10
PATIENCE = 25.0  # seconds after which the demo ends whatever is left


def run() -> int:
    """The exit code."""
    logging.getLogger("penstock").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder:
        os.environ["PENSTOCK_URL"] = f"sqlite:///{Path(folder, 'demo.db')}"
        return asyncio.run(_run())


@dataclass
class Watched:
    """What the screen shows; read anew several times a second."""

    began: float = field(default_factory=time.monotonic)
    counts: Counter[State] = field(default_factory=Counter)
    running: list[Job] = field(default_factory=list)

    @property
    def left(self) -> int:
        return sum(n for state, n in self.counts.items() if not state.finished)

    async def look(self, ops: Ops) -> None:
        held: Counter[State] = Counter()
        for row in await ops.queues():
            held.update(row.counts)
        self.counts = as_seen(held)
        self.running = await ops.jobs(JobFilter(task="render_invoice", state=State.ACTIVE), 8)


def as_seen(counts: Counter[State]) -> Counter[State]:
    """What a worker claimed ahead of its slots is active to the engine; to people it waits for a slot."""
    ahead = max(0, counts[State.ACTIVE] - SLOTS)
    return counts + Counter({State.WAITING: ahead}) - Counter({State.ACTIVE: ahead})


async def _run() -> int:
    app: Penstock = load_app(TASKS)
    async with app:
        total = await _enqueue(app)
        console.print(
            f"Enqueued {total} jobs on SQLite. One supervisor, one worker process, {SLOTS} slots.\n"
        )
        supervisor = Supervisor(
            SupervisorOptions(app_ref=TASKS, wishes={"slots": SLOTS, "grace": 2.0}, log_level="CRITICAL"),
            open_engine,
        )
        working = asyncio.create_task(supervisor.run())
        watched = Watched()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await _watch(app.ops, watched)
        supervisor.stop()
        await working
        await _summary(app.ops, watched)
        return 0 if watched.left == 0 else 1


async def _enqueue(app: Penstock) -> int:
    from penstock.cli import demo_tasks as shop  # noqa: PLC0415 - its app reads the URL set above

    calls: list[Any] = [shop.send_receipt.call(order_id=n, to=f"user{n}@example.com") for n in range(300)]
    calls += [shop.render_invoice.call(order_id=n, pages=12 + n) for n in range(8)]
    calls += [shop.sync_customer.call(customer=n) for n in range(12)]
    calls += [shop.charge_card.call(order_id=41), shop.parse_upload.call(path="broken.pdf")]
    return len(await app.aenqueue_many(calls))


async def _watch(ops: Ops, watched: Watched) -> None:
    await watched.look(ops)
    if not console.is_terminal:
        await _watch_quietly(ops, watched)
        return
    with Live(_screen(watched), console=console, refresh_per_second=10, transient=True) as live:
        while watched.left:
            await asyncio.sleep(0.1)
            await watched.look(ops)
            live.update(_screen(watched))


async def _watch_quietly(ops: Ops, watched: Watched) -> None:
    told = 0.0
    while watched.left:
        if time.monotonic() - told >= 1.0:
            told = time.monotonic()
            console.print(
                "  ".join(f"{watched.counts[s]} {s}" for s in State if watched.counts[s]), highlight=False
            )
        await asyncio.sleep(0.1)
        await watched.look(ops)


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


async def _summary(ops: Ops, watched: Watched) -> None:
    jobs = [job async for job in _all(ops)]
    rows = []
    for task in sorted({job.task for job in jobs}):
        mine = [job for job in jobs if job.task == task]
        done = sum(job.state is State.COMPLETED for job in mine)
        retried = sum(job.attempt > 1 for job in mine)
        dead = sum(job.state is State.FAILED for job in mine)
        rows.append((task, str(done), str(retried or ""), str(dead or "")))
    print_table(("task", "completed", "retried", "dead letter"), rows, "Nothing ran.")
    console.print("\nDead letters, kept for you with what went wrong:")
    for letter in await ops.dead_letters(DeadFilter()):
        what = (letter.error or {}).get("message", "")
        console.print(Text(f"  {letter.task}: {letter.reason} – {what}", style="red"))
    bystanders = sum(job.rescues > 0 and job.state is State.COMPLETED for job in jobs)
    console.print(
        f"\n{watched.counts[State.COMPLETED]} jobs completed in {time.monotonic() - watched.began:.1f} s. "
        f"{_crash(bystanders)}",
        highlight=False,
    )
    console.print("Next: the README shows your first task.", style="bright_black")


def _crash(bystanders: int) -> str:
    if not bystanders:
        return "The crash harmed no other job."
    return (
        f"The crash took {counted(bystanders, 'running neighbour')} with it, which ran again and completed."
    )


async def _all(ops: Ops) -> Any:
    after: str | None = None
    while page := await ops.jobs(JobFilter(), 200, after):
        for job in page:
            yield job
        after = page[-1].id
