"""Doing: retry, cancel, pause, resume, migrate."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from penstock.cli.common import AppOption, JsonOption, load, with_ops
from penstock.cli.output import console, print_json
from penstock.model.states import State


def register(app: typer.Typer) -> None:
    for command in (retry, cancel, pause, resume, migrate):
        app.command()(command)


def retry(job_id: str, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Run a job again now: a delayed one is made due, a failed one is recovered as a new job."""
    done = with_ops(app, lambda ops: ops.retry(job_id))
    if as_json:
        print_json(done._asdict())
    elif done.how == "recovered":
        console.print(f"Recovered as {done.job_id}")
    else:
        console.print("Due now.")


def cancel(
    job_id: str,
    app: AppOption = None,
    reason: Annotated[str, typer.Option(help="Kept with the job")] = "cancelled by an operator",
    as_json: JsonOption = False,
) -> None:
    """Cancel a job; one that is running is asked to stop."""
    done = with_ops(app, lambda ops: ops.cancel(job_id, reason))
    if as_json:
        print_json(done._asdict())
    elif done.state is State.ACTIVE:
        console.print("It is running: its worker was asked to stop it.")
    else:
        console.print("Cancelled.")


def pause(queue: str, app: AppOption = None) -> None:
    """Stop claims from a queue, for every worker. What runs goes on."""
    with_ops(app, lambda ops: ops.pause(queue))
    console.print(f"Queue {queue} is paused. Resume it with: penstock resume {queue}", highlight=False)


def resume(queue: str, app: AppOption = None) -> None:
    """Allow claims from a paused queue again."""
    with_ops(app, lambda ops: ops.resume(queue))
    console.print(f"Queue {queue} is running.", highlight=False)


def migrate(app: AppOption = None, as_json: JsonOption = False) -> None:
    """Bring the database's schema up to date. Safe to run from many places at once."""
    penstock = load(app)
    applied = asyncio.run(penstock.migrate())
    if as_json:
        print_json({"applied": applied})
    else:
        console.print(f"Applied: {', '.join(applied)}" if applied else "Up to date.")
