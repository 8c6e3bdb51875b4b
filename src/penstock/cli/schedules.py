"""Schedules: what runs by the clock, when it runs next, and acting on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from penstock.cli.common import AppOption, JsonOption, WhyOption, command, with_ops
from penstock.cli.output import ago, print_json, print_table, say
from penstock.timetable import Detail, Entry

HELP = "List, show, fire, pause and resume schedules."


class _NameOrVerb(TyperGroup):
    """`schedules NAME` is short for `schedules show NAME`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        named = args and args[0] not in self.commands
        return super().resolve_command(ctx, ["show", *args] if named else args)


schedules = typer.Typer(cls=_NameOrVerb, no_args_is_help=False)


def register(app: typer.Typer) -> None:
    app.add_typer(schedules, name="schedules", help=HELP, rich_help_panel="Act")


@schedules.callback(invoke_without_command=True)
def list_schedules(context: typer.Context, app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the schedules."""
    if context.invoked_subcommand is not None:
        return
    found = with_ops(app, lambda ops: ops.timetable.schedules())
    if as_json:
        print_json([_json(entry) for entry in found])
        return
    print_table(
        ("schedule", "task", "when", "next", "last", ""),
        [_row(entry) for entry in found],
        "No schedules. Declare one with app.schedule(NAME, TASK, cron=…), and start a worker.",
        spare=("last",),
    )


@schedules.command("show")
def show(name: str, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Show a schedule, its next ten runs in its zone and in UTC, its latest ticks."""
    found = with_ops(app, lambda ops: ops.timetable.schedule(name))
    if as_json:
        print_json(_detail_json(found))
        return
    _show(found, app)


@schedules.command("fire")
def fire(name: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Make a job as the schedule does, now; its ticks go on as they were."""
    job_id = with_ops(app, lambda ops: ops.timetable.fire(name), why)
    if as_json:
        print_json({"job_id": job_id})
        return
    say(f"Enqueued as {job_id}. Look at it: {command(f'job {job_id}', app)}")


@schedules.command("pause")
def pause(name: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Fire no ticks of a schedule until it is resumed."""
    with_ops(app, lambda ops: ops.timetable.pause(name), why)
    if as_json:
        print_json({"id": name, "paused": True, "next_at": None})
        return
    say(f"Schedule {name} is paused. Resume it with: {command(f'schedules resume {name}', app)}")


@schedules.command("resume")
def resume(name: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Fire the ticks of a schedule again, from the next one on."""
    at = with_ops(app, lambda ops: ops.timetable.resume(name), why)
    if as_json:
        print_json({"id": name, "paused": False, "next_at": at})
        return
    say(f"Schedule {name} goes on{f' at {_utc(at)}' if at else '; it has no more ticks'}.")


def _row(entry: Entry) -> tuple[str | Text, ...]:
    spec = entry.spec
    task, when = ("?", "?") if spec is None else (spec.job.task, spec.timing.in_words)
    return entry.id, task, when, _next(entry), ago(entry.last_due) if entry.last_due else "", _note(entry)


def _next(entry: Entry) -> str | Text:
    if entry.paused:
        return Text("paused", style="yellow")
    return ago(entry.next_at) if entry.next_at else "never"


def _note(entry: Entry) -> str | Text:
    if entry.spec is None:
        return Text("cannot be read", style="red")
    if not entry.synced:
        return Text("comes with the first worker", style="bright_black")
    return f"after {', '.join(entry.spec.after)}" if entry.spec.after else ""


def _show(found: Detail, ref: str | None) -> None:
    entry = found.entry
    say(f"{entry.id}  {_plain(_next(entry))}  {_plain(_note(entry))}".rstrip(), "bold")
    for name, value in _facts(entry).items():
        if value:
            say(f"  {name:<11}{value}")
    if found.runs:
        zone = entry.spec.timing.zone.key if entry.spec else "UTC"
        say("")
        print_table(
            (zone, "UTC", ""),
            [(f"{run.there:%a %Y-%m-%d %H:%M:%S}", _utc(run.at), run.note or "") for run in found.runs],
            "",
        )
    say("")
    print_table(
        ("tick", "fired", "job", "note"),
        [
            (_utc(tick.due), ago(tick.fired_at), tick.job_id or "none", tick.note or "")
            for tick in found.ticks
        ],
        f"No ticks yet. Make a job now: {command(f'schedules fire {entry.id}', ref)}",
    )


def _facts(entry: Entry) -> Mapping[str, str | None]:
    spec = entry.spec
    if spec is None:
        return {}
    wait = "until the next tick" if spec.deadline is None else f"for {spec.deadline:g} s"
    return {
        "task": f"{spec.job.task} on {spec.job.queue}",
        "when": spec.timing.in_words,
        "from": _when(spec.timing.start),
        "to": _when(spec.timing.end),
        "arguments": spec.job.args,
        "overlap": spec.overlap,
        "missed": spec.missed,
        "after": f"{', '.join(spec.after)}, {wait}, then {spec.on_deadline}" if spec.after else None,
        "source": entry.source or "put in at run time",
        "last job": entry.last_job,
    }


def _json(entry: Entry) -> dict[str, Any]:
    spec = entry.spec
    told = {
        "id": entry.id,
        "source": entry.source,
        "synced": entry.synced,
        "paused": entry.paused,
        "next_at": entry.next_at,
        "last_due": entry.last_due,
        "last_job": entry.last_job,
    }
    if spec is None:
        return told
    return told | {
        "task": spec.job.task,
        "queue": spec.job.queue,
        **spec.when,
        "missed": spec.missed,
        "overlap": spec.overlap,
        "after": list(spec.after),
        "deadline": spec.deadline,
        "on_deadline": spec.on_deadline,
    }


def _detail_json(found: Detail) -> dict[str, Any]:
    return _json(found.entry) | {
        "runs": [{"at": run.at, "there": run.there, "note": run.note} for run in found.runs],
        "ticks": [tick._asdict() for tick in found.ticks],
    }


def _plain(text: str | Text) -> str:
    return text.plain if isinstance(text, Text) else text


def _when(at: datetime | None) -> str | None:
    return None if at is None else _utc(at)


def _utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
