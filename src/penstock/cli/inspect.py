"""Looking: jobs, one job, queues, tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

from penstock.cli import common, story
from penstock.cli.common import (
    AfterOption,
    AppOption,
    ArgOption,
    CreatedOption,
    JsonOption,
    KeyOption,
    LimitOption,
    OwnerOption,
    QueueOption,
    StateOption,
    TagOption,
    TaskOption,
    command,
    load,
    with_ops,
)
from penstock.cli.output import (
    STYLE,
    ago,
    dead_json,
    hint,
    job_json,
    listed,
    print_json,
    print_plain,
    print_table,
    progress_text,
    record_json,
    say,
    state_text,
)
from penstock.engine import HistoryFilter, JobFilter
from penstock.model.job import Job
from penstock.model.record import Record
from penstock.model.states import State, Status
from penstock.model.values import readable
from penstock.ops import Ops, QueueRow
from penstock.searching import Fit
from penstock.tasks.catalogue import to_json, to_markdown

PANEL = "Look"


class Ended(StrEnum):
    """How a job can have ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def register(app: typer.Typer) -> None:
    for verb in (jobs, job, history, queues, tasks):
        app.command(rich_help_panel=PANEL)(verb)


def jobs(
    app: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    state: StateOption = None,
    owner: OwnerOption = None,
    key: KeyOption = None,
    since: CreatedOption = None,
    parked: Annotated[
        bool, typer.Option("--parked", help="Only what waits for a worker that can run it")
    ] = False,
    tag: TagOption = None,
    arg: ArgOption = None,
    limit: LimitOption = 50,
    after: AfterOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first."""
    where = JobFilter(
        queue=queue,
        task=task,
        state=state,
        owner=owner,
        key=key,
        since=common.since(since),
        parked=True if parked else None,
    )
    found, more = with_ops(
        app, lambda ops: _found(ops, where, Fit(common.pairs("--arg", arg or ()), tag), limit, after)
    )
    if as_json:
        print_json([job_json(j) for j in found])
        if (arg or tag) and more:
            hint(f"More may match: add --after {more}")
        return
    print_table(
        ("id", "state", "task", "queue", "attempt", "created", "note"),
        [_job_row(j) for j in found],
        _no_jobs(where, app) if not (arg or tag) else "None found yet." if more else "No jobs match.",
        spare=("queue", "created", "attempt"),
    )
    if more:
        say(f"There may be more: add --after {more}", "bright_black")


async def _found(
    ops: Ops, where: JobFilter, fit: Fit, limit: int, after: str | None
) -> tuple[Sequence[Job], str | None]:
    if fit:
        return await ops.search(where, fit, limit, after)
    found = await ops.jobs(where, limit, after)
    return found, found[-1].id if len(found) == limit else None


def job(job_id: str, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Show everything known of one job."""
    found = with_ops(app, lambda ops: ops.told(job_id))
    if isinstance(found, Record):
        if as_json:
            print_json(record_json(found))
        else:
            story.show_record(found)
        return
    if as_json:
        letter = found.dead_letter
        steps = {name: readable(value) for name, value in found.steps.items()}
        dead = None if letter is None else dead_json(letter)
        print_json({**job_json(found.job), "steps": steps, "dead_letter": dead})
        return
    story.show(found, app)


def history(
    app: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    status: Annotated[
        Ended | None, typer.Option("--status", "-s", help="Only those that ended like this")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Only this owner's")] = None,
    key: Annotated[str | None, typer.Option(help="Only this idempotency key")] = None,
    since: Annotated[str | None, typer.Option(help="Created in the last 30s, 15m, 2h, 7d")] = None,
    limit: LimitOption = 50,
    after: AfterOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs that have ended, pruned or not."""
    where = HistoryFilter(
        queue=queue,
        task=task,
        status=None if status is None else Status(status.value),
        owner=owner,
        key=key,
        since=common.since(since),
    )
    found = with_ops(app, lambda ops: ops.history(where, limit, after))
    if as_json:
        print_json([record_json(r) for r in found])
        return
    print_table(
        ("id", "status", "task", "queue", "attempts", "finished", "error"),
        [_record_row(r) for r in found],
        "No job has ended that matches." if where != HistoryFilter() else "No job has ended yet.",
        spare=("queue", "finished", "attempts"),
    )
    if len(found) == limit:
        say(f"There may be more: add --after {found[-1].id}", "bright_black")


def queues(app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the queues with their counts."""
    rows = with_ops(app, lambda ops: ops.queues())
    if as_json:
        print_json(
            [
                {
                    "queue": r.name,
                    "declared": r.declared,
                    "paused": r.paused,
                    "parked": r.parked,
                    **_counts(r.counts),
                }
                for r in rows
            ]
        )
        return
    cells: list[tuple[str | Text, ...]] = [
        (
            r.name,
            *(Text(f"{r.counts.get(s, 0):,}", style=STYLE[s], justify="right") for s in State),
            _queue_note(r),
        )
        for r in rows
    ]
    print_table(("queue", *State, ""), cells, "No queues.", spare=("blocked",))


def tasks(
    app: AppOption = None,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table")] = False,
) -> None:
    """Print the catalogue of registered tasks."""
    catalogue = load(app).registry.catalogue()
    if as_json:
        print_plain(to_json(catalogue) + "\n")
        return
    if markdown:
        print_plain(to_markdown(catalogue))
        return
    names = ("name", "queue", "priority", "timeout", "execute", "retry")
    rows = [
        [*(_cell(row[name]) for name in names), _starts(row), _cell(row["description"])] for row in catalogue
    ]
    print_table(
        (*names, "schedule or event", "description"),
        rows,
        "No tasks are registered. Put @app.task on a function, and import its module where the app is made.",
        spare=("priority", "execute", "retry"),
    )


def _no_jobs(where: JobFilter, ref: str | None) -> str:
    if where == JobFilter():
        tasks = command("tasks", ref)
        return f"No jobs are kept here. Put one in from Python: TASK.enqueue(…); `{tasks}` lists the tasks."
    return f"No jobs match. All of them: {command('jobs', ref)}"


def _queue_note(row: QueueRow) -> str:
    notes = {
        "paused": row.paused,
        f"{row.parked:,} parked": row.parked,
        "not declared": not row.declared,
    }
    return ", ".join(note for note, holds in notes.items() if holds)


def _cell(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:g} s" if isinstance(value, int | float) else str(value)


def _starts(row: Mapping[str, Any]) -> str:
    """What makes its jobs besides calls: `nightly: 15 4 * * * UTC`, `on order.paid`."""
    event = () if row["on"] is None else (f"on {row['on']}",)
    return "; ".join((*row["schedules"], *event))


def _counts(counts: Mapping[State, int]) -> dict[str, int]:
    return {str(s): counts.get(s, 0) for s in State}


def _job_row(job: Job) -> tuple[str | Text, ...]:
    attempt = f"{job.attempt}/{job.max_attempts}"
    return job.id, state_text(job), job.task, job.queue, attempt, ago(job.created_at), _remark(job)


def _record_row(record: Record) -> tuple[str | Text, ...]:
    attempts = f"{record.attempts_made}/{record.max_attempts}"
    status = Text(record.status.value, style=STYLE[State(record.status.value)])
    told = record.id, status, record.job_type, record.queue_name, attempts, ago(record.finished_at)
    return (*told, record.error_message or "")


def _remark(job: Job) -> str:
    if job.state is State.ACTIVE and job.progress:
        return progress_text(job) or ""
    if job.errors and job.state is not State.COMPLETED:
        last = job.errors[-1]
        return f"{last['type']}: {last['message']}"
    if job.state is State.BLOCKED:
        return f"waits for {listed(job.blocked_by)}"
    return job.note or ""
