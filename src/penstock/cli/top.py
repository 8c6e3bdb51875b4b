"""`penstock top`: a live view of queues, workers and what needs somebody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from penstock.app import Penstock
from penstock.cli.common import AppOption, JsonOption, command, load
from penstock.cli.health import GLYPH, QUEUE_STYLE, STYLE, WORKER_STYLE
from penstock.cli.layout import Layout
from penstock.cli.output import cell, console, print_json, room
from penstock.health import Health, Problem, QueueHealth, WorkerHealth
from penstock.model.job import Job
from penstock.model.spans import span
from penstock.overview import Overview

SHOWN = 20  # queues, workers and problems each, at most
RUNS_SHOWN = 4  # jobs of one worker


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(top)


def top(
    app: AppOption = None,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Show one frame and end")] = False,
    as_json: JsonOption = False,
) -> None:
    """Watch queues, workers and what needs somebody; Ctrl-C ends it.

    Where there is no terminal, and with --json, one frame is shown.
    """
    penstock = load(app)
    if not once and not as_json and console.is_terminal:
        asyncio.run(_watch(penstock, every, app))
        return
    found = asyncio.run(_look_once(penstock))
    if as_json:
        print_json(_as_json(found))
        return
    for line in frame(found, room(), app):
        console.print(line, soft_wrap=True, highlight=False)


async def _look_once(app: Penstock) -> Overview:
    async with app:
        return await app.ops.overview()


async def _watch(app: Penstock, every: float, ref: str | None) -> None:
    from rich.live import Live  # noqa: PLC0415 - slow to load

    async with app:
        ops = app.ops
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                lines = frame(await ops.overview(), console.width, ref)
                live.update(Group(*lines), refresh=True)
                await asyncio.sleep(every)


# -- a frame --------------------------------------------------------------------------------------------
def frame(found: Overview, width: int | None, ref: str | None) -> Iterator[Text]:
    """All that is shown at once, as lines."""
    health = found.health
    yield _head(health)
    if health.engine_error is None:
        queues = sorted(health.queues, key=lambda queue: (-queue.waiting - queue.active, queue.queue))
        yield Text()
        names = ("queue", "status", "waiting", "active", "delayed", "done/min", "errors", "oldest", "")
        yield from _table(names, [_queue(q) for q in queues], width, "No queue has been used yet.")
        yield Text()
        workers = sorted(health.workers, key=lambda worker: (-worker.processing, worker.name))
        rows = [_worker(w, found.running.get(w.id, ()), health) for w in workers]
        nobody = f"No workers. Start one with: {command('worker', ref)}"
        yield from _table(("worker", "status", "busy", "runs"), rows, width, nobody)
    yield Text()
    yield from _attention(found.attention, width, ref)


def _head(health: Health) -> Text:
    running = sum(worker.processing for worker in health.workers)
    slots = sum(worker.concurrency for worker in health.workers)
    told = f"  {health.checked_at:%H:%M:%S} UTC"
    if health.engine_error is None:
        waiting = sum(queue.waiting for queue in health.queues)
        done = sum(queue.throughput for queue in health.queues)
        told += f"  {waiting:,} waiting  {running:,}/{slots:,} slots busy  {done:,.0f} done/min"
    return Text.assemble((f"{GLYPH[health.status]} {health.status}", f"bold {STYLE[health.status]}"), told)


def _table(
    names: Sequence[str], rows: Sequence[Sequence[str | Text]], width: int | None, empty: str
) -> Iterator[Text]:
    if not rows:
        yield Text(empty, style="bright_black")
        return
    cells = [[cell(each) for each in row] for row in rows[:SHOWN]]
    layout = Layout([Text(name, style="bold") for name in names], cells, width)
    for spare in ("delayed", "errors", "status"):
        layout.drop(spare)
    yield from layout.lines()
    if len(rows) > SHOWN:
        yield Text(f"and {len(rows) - SHOWN:,} more", style="bright_black")


def _queue(queue: QueueHealth) -> tuple[str | Text, ...]:
    notes = {"paused": queue.paused, f"{queue.parked:,} parked": queue.parked}
    numbers = (f"{queue.waiting:,}", f"{queue.active:,}", f"{queue.delayed:,}", f"{queue.throughput:,.0f}")
    return (
        queue.queue,
        Text(queue.status, style=QUEUE_STYLE[queue.status]),
        *map(_right, numbers),
        _right(f"{100 * queue.error_rate:.0f} %"),
        _right("" if queue.oldest_age is None else span(queue.oldest_age)),
        Text(", ".join(note for note, holds in notes.items() if holds), style="yellow"),
    )


def _right(text: str) -> Text:
    return Text(text, justify="right")


def _worker(worker: WorkerHealth, jobs: Sequence[Job], health: Health) -> tuple[str | Text, ...]:
    status = Text(worker.status, style=WORKER_STYLE[worker.status])
    busy = _right(f"{worker.processing}/{worker.concurrency}")
    runs = ", ".join(_run(job, health) for job in jobs[:RUNS_SHOWN])
    more = f", and {worker.processing - RUNS_SHOWN:,} more" if worker.processing > RUNS_SHOWN else ""
    return worker.name, status, busy, Text(runs + more if runs else "", style="blue")


def _run(job: Job, health: Health) -> str:
    since = job.claimed_at
    lasts = "" if since is None else f" {span(max(0.0, (health.checked_at - since).total_seconds()))}"
    percent = (job.progress or {}).get("percent")
    return f"{job.task}{lasts}" + (f" ({percent:g} %)" if percent is not None else "")


def _attention(problems: Sequence[Problem], width: int | None, ref: str | None) -> Iterator[Text]:
    if not problems:
        yield Text("Nothing needs attention.", style="green")
        return
    yield Text("needs attention", style="bold")
    rows = [(_problem(problem), Text(_next(problem, ref), style="cyan")) for problem in problems[:SHOWN]]
    wide = max(text.cell_len for text, _ in rows)
    for text, words in rows:
        if width is not None and wide + 2 + words.cell_len > width:
            yield _cut(text, width)
            yield _cut(Text("    ").append_text(words), width)
        else:
            yield text.append(" " * (wide + 2 - text.cell_len)).append_text(words)


def _problem(problem: Problem) -> Text:
    glyph = GLYPH[problem.status] if problem.status.badness else "·"
    return cell(Text(f"{glyph} {problem.text}", STYLE[problem.status]))


def _next(problem: Problem, ref: str | None) -> str:
    return "" if problem.next is None else f"→ {command(problem.next, ref)}"


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text


def _as_json(found: Overview) -> dict[str, Any]:
    return {
        **found.health.as_dict(),
        "running": {
            worker: [
                {
                    "id": job.id,
                    "task": job.task,
                    "queue": job.queue,
                    "since": job.claimed_at,
                    "progress": job.progress,
                }
                for job in jobs
            ]
            for worker, jobs in found.running.items()
        },
        "attention": [
            {"status": status.value, "text": text, "next": words and f"penstock {words}"}
            for status, text, words in found.attention
        ],
    }
