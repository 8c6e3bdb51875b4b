"""Flows: which there are, and one as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import typer
from rich.text import Text

from penstock.cli.common import AfterOption, AppOption, JsonOption, LimitOption, command, with_ops
from penstock.cli.output import GLYPH, ago, counted, job_json, print_json, print_table, say
from penstock.engine import Flow
from penstock.model.job import Job
from penstock.model.states import State
from penstock.tasks.tree import Branch, draw


def register(app: typer.Typer) -> None:
    for verb in (flows, flow):
        app.command(rich_help_panel="Look")(verb)


def flows(
    app: AppOption = None, limit: LimitOption = 50, after: AfterOption = None, as_json: JsonOption = False
) -> None:
    """List flows, newest first."""
    found = with_ops(app, lambda ops: ops.flows.flows(limit, after))
    if as_json:
        print_json([_flow_json(each) for each in found])
        return
    print_table(
        ("id", "state", "created", "name"),
        [(each.id, _state(each), ago(each.created_at), each.name) for each in found],
        "No flows. Make one from Python: flow = app.flow(NAME); flow.add(…); flow.enqueue()",
    )
    if len(found) == limit:
        say(f"There may be more: add --after {found[-1].id}", "bright_black")


def flow(flow_id: str, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Show a flow as a tree: states, and how long each job ran."""
    found = with_ops(app, lambda ops: ops.flows.flow(flow_id))
    if as_json:
        print_json({**_flow_json(found), "jobs": [job_json(job) for job in found.jobs]})
        return
    say(f"{found.name}  {_state(found).plain}")
    for line in draw([_branch(job) for job in _heirs_beside(found.jobs)]):
        say(line)
    failed = next((job for job in found.jobs if job.state is State.FAILED and not job.recovered_as), None)
    if failed is not None:
        say(f"\n  Why {failed.task} failed: {command(f'job {failed.id}', app)}", "bright_black")


def _state(flow: Flow) -> Text:
    if flow.unfinished:
        return Text(f"{counted(flow.unfinished, 'job')} to go", style="yellow")
    return Text("ended", style="green")


def _heirs_beside(jobs: Sequence[Job]) -> list[Job]:
    """A recovered job stands behind the one it was, before those who wait for it now."""
    places: dict[str, int] = {}
    for n, job in enumerate(jobs):
        places[job.id] = places.get(job.recovered_from or "", n)
    return sorted(jobs, key=lambda job: places[job.id])


def _branch(job: Job) -> Branch:
    return Branch(job.id, job.task, job.after, f"{GLYPH[job.state]} {job.state}", _detail(job))


def _detail(job: Job) -> str:
    if job.state is State.ACTIVE and job.claimed_at is not None:
        return f"for {(datetime.now(UTC) - job.claimed_at).total_seconds():.1f} s"
    if job.state is State.DELAYED:
        return ago(job.due_at)
    ran = f"{job.ran_for:.3f} s" if job.ran_for else ""
    return f"{ran}  recovered".lstrip() if job.recovered_as else ran


def _flow_json(flow: Flow) -> dict[str, object]:
    return {
        "id": flow.id,
        "name": flow.name,
        "created_at": flow.created_at,
        "unfinished": flow.unfinished,
    }
