"""Doing: retry, promote, reschedule, cancel, pause, resume, reconcile, migrate."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from penstock.cli.common import AppOption, JsonOption, WhyOption, command, load, seconds, with_ops
from penstock.cli.output import ago, counted, job_json, print_json, recovered_text, say
from penstock.model.states import State


def register(app: typer.Typer) -> None:
    for verb in (retry, promote, reschedule, cancel, pause, resume, reconcile, migrate):
        app.command(rich_help_panel="Act")(verb)


def retry(job_id: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Run a job now: delayed, it is made due; failed, it is made anew."""
    done = with_ops(app, lambda ops: ops.retry(job_id), why)
    if as_json:
        print_json(done._asdict())
    elif done.how == "due now":
        say("Due now.")
    else:
        say(recovered_text(done.job_id, already=done.how != "recovered"))


def promote(job_id: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Make a delayed job due now."""
    job = with_ops(app, lambda ops: ops.promote(job_id), why)
    if as_json:
        print_json(job_json(job))
    else:
        say("Due now.")


def reschedule(
    job_id: str,
    delay: Annotated[str, typer.Option("--in", help="When it is to be due: 60, 30s, 15m, 2h, 7d")],
    app: AppOption = None,
    why: WhyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a waiting or delayed job another due time.

    Its expiry moves with it.
    """
    job = with_ops(app, lambda ops: ops.reschedule(job_id, seconds(delay)), why)
    if as_json:
        print_json(job_json(job))
    else:
        say(f"Due {job.due_at:%Y-%m-%d %H:%M:%S} UTC ({ago(job.due_at)}).")


def cancel(
    job_id: str,
    app: AppOption = None,
    reason: Annotated[
        str, typer.Option(help="Kept with the job, and in the audit log")
    ] = "cancelled by an operator",
    flow: Annotated[bool, typer.Option("--flow", help="The id is a flow's: cancel all its jobs")] = False,
    as_json: JsonOption = False,
) -> None:
    """Cancel a job, or a whole flow; what is running is asked to stop."""
    if flow:
        _cancel_flow(job_id, app, reason, as_json=as_json)
        return
    done = with_ops(app, lambda ops: ops.cancel(job_id, reason))
    if as_json:
        print_json(done._asdict())
    elif done.state is State.ACTIVE:
        say(f"It is running: its worker was asked to stop it. Look again: {command(f'job {job_id}', app)}")
    else:
        say("Cancelled.")


def _cancel_flow(flow_id: str, app: str | None, reason: str, *, as_json: bool) -> None:
    done = with_ops(app, lambda ops: ops.flows.cancel(flow_id, reason))
    if as_json:
        print_json(done._asdict())
        return
    say(f"{counted(done.cancelled, 'job')} cancelled.")
    if done.stopping:
        say(
            f"{counted(done.stopping, 'job')} running: the workers were asked to stop. "
            f"Look again: {command(f'flow {flow_id}', app)}"
        )


def pause(queue: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Stop claims from a queue; what runs goes on."""
    with_ops(app, lambda ops: ops.pause(queue), why)
    if as_json:
        print_json({"queue": queue, "paused": True})
    else:
        say(f"Queue {queue} is paused. Resume it with: {command(f'resume {queue}', app)}")


def resume(queue: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Allow claims from a paused queue again."""
    with_ops(app, lambda ops: ops.resume(queue), why)
    if as_json:
        print_json({"queue": queue, "paused": False})
    else:
        say(f"Queue {queue} is not paused: workers that serve it may claim from it.")


def reconcile(app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Repair what a crash or a flushed Redis has left."""
    done = with_ops(app, lambda ops: ops.reconcile(), why)
    if as_json:
        print_json({"dispatched": done.dispatched, "restored": done.restored, "ended": done.ended})
    elif not done.repairs:
        say("The ledger and Redis agree.")
    else:
        say(f"{counted(done.dispatched, 'job')} dispatched that Redis had not been given.")
        say(f"{counted(done.restored, 'job')} dispatched again that Redis had lost.")
        say(f"{counted(done.ended, 'end')} written that only Redis knew of.")


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
