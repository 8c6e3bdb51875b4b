"""One job for people: everything that its record holds, what went wrong, and the next step."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rich.text import Text

from penstock.cli.common import command
from penstock.cli.output import (
    STYLE,
    ago,
    console,
    counted,
    listed,
    progress_text,
    say,
    show_places,
    state_text,
)
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record
from penstock.model.states import State
from penstock.ops import Story


def show(story: Story, ref: str | None) -> None:
    """Print a job; `ref` is the app that this command was given."""
    job = story.job
    console.print(Text.assemble((job.task, "bold"), "  ", state_text(job), f"  {job.queue}"), soft_wrap=True)
    for name, value in _facts(story, ref):
        if value:
            say(f"  {name:<15}{value}")
    for error in job.errors:
        at = f", {_when(datetime.fromisoformat(error['at']))}" if error.get("at") else ""
        say(f"\n  attempt {error['attempt']}{at}: {error['type']}: {error['message']}", "red")
        show_places(error)
    if next_step := _next_step(story, ref):
        say(f"\n  {next_step}", "bright_black")


def show_record(record: Record) -> None:
    """Print what is left of a job that has been pruned."""
    status = (record.status.value, STYLE[State(record.status.value)])
    console.print(
        Text.assemble((record.job_type, "bold"), "  ", status, f"  {record.queue_name}"), soft_wrap=True
    )
    facts = {
        "id": record.id,
        "key": record.idempotency_key,
        "owner": record.owner,
        "attempt": f"{record.attempts_made} of {record.max_attempts}",
        "created": _when(record.created_at),
        "first started": _when(record.started_at),
        "finished": _when(record.finished_at),
        "arguments": record.payload_json,
        "result": record.result_json,
    }
    for name, value in facts.items():
        if value:
            say(f"  {name:<15}{value}")
    if record.error_message:
        say(f"\n  {record.error_message}", "red")
    say("\n  It has been pruned: this is what the history has of it.", "bright_black")


def _facts(story: Story, ref: str | None) -> Iterator[tuple[str, str | None]]:
    job = story.job
    yield "id", job.id
    yield "made by", job.origin
    yield "key", f"{job.key} (one job at a time holds it)" if job.unique else job.key
    yield "owner", job.owner
    yield "lane", job.lane if job.lane != job.queue else None
    yield "priority", job.priority.name.lower()
    yield "options", job.options_json
    yield "attempt", f"{job.attempt} of {job.max_attempts}"
    yield "flow", f"{job.flow}; {command(f'flow {job.flow}', ref)}" if job.flow else None
    yield "waits for", _upstreams(job)
    yield from _times(job)
    yield "ran for", f"{job.ran_for:.3f} s" if job.ran_for else None
    yield "progress", progress_text(job)
    yield "worker", job.worker if job.state is State.ACTIVE else None
    yield "parked" if job.parked else "note", job.note
    yield "cancel", "asked for; its worker is told" if job.cancel_requested and not job.finished_at else None
    yield "rescued", f"{counted(job.rescues, 'time')} from a worker that was lost" if job.rescues else None
    yield "suspect", _suspect(job)
    yield "recovered from", job.recovered_from
    yield "recovered as", job.recovered_as
    yield "dead letter", _letter(story.dead_letter, ref)
    yield "steps done", ", ".join(story.steps) or None
    yield "arguments", job.args_json
    yield "result", job.result_json


def _times(job: Job) -> Iterator[tuple[str, str | None]]:
    yield "created", _when(job.created_at)
    if not job.state.finished:
        late = job.due_at > job.created_at
        yield "next try" if job.errors else "due", _when(job.due_at) if late else None
        yield "expires", f"{_when(job.expires_at)} unless it has started" if job.expires_at else None
    yield "first started" if job.attempt > 1 else "started", _when(job.started_at)
    yield "last started", _when(job.claimed_at) if job.attempt > 1 else None
    yield "finished", _when(job.finished_at)


def _upstreams(job: Job) -> str | None:
    if job.state is not State.BLOCKED:
        return None
    until = f", until {_when(job.deadline_at)}" if job.deadline_at else ""
    return f"{listed(job.blocked_by)}{until}"


def _suspect(job: Job) -> str | None:
    if not (job.suspect or job.crashes):
        return None
    alone = "was running when its process died: it runs alone"
    return f"{alone}; {counted(job.crashes, 'crash', 'crashes')} while alone"


def _letter(letter: DeadLetter | None, ref: str | None) -> str | None:
    if letter is None:
        return None
    return f"{letter.reason}; {command(f'dlq show {letter.job_id}', ref)}"


def _next_step(story: Story, ref: str | None) -> str | None:
    job = story.job
    if job.recovered_as is not None:
        return f"It runs again as: {command(f'job {job.recovered_as}', ref)}"
    if story.dead_letter is not None:
        return f"Run it again: {command(f'retry {job.id}', ref)}"
    if job.state is State.FAILED:
        return "Its dead letter has been purged: it cannot be run again. Enqueue it anew."
    if job.state is State.DELAYED:
        return f"Run it now: {command(f'retry {job.id}', ref)}"
    if job.state in (State.WAITING, State.BLOCKED):
        return f"Why it has not run yet: {command(f'why {job.id}', ref)}"
    return None


def _when(when: datetime | None) -> str | None:
    return None if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC ({ago(when)})"
