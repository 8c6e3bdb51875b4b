"""Doing: retry, cancel, pause, resume, migrate."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from penstock.cli.common import AppOption, JsonOption, command, load, with_ops
from penstock.cli.output import print_json, recovered_text, say
from penstock.model.states import State


def register(app: typer.Typer) -> None:
    for verb in (retry, cancel, pause, resume, migrate):
        app.command(rich_help_panel="Act")(verb)


def retry(job_id: str, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Run a job now: a delayed one is made due, a failed one becomes a new job."""
    done = with_ops(app, lambda ops: ops.retry(job_id))
    if as_json:
        print_json(done._asdict())
    elif done.how == "due now":
        say("Due now.")
    else:
        say(recovered_text(done.job_id, already=done.how != "recovered"))


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
        say(f"It is running: its worker was asked to stop it. Look again: {command(f'job {job_id}', app)}")
    else:
        say("Cancelled.")


def pause(queue: str, app: AppOption = None) -> None:
    """Stop claims from a queue; what runs goes on."""
    with_ops(app, lambda ops: ops.pause(queue))
    say(f"Queue {queue} is paused. Resume it with: {command(f'resume {queue}', app)}")


def resume(queue: str, app: AppOption = None) -> None:
    """Allow claims from a paused queue again."""
    with_ops(app, lambda ops: ops.resume(queue))
    say(f"Queue {queue} is not paused: workers that serve it may claim from it.")


def migrate(app: AppOption = None, as_json: JsonOption = False) -> None:
    """Bring the database's schema up to date.

    Safe to run from many places at once, before or during a deploy.
    """
    penstock = load(app)
    applied = asyncio.run(penstock.migrate())
    if as_json:
        print_json({"applied": applied})
    else:
        say(f"Applied: {', '.join(applied)}" if applied else "Up to date.")
