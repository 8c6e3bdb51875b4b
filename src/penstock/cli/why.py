"""`penstock why`: what holds a job back, and what to type next."""

from __future__ import annotations

import textwrap

import typer
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, command, with_ops
from penstock.cli.output import GLYPH, STYLE, console, print_json, room, say
from penstock.model.states import State
from penstock.why import Because, Cause, Explanation

WELL = {Because.NEXT, Because.RUNNING, Because.COMPLETED}
INDENT = "     "


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(why)


def why(job_id: str, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Tell why a job does not run, every cause, and what to do."""
    found = with_ops(app, lambda ops: ops.why(job_id))
    if as_json:
        print_json(found.as_dict())
        return
    _show(found, app)


def _show(found: Explanation, ref: str | None) -> None:
    state = State(found.state)
    shown = (f"{GLYPH[state]} {state}", STYLE[state])
    console.print(Text.assemble((found.task, "bold"), "  ", shown, f"  {found.queue}"), soft_wrap=True)
    say(f"  {found.job_id}", "bright_black")
    for number, cause in enumerate(found.causes, 1):
        say("")
        _show_cause(number, cause, ref)


def _show_cause(number: int, cause: Cause, ref: str | None) -> None:
    style = "green" if cause.because in WELL else "yellow" if number == 1 else "bright_black"
    say(f"  {number}. {cause.because}", style)
    for line in _wrapped(cause.text):
        say(INDENT + line)
    if cause.next is not None:
        say(f"{INDENT}→ {command(cause.next, ref)}", "cyan")


def _wrapped(text: str) -> list[str]:
    """In lines as long as the terminal is wide; piped elsewhere, in one."""
    width = room()
    if width is None:
        return [text]
    return textwrap.wrap(text, max(20, width - len(INDENT)), break_long_words=False, break_on_hyphens=False)
