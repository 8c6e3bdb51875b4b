"""Dead letters: list, show, recover, recover many, remove."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import typer
from rich.text import Text

from penstock.bulk import RECOVER_RATE, told
from penstock.cli import common
from penstock.cli.common import (
    AfterOption,
    AppOption,
    JsonOption,
    LimitOption,
    QueueOption,
    TaskOption,
    WhyOption,
    actor,
    command,
    load,
    with_ops,
)
from penstock.cli.output import (
    ago,
    console,
    counted,
    dead_json,
    errors,
    hint,
    print_json,
    print_table,
    recovered_text,
    say,
    show_places,
)
from penstock.engine import DeadFilter
from penstock.model.errors import InvalidOption
from penstock.model.job import DeadLetter

app = typer.Typer(no_args_is_help=False)
HELP = "List, recover and remove dead letters, jobs that failed."

FailedAsOption = Annotated[str | None, typer.Option(help="Only this reason, such as exhausted or crash-loop")]
SinceOption = Annotated[str | None, typer.Option(help="Failed in the last 30s, 15m, 2h, 7d")]


@app.callback(invoke_without_command=True)
@app.command("list")
def list_(
    context: typer.Context,
    app_ref: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    failed_as: FailedAsOption = None,
    since: SinceOption = None,
    recovered: Annotated[bool, typer.Option("--recovered", help="Those already recovered too")] = False,
    limit: LimitOption = 50,
    after: AfterOption = None,
    as_json: JsonOption = False,
) -> None:
    """List dead letters, newest first. `penstock dlq` alone does the same."""
    if context.invoked_subcommand is not None:
        _refuse_options_before(context)
        return
    where = _where(queue, task, failed_as, since, recovered=recovered)
    found = with_ops(app_ref, lambda ops: ops.dead_letters(where, limit, after))
    if as_json:
        print_json([dead_json(letter) for letter in found])
        return
    print_table(
        ("job", "task", "reason", "queue", "attempts", "failed", "error"),
        [_row(letter) for letter in found],
        _nothing(where, app_ref),
        spare=("queue", "attempts", "failed"),
    )
    if len(found) == limit:
        say(f"There may be more: add --after {found[-1].job_id}", "bright_black")
    if found:
        say(f"One: {command('dlq show ID', app_ref)}", "bright_black")
    if any(letter.recovered_as is None for letter in found):
        say(f"Run it again: {command('dlq recover ID', app_ref)}", "bright_black")
        say(f"All of a task: {command('dlq recover-all -t TASK', app_ref)}", "bright_black")


def _refuse_options_before(context: typer.Context) -> None:
    """`dlq -t x recover-all` must not recover everything because the option stood in the wrong place."""
    given = (context.get_parameter_source(name) for name in context.params)
    if any(source is not None and source.name == "COMMANDLINE" for source in given):
        word = context.invoked_subcommand
        raise typer.BadParameter(f"options go after the command: penstock dlq {word} --option …")


def _nothing(where: DeadFilter, ref: str | None) -> str:
    if where == DeadFilter():
        return f"No dead letters. Those already recovered: {command('dlq --recovered', ref)}"
    if where == DeadFilter(recovered=True):
        return "No dead letters, recovered or not."
    return f"No dead letters match. All of them: {command('dlq --recovered', ref)}"


def _row(letter: DeadLetter) -> tuple[str, ...]:
    reason = letter.reason if letter.recovered_as is None else f"{letter.reason} (recovered)"
    failed = ago(letter.failed_at)
    return letter.job_id, letter.task, reason, letter.queue, f"{letter.attempts}", failed, _summary(letter)


@app.command()
def show(job_id: str, app_ref: AppOption = None, as_json: JsonOption = False) -> None:
    """Show one dead letter: the job, what went wrong, what became of it."""
    letter = with_ops(app_ref, lambda ops: ops.dead_letter(job_id))
    if as_json:
        print_json(dead_json(letter))
        return
    title = Text.assemble((letter.task, "bold"), f"  {letter.queue}  ", (letter.reason, "red"))
    console.print(title, soft_wrap=True)
    for name, value in _facts(letter).items():
        say(f"  {name:<15}{value}")
    if letter.error:
        say(f"\n  {_summary(letter)}", "red")
        show_places(letter.error)
    if letter.recovered_as is None:
        say(f"\n  Run it again: {command(f'dlq recover {letter.job_id}', app_ref)}", "bright_black")


@app.command()
def recover(
    job_id: str,
    app_ref: AppOption = None,
    args: Annotated[str | None, typer.Option(help="New arguments, as a JSON object")] = None,
    why: WhyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a new job of a dead letter, its attempts reset.

    Doing it twice makes one job.
    """
    payload = None if args is None else _object(args)
    new, already = with_ops(app_ref, lambda ops: ops.recover(job_id, payload), why)
    if as_json:
        print_json({"job_id": new, "recovered_from": job_id, "already": already})
    else:
        say(recovered_text(new, already=already))


