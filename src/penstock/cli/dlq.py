"""Dead letters: list, show, recover, recover many."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, LimitOption, load, with_ops
from penstock.cli.inspect import duration
from penstock.cli.output import ago, console, dead_json, print_json, print_table
from penstock.engine import DeadFilter
from penstock.model.errors import InvalidOption
from penstock.model.job import DeadLetter
from penstock.ops import RECOVER_RATE

app = typer.Typer(help="Dead letters: jobs that could not be done.", no_args_is_help=False)

QueueOption = Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue")]
TaskOption = Annotated[str | None, typer.Option("--task", "-t", help="Only this task")]
ReasonOption = Annotated[str | None, typer.Option(help="Only this reason, such as exhausted or crash-loop")]
SinceOption = Annotated[str | None, typer.Option(help="Failed in the last 30s, 15m, 2h, 7d")]


@app.callback(invoke_without_command=True)
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_()


@app.command("list")
def list_(
    app_ref: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    reason: ReasonOption = None,
    since: SinceOption = None,
    recovered: Annotated[bool, typer.Option("--recovered", help="Those already recovered too")] = False,
    limit: LimitOption = 50,
    after: Annotated[str | None, typer.Option(help="The last id of the page before")] = None,
    as_json: JsonOption = False,
) -> None:
    """List dead letters, newest first."""
    where = _where(queue, task, reason, since, recovered=recovered)
    found = with_ops(app_ref, lambda ops: ops.dead_letters(where, limit, after))
    if as_json:
        print_json([dead_json(letter) for letter in found])
        return
    rows = [
        (d.job_id, d.task, d.queue, d.reason, f"{d.attempts}", ago(d.failed_at), _summary(d)) for d in found
    ]
    print_table(("job", "task", "queue", "reason", "attempts", "failed", "error"), rows, "No dead letters.")
    if found:
        console.print(
            "Recover one: penstock dlq recover ID   all of a task: penstock dlq recover-all -t TASK"
        )


@app.command()
def show(job_id: str, app_ref: AppOption = None, as_json: JsonOption = False) -> None:
    """Show one dead letter: the job, what went wrong, what became of it."""
    letter = with_ops(app_ref, lambda ops: ops.dead_letter(job_id))
    if as_json:
        print_json(dead_json(letter))
        return
    console.print(Text.assemble((letter.task, "bold"), f"  {letter.queue}  ", (letter.reason, "red")))
    for name, value in _facts(letter).items():
        console.print(Text(f"  {name:<15}{value}"))
    if letter.error:
        console.print(Text(f"\n  {_summary(letter)}", style="red"))
        for line in (letter.error.get("traceback") or "").splitlines():
            console.print(Text(f"    {line}", style="bright_black"))


@app.command()
def recover(
    job_id: str,
    app_ref: AppOption = None,
    args: Annotated[str | None, typer.Option(help="New arguments, as a JSON object")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a new job of a dead letter, with its attempts reset. Doing it twice makes one job."""
    payload = None if args is None else _object(args)
    new = with_ops(app_ref, lambda ops: ops.recover(job_id, payload))
    if as_json:
        print_json({"job_id": new, "recovered_from": job_id})
    else:
        console.print(f"Recovered as {new}")


@app.command("recover-all")
def recover_all(
    app_ref: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    reason: ReasonOption = None,
    since: SinceOption = None,
    rate: Annotated[float, typer.Option(help="Jobs per second at which they come back")] = RECOVER_RATE,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most so many")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    as_json: JsonOption = False,
) -> None:
    """Recover every dead letter that matches, spread over time. Safe to interrupt and repeat."""
    where = _where(queue, task, reason, since)
    if where == DeadFilter() and not yes:
        typer.confirm("Recover every dead letter there is?", abort=True)
    ids = asyncio.run(_recover_all(app_ref, where, rate, limit))
    if as_json:
        print_json({"recovered": len(ids), "job_ids": ids})
    else:
        console.print(f"Recovered {len(ids)} jobs, coming back at {rate:g} per second.", highlight=False)


async def _recover_all(ref: str | None, where: DeadFilter, rate: float, limit: int | None) -> list[str]:
    penstock = load(ref)
    async with penstock:
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task("Recovering", total=None)
            ids = []
            async for new in penstock.ops.recover_all(where, rate=rate, limit=limit):
                ids.append(new)
                progress.advance(bar)
            return ids


def _where(
    queue: str | None, task: str | None, reason: str | None, since: str | None, *, recovered: bool = False
) -> DeadFilter:
    start = None if since is None else datetime.now(UTC) - duration(since)
    return DeadFilter(queue=queue, task=task, reason=reason, since=start, recovered=recovered)


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
        "arguments": json.dumps(letter.args, ensure_ascii=False),
    }
    if letter.recovered_as:
        facts["recovered as"] = letter.recovered_as
    return facts


def _summary(letter: DeadLetter) -> str:
    error = letter.error or {}
    return f"{error.get('type', '?')}: {error.get('message', '')}"[:100]


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidOption(f"--args is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidOption("--args takes a JSON object, such as '{\"order_id\": 7}'")
    return value
