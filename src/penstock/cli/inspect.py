"""Looking: jobs, one job, queues, workers, tasks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from penstock.cli import common
from penstock.cli.common import (
    AfterOption,
    AppOption,
    JsonOption,
    LimitOption,
    QueueOption,
    TaskOption,
    load,
    with_ops,
)
from penstock.cli.output import (
    STYLE,
    ago,
    console,
    job_json,
    print_json,
    print_table,
    say,
    show_places,
    state_text,
)
from penstock.engine import JobFilter
from penstock.model.job import Job
from penstock.model.states import State
from penstock.ops import QueueRow
from penstock.tasks.catalogue import to_json, to_markdown

PANEL = "Look"


def register(app: typer.Typer) -> None:
    for command in (jobs, job, queues, workers, tasks):
        app.command(rich_help_panel=PANEL)(command)


def jobs(
    app: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    state: Annotated[State | None, typer.Option("--state", "-s", help="Only this state")] = None,
    owner: Annotated[str | None, typer.Option(help="Only this owner's")] = None,
    key: Annotated[str | None, typer.Option(help="Only this idempotency key")] = None,
    since: Annotated[str | None, typer.Option(help="Created in the last 30s, 15m, 2h, 7d")] = None,
    parked: Annotated[
        bool, typer.Option("--parked", help="Only what waits for a worker that can run it")
    ] = False,
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
    found = with_ops(app, lambda ops: ops.jobs(where, limit, after))
    if as_json:
        print_json([job_json(j) for j in found])
        return
    print_table(
        ("id", "state", "task", "queue", "attempt", "created", "note"),
        [_job_row(j) for j in found],
        _no_jobs(where),
        spare=("queue", "created", "attempt"),
    )
    if len(found) == limit:
        say(f"More: add --after {found[-1].id}", "bright_black")


def job(job_id: str, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Show everything known of one job."""
    found = with_ops(app, lambda ops: ops.job(job_id))
    if as_json:
        print_json(job_json(found))
        return
    _show(found)


def queues(app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the queues with their counts."""
    rows = with_ops(app, lambda ops: ops.queues())
    if as_json:
        print_json(
            [{"queue": r.name, "declared": r.declared, "paused": r.paused, **_counts(r.counts)} for r in rows]
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


def workers(app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the worker processes."""
    found = with_ops(app, lambda ops: ops.workers())
    if as_json:
        print_json(found)
        return
    rows = [
        (
            w.name,
            Text("alive", style="green") if w.alive else Text("lost", style="red"),
            f"{w.active}/{w.slots}",
            ago(w.started_at),
            w.id,
            ", ".join(w.queues),
        )
        for w in found
    ]
    print_table(
        ("worker", "state", "busy", "started", "id", "queues"),
        rows,
        "No workers. Start one with: penstock worker --app module:app",
        spare=("started",),
    )


def tasks(
    app: AppOption = None,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table")] = False,
) -> None:
    """Print the catalogue of registered tasks."""
    catalogue = load(app).registry.catalogue()
    if as_json:
        print(to_json(catalogue))
        return
    if markdown:
        print(to_markdown(catalogue), end="")
        return
    names = ("name", "queue", "priority", "timeout", "execute", "retry", "description")
    rows = [[_cell(row[name]) for name in names] for row in catalogue]
    print_table(
        names,
        rows,
        "No tasks are registered. Put @app.task on a function, and import its module where the app is made.",
        spare=("priority", "execute"),
    )


def _no_jobs(where: JobFilter) -> str:
    if where == JobFilter():
        return "No jobs yet. Put one in from Python: TASK.enqueue(…); `penstock tasks` lists the tasks."
    return "No jobs match. `penstock jobs` without options lists all."


def _queue_note(row: QueueRow) -> str:
    notes = ["paused"] * row.paused + ["not declared here"] * (not row.declared)
    return ", ".join(notes)


def _cell(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:g} s" if isinstance(value, int | float) else str(value)


def _counts(counts: Mapping[State, int]) -> dict[str, int]:
    return {str(s): counts.get(s, 0) for s in State}


def _job_row(job: Job) -> tuple[str | Text, ...]:
    attempt = f"{job.attempt}/{job.max_attempts}"
    return job.id, state_text(job.state), job.task, job.queue, attempt, ago(job.created_at), _remark(job)


def _remark(job: Job) -> str:
    if job.state is State.ACTIVE and job.progress:
        return f"{job.progress.get('percent', 0):g} % {job.progress.get('message', '')}".strip()
    if job.errors and job.state is not State.COMPLETED:
        last = job.errors[-1]
        return f"{last['type']}: {last['message']}"
    return job.note or ""


def _show(job: Job) -> None:
    console.print(
        Text.assemble((job.task, "bold"), "  ", state_text(job.state), f"  {job.queue}"), soft_wrap=True
    )
    facts = [
        ("id", job.id),
        ("key", job.key),
        ("owner", job.owner),
        ("priority", job.priority.name.lower()),
        ("attempt", f"{job.attempt} of {job.max_attempts}"),
        ("created", _when(job.created_at)),
        ("due", _when(job.due_at) if job.state is State.DELAYED else None),
        ("started", _when(job.started_at)),
        ("finished", _when(job.finished_at)),
        ("ran for", f"{job.ran_for:.3f} s" if job.ran_for else None),
        ("worker", job.worker if job.state is State.ACTIVE else None),
        ("note", job.note),
        ("suspect", f"runs alone; {job.crashes} crashes" if job.suspect else None),
        ("recovered from", job.recovered_from),
        ("recovered as", job.recovered_as),
        ("arguments", job.args_json),
        ("result", None if job.result_json is None else job.result_json),
    ]
    for name, value in facts:
        if value is not None:
            say(f"  {name:<15}{value}")
    for error in job.errors:
        say(f"\n  attempt {error['attempt']}: {error['type']}: {error['message']}", "red")
        show_places(error)
    if next_step := _next_step(job):
        say(f"\n  {next_step}", "bright_black")


def _next_step(job: Job) -> str | None:
    if job.state is State.FAILED and job.recovered_as is None:
        return f"Run it again: penstock retry {job.id}"
    if job.state is State.DELAYED:
        return f"Run it now: penstock retry {job.id}"
    if job.parked:
        return "It is parked until a worker comes that can run it; the note says what is missing."
    return None


def _when(when: datetime | None) -> str | None:
    return None if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC ({ago(when)})"
