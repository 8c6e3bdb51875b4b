"""Workers: which there are; telling one to be quiet, to go on, or to stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, command, with_ops
from penstock.cli.output import ago, print_json, print_table, say
from penstock.engine import Order, WorkerInfo

app = typer.Typer(no_args_is_help=False)
HELP = "List the worker processes; make one quiet, or stop it."

WorkerArgument = Annotated[str, typer.Argument(help="Its id, or its name")]
ReasonOption = Annotated[str | None, typer.Option(help="Kept in the audit log")]


@app.callback(invoke_without_command=True)
@app.command("list")
def list_(context: typer.Context, app_ref: AppOption = None, as_json: JsonOption = False) -> None:
    """List the worker processes."""
    if context.invoked_subcommand is not None:
        return
    found = with_ops(app_ref, lambda ops: ops.workers())
    if as_json:
        print_json(found)
        return
    print_table(
        ("worker", "state", "busy", "memory", "started", "id", "queues"),
        [_row(worker) for worker in found],
        f"No workers. Start one with: {command('worker', app_ref)}",
        spare=("started", "memory"),
    )


def _row(worker: WorkerInfo) -> tuple[str | Text, ...]:
    return (
        worker.name,
        _state(worker),
        _busy(worker),
        "" if worker.memory is None else f"{worker.memory / 2**20:,.0f} MiB",
        ago(worker.started_at),
        worker.id,
        ", ".join(worker.queues),
    )


def _state(worker: WorkerInfo) -> Text:
    if not worker.alive:
        return Text("lost", style="red")
    if worker.order is None:
        return Text("alive", style="green")
    return Text("stopping" if worker.order is Order.STOP else "quiet", style="yellow")


def _busy(worker: WorkerInfo) -> str:
    """How many slots are taken; what it holds beyond them was claimed ahead and has not begun."""
    ahead = max(0, worker.active - worker.slots)
    return f"{worker.active - ahead}/{worker.slots}" + (f" +{ahead} ahead" if ahead else "")


@app.command()
def quiet(
    worker: WorkerArgument,
    app_ref: AppOption = None,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a worker claim nothing more; what it runs goes on."""
    told = _ordered(worker, Order.QUIET, app_ref, reason)
    go_on = command(f"workers resume {worker}", app_ref)
    _tell(told, f"Worker {told.name} claims nothing more. It goes on with: {go_on}", as_json=as_json)


@app.command()
def resume(
    worker: WorkerArgument,
    app_ref: AppOption = None,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a quiet worker claim again."""
    told = _ordered(worker, None, app_ref, reason)
    _tell(told, f"Worker {told.name} claims again.", as_json=as_json)


@app.command()
def stop(
    worker: WorkerArgument,
    app_ref: AppOption = None,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a worker finish what it runs, and end; no other is started in its place."""
    told = _ordered(worker, Order.STOP, app_ref, reason)
    _tell(
        told, f"Worker {told.name} ends when what it runs has, or its grace period is over.", as_json=as_json
    )


def _ordered(worker: str, order: Order | None, app_ref: str | None, reason: str | None) -> WorkerInfo:
    found = with_ops(app_ref, lambda ops: ops.workforce.order(worker, order, reason))
    return replace(found, order=order)


def _tell(told: WorkerInfo, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(told)
    else:
        say(words)