@app.command("recover-all")
def recover_all(
    app_ref: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    failed_as: FailedAsOption = None,
    since: SinceOption = None,
    rate: Annotated[float, typer.Option(help="Jobs per second at which they come back")] = RECOVER_RATE,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most so many")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    why: WhyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recover every dead letter that matches, spread over time.

    Safe to interrupt and to repeat: what is recovered stays recovered.
    """
    where = _where(queue, task, failed_as, since)
    if where == DeadFilter() and not yes:
        which = (
            "every dead letter there is" if limit is None else counted(limit, "dead letter") + " of any task"
        )
        typer.confirm(f"Recover {which}? (--yes does not ask)", abort=True, err=True)
    ids = asyncio.run(_recover_all(app_ref, where, rate, limit, why))
    if as_json:
        print_json({"recovered": len(ids), "job_ids": ids})
    else:
        pace = f", due at {rate:g} per second" if len(ids) > 1 else ", due now"
        say(f"Recovered {counted(len(ids), 'job')}{pace}." if ids else _nothing(where, app_ref))


@app.command()
def purge(
    job_id: Annotated[str | None, typer.Argument(help="The job whose dead letter goes")] = None,
    app_ref: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    failed_as: FailedAsOption = None,
    since: SinceOption = None,
    count: Annotated[
        int | None, typer.Option(min=0, help="How many match, exactly; asked for where it is not given")
    ] = None,
    why: WhyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove one dead letter, or all that match.

    Their jobs cannot be recovered any more.
    """
    if job_id is not None:
        with_ops(app_ref, lambda ops: ops.purge(job_id), why)
        removed = 1
    else:
        where = _where(queue, task, failed_as, since)
        chosen = with_ops(app_ref, lambda ops: ops.bulk.chosen("purge", where))
        if count is None:
            tell = hint if as_json else say
            tell(f"{counted(len(chosen.ids), 'dead letter')} match: {told(where)}.")
            count = typer.prompt("How many are to be removed? Type the number", type=int, err=True)
        exactly = count
        removed = with_ops(app_ref, lambda ops: ops.bulk.purge(where, exactly, chosen.confirm), why)
    if as_json:
        print_json({"purged": removed})
    else:
        say(f"Removed {counted(removed, 'dead letter')}.")


async def _recover_all(
    ref: str | None, where: DeadFilter, rate: float, limit: int | None, why: str | None
) -> list[str]:
    penstock, who = load(ref), actor(why)
    async with penstock:
        from rich.progress import Progress  # noqa: PLC0415 - slow to load

        with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
            bar = progress.add_task("Recovering", total=None)
            ids = []
            async for new in penstock.ops_as(who).recover_all(where, rate=rate, limit=limit):
                ids.append(new)
                progress.advance(bar)
            return ids


def _where(
    queue: str | None, task: str | None, failed_as: str | None, since: str | None, *, recovered: bool = False
) -> DeadFilter:
    return DeadFilter(
        queue=queue, task=task, reason=failed_as, since=common.since(since), recovered=recovered
    )


def _facts(letter: DeadLetter) -> dict[str, str]:
    facts = {
        "job": letter.job_id,
        "key": letter.key,
        "attempts": f"{letter.attempts} of {letter.max_attempts}",
        "failed": f"{letter.failed_at:%Y-%m-%d %H:%M:%S} UTC ({ago(letter.failed_at)})",
        "first started": f"{letter.first_started_at:%Y-%m-%d %H:%M:%S} UTC"
        if letter.first_started_at
        else "never",
        "ran for": f"{letter.ran_for:.3f} s",
        "arguments": letter.args_json,
    }
    if letter.owner:
        facts["owner"] = letter.owner
    if letter.options_json:
        facts["options"] = letter.options_json
    if letter.recovered_as:
        facts["recovered"] = f"as {letter.recovered_as}, {ago(letter.recovered_at)}"
    return facts


def _summary(letter: DeadLetter) -> str:
    error = letter.error or {}
    return f"{error.get('type', '?')}: {error.get('message', '')}"


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidOption(f"--args is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidOption("--args takes a JSON object, such as '{\"order_id\": 7}'")
    return value
