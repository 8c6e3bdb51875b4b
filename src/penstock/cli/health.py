"""`penstock health`: is all well? For people, and for what watches by exit codes."""

from __future__ import annotations

import asyncio
import sys

import typer
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, command, load
from penstock.cli.output import console, counted, print_json, print_table, say
from penstock.health import (
    Health,
    QueueHealth,
    QueueStatus,
    Status,
    WorkerHealth,
    WorkerStatus,
)
from penstock.model.spans import span

EXIT = {Status.HEALTHY: 0, Status.DEGRADED: 1, Status.UNHEALTHY: 2}
STYLE = {Status.HEALTHY: "green", Status.DEGRADED: "yellow", Status.UNHEALTHY: "red"}
GLYPH = {Status.HEALTHY: "✓", Status.DEGRADED: "!", Status.UNHEALTHY: "✕"}
QUEUE_STYLE = {QueueStatus.OK: "green", QueueStatus.BACKLOGGED: "yellow", QueueStatus.STALLED: "red"}
WORKER_STYLE = {WorkerStatus.RUNNING: "green", WorkerStatus.PAUSED: "yellow", WorkerStatus.DOWN: "red"}


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(health)


def health(app: AppOption = None, as_json: JsonOption = False) -> None:
    """Tell whether all is well, judged by what moves.

    Ends with 0 where it is healthy, 1 degraded, 2 unhealthy; also with 2 where the engine cannot be reached.
    """
    found = asyncio.run(load(app).health())
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found, app)
    sys.exit(EXIT[found.status])


def _show(found: Health, ref: str | None) -> None:
    head = (f"{GLYPH[found.status]} {found.status}", f"bold {STYLE[found.status]}")
    took = "" if found.answered_in is None else f", the engine answered in {1_000 * found.answered_in:.0f} ms"
    console.print(
        Text.assemble(head, f"  checked {found.checked_at:%Y-%m-%d %H:%M:%S} UTC{took}"), soft_wrap=True
    )
    for problem in found.problems:
        say(f"\n  {GLYPH[problem.status]} {problem.text}", STYLE[problem.status])
        if problem.next is not None:
            say(f"    → {command(problem.next, ref)}", "cyan")
    if found.engine_error is not None:
        return
    say("")
    print_table(
        ("queue", "status", "waiting", "active", "errors", "oldest", ""),
        [_queue(queue) for queue in found.queues],
        "No queue has been used yet.",
    )
    say("")
    print_table(
        ("worker", "status", "busy", "queues"),
        [_worker(worker) for worker in found.workers],
        "No workers.",
    )
    say("")
    say(counted(found.dead_letters, "dead letter"), "bright_black" if not found.dead_letters else "")


def _queue(queue: QueueHealth) -> tuple[str | Text, ...]:
    notes = {"paused": queue.paused, f"{queue.parked:,} parked": queue.parked}
    return (
        queue.queue,
        Text(queue.status, style=QUEUE_STYLE[queue.status]),
        _number(f"{queue.waiting:,}"),
        _number(f"{queue.active:,}"),
        _number(f"{100 * queue.error_rate:.0f} %"),
        _number("" if queue.oldest_age is None else span(queue.oldest_age)),
        ", ".join(note for note, holds in notes.items() if holds),
    )


def _number(text: str) -> Text:
    return Text(text, justify="right")


def _worker(worker: WorkerHealth) -> tuple[str | Text, ...]:
    status = Text(worker.status, style=WORKER_STYLE[worker.status])
    return worker.name, status, f"{worker.processing}/{worker.concurrency}", ", ".join(worker.queues)
