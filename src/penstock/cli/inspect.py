"""Looking: jobs, one job, queues, workers, tasks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, LimitOption, load, with_ops
from penstock.cli.output import (
    STYLE,
    ago,
    console,
    job_json,
    print_json,
    print_table,
    state_text,
)
from penstock.engine import JobFilter
from penstock.model.errors import InvalidOption
from penstock.model.job import Job
from penstock.model.states import State
from penstock.tasks.catalogue import to_json, to_markdown

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def register(app: typer.Typer) -> None:
    for command in (jobs, job, queues, workers, tasks):
        app.command()(command)


def jobs(
    app: AppOption = None,
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue")] = None,
    task: Annotated[str | None, typer.Option("--task", "-t", help="Only this task")] = None,
    state: Annotated[State | None, typer.Option("--state", "-s", help="Only this state")] = None,
    owner: Annotated[str | None, typer.Option(help="Only this owner's")] = None,
    key: Annotated[str | None, typer.Option(help="Only this idempotency key")] = None,
    since: Annotated[str | None, typer.Option(help="Created in the last 30s, 15m, 2h, 7d")] = None,
    parked: Annotated[
        bool, typer.Option("--parked", help="Only what waits for a worker that can run it")
    ] = False,
    limit: LimitOption = 50,
    after: Annotated[str | None, typer.Option(help="The last id of the page before")] = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first."""
    where = JobFilter(
        queue=queue,
        task=task,
        state=state,
        owner=owner,
        key=key,
        since=None if since is None else datetime.now(UTC) - duration(since),
        parked=True if parked else None,
    )
    found = with_ops(app, lambda ops: ops.jobs(where, limit, after))
    if as_json:
        print_json([job_json(j) for j in found])
        return
    print_table(
        ("id", "state", "task", "queue", "attempt", "created", "note"),
        [_job_row(j) for j in found],
        "No jobs match.",
    )
    if len(found) == limit:
        console.print(f"More: add --after {found[-1].id}", style="bright_black")


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
            ("paused" if r.paused else "") + ("" if r.declared else " not declared"),
        )
        for r in rows
    ]
    print_table(("queue", *State, ""), cells, "No queues.")


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
            ", ".join(w.queues),
            ago(w.started_at),
            w.id,
        )
        for w in found
    ]
    print_table(
        ("worker", "state", "busy", "queues", "started", "id"),
        rows,
        "No workers. Start one with: penstock worker --app module:app",
    )


def tasks(
    app: AppOption = None,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table")] = False,
) -> None:
    """Print the catalogue of registered tasks."""
    catalogue = load(app).registry.catalogue()
    if as_json:
        console.print(to_json(catalogue), markup=False, highlight=False, soft_wrap=True)
        return
    if markdown:
        console.print(to_markdown(catalogue), markup=False, highlight=False, soft_wrap=True)
        return
    names = ("name", "queue", "priority", "timeout", "retry", "execute", "description")
    rows = [[str(row.get(name, "")) for name in names] for row in catalogue]
    print_table(names, rows, "No tasks are registered.")


def duration(text: str) -> timedelta:
    """Read `30s`, `15m`, `2h` or `7d`."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdigit() or len(number) > 6:
        raise InvalidOption(f"{text!r} is not a time; write 30s, 15m, 2h or 7d")
    return timedelta(seconds=int(number) * _UNITS[unit])


def _counts(counts: object) -> dict[str, int]:
    assert hasattr(counts, "get")
    return {str(s): counts.get(s, 0) for s in State}


def _job_row(job: Job) -> tuple[str | Text, ...]:
    attempt = f"{job.attempt}/{job.max_attempts}"
    return job.id, state_text(job.state), job.task, job.queue, attempt, ago(job.created_at), _remark(job)


def _remark(job: Job) -> str:
    if job.state is State.ACTIVE and job.progress:
        return f"{job.progress.get('percent', 0):g} % {job.progress.get('message', '')}".strip()
    if job.errors and job.state is not State.COMPLETED:
        last = job.errors[-1]
        return f"{last['type']}: {last['message']}"[:80]
    return (job.note or "")[:80]


def _show(job: Job) -> None:
    console.print(Text.assemble((job.task, "bold"), "  ", state_text(job.state), f"  {job.queue}"))
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
        ("arguments", json.dumps(job.args, ensure_ascii=False)),
        ("result", None if job.result_json is None else job.result_json),
    ]
    for name, value in facts:
        if value is not None:
            console.print(Text(f"  {name:<15}{value}"))
    for error in job.errors:
        console.print(
            Text(f"\n  attempt {error['attempt']}: {error['type']}: {error['message']}", style="red")
        )
        for line in (error.get("traceback") or "").splitlines():
            console.print(Text(f"    {line}", style="bright_black"))


def _when(when: datetime | None) -> str | None:
    return None if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC ({ago(when)})"
