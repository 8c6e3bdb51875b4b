"""Tables for people, JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from penstock.cli.layout import Layout
from penstock.logs import one_line
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record
from penstock.model.redaction import redacted
from penstock.model.states import State
from penstock.model.values import readable


class OutputError(Exception):
    """What was to be shown cannot be written. No OSError: of those typer has ideas of its own."""

    def __init__(self, cause: OSError) -> None:
        self.cause = cause
        super().__init__(str(cause))


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(error) from error


class _Screen(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        with _writing():
            super().print(*map(_harmless, objects), **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def cell(content: str | Text) -> Text:
    """What stands in one place of a line, and can neither leave it nor steer the terminal.

    Text, not markup: what users store must not be read as formatting.
    """
    text = content if isinstance(content, Text) else Text(content)
    return text if text.plain.isprintable() else Text(one_line(text.plain), text.style, justify=text.justify)


def _harmless(shown: Any) -> Any:
    """As above, for what may have several lines."""
    if not isinstance(shown, Text) or shown.plain.replace("\n", "").isprintable():
        return shown
    return Text("\n".join(map(one_line, shown.plain.split("\n"))), shown.style)


console = _Screen()
errors = _Screen(stderr=True)

STYLE: dict[State, str] = {
    State.WAITING: "bright_black",
    State.DELAYED: "magenta",
    State.BLOCKED: "yellow",
    State.ACTIVE: "blue",
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: "bright_black",
}
GLYPH: dict[State, str] = {
    State.WAITING: "◦",
    State.DELAYED: "◷",
    State.BLOCKED: "⛓",
    State.ACTIVE: "▶",
    State.COMPLETED: "✓",
    State.FAILED: "✕",
    State.CANCELLED: "⊘",
}


def print_json(value: Any) -> None:
    """One JSON document on standard output; what a terminal would heed is escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
    print_plain(text + "\n")


def print_plain(text: str) -> None:
    """Text for programs, as it is, on standard output."""
    with _writing():
        print(text, end="")


def print_sql(sql: str, *, as_json: bool) -> None:
    """A script to be put into a migration, or one document that has it."""
    if as_json:
        print_json({"sql": sql})
    else:
        print_plain(sql)


def flush() -> None:
    """Write out what is held back; here it can still be told that it cannot be written."""
    with _writing():
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    empty: str,
    spare: Sequence[str] = (),
    *,
    whole: bool = False,
) -> None:
    """A table, or a sentence where there is nothing to show.

    No cell is ever wrapped: on a narrow terminal the `spare` columns go first, then the last column moves to
    a line of its own; what is `whole`, or piped elsewhere, is not cut at all.
    """
    if not rows:
        say(empty, "bright_black")
        return
    cells = [[cell(each) for each in row] for row in rows]
    layout = Layout([Text(name, style="bold") for name in columns], cells, None if whole else room())
    for name in spare:
        layout.drop(name)
    for line in layout.lines():
        console.print(line, soft_wrap=True, highlight=False)


def say(text: str, style: str = "") -> None:
    """One sentence, as it is: no markup, no emoji, no wrapping; a line break only before it."""
    said = text.lstrip("\n")
    before = text[: len(text) - len(said)]
    console.print(Text(before + one_line(said), style=style), soft_wrap=True)


def show_places(error: Mapping[str, Any]) -> None:
    """Where an error came from, and what lies behind it."""
    for line in (error.get("traceback") or "").splitlines():
        say(f"    {line}", "bright_black")
    if note := error.get("note"):
        say(f"    ({note})", "bright_black")
    for cause in error.get("causes", ()):
        say(f"    {_HOW.get(cause['how'], cause['how'])} {cause['type']}: {cause['message']}", "red")
        for line in cause["traceback"].splitlines():
            say(f"      {line}", "bright_black")


_HOW = {"cause": "caused by", "context": "raised while handling", "member": "with"}


def complain(text: str) -> None:
    """An error, on standard error, without secrets."""
    errors.print(Text.assemble(("error", "red"), f" {redacted(text)}"), soft_wrap=True)


def hint(text: str) -> None:
    """A word to the reader, on standard error: what is on standard output is for programs."""
    errors.print(Text(text, style="bright_black"), soft_wrap=True)


def room() -> int | None:
    """How many characters fit into a line; None: any number, for nobody looks at a terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return int(columns)
    return console.width if console.is_terminal else None


def state_text(job: Job) -> Text:
    """The state of a job; that it is parked is no state, but a person must see it."""
    said = f"{job.state} (parked)" if job.parked else str(job.state)
    return Text(f"{GLYPH[job.state]} {said}", style="yellow" if job.parked else STYLE[job.state])


def progress_text(job: Job) -> str | None:
    if job.progress is None:
        return None
    return f"{job.progress.get('percent', 0):g} % {job.progress.get('message', '')}".strip()


def recovered_text(job_id: str, *, already: bool) -> str:
    return f"It has been recovered already, as {job_id}" if already else f"Recovered as {job_id}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """`1 job`, `2 jobs`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def ago(when: datetime | None) -> str:
    """How long ago, or how long until, in two or three characters."""
    if when is None:
        return "–"
    seconds = (datetime.now(UTC) - when).total_seconds()
    ahead, seconds = seconds < 0, abs(seconds)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            text = f"{seconds / size:.0f}{unit}"
            break
    else:
        text = f"{seconds:.0f}s"
    return f"in {text}" if ahead else f"{text} ago"


def job_json(job: Job) -> dict[str, Any]:
    """A job as programs read it."""
    record = dataclasses.asdict(job)
    record["args"] = readable(job.args_json)
    record["result"] = readable(job.result_json)
    record["status"] = job.status
    record["options"] = readable(job.options_json) or {}
    for name in ("args_json", "result_json", "options_json"):
        del record[name]
    return record


def record_json(record: Record) -> dict[str, Any]:
    """What the history has of a job, as programs read it."""
    told = dataclasses.asdict(record)
    told["payload"] = readable(told.pop("payload_json"))
    told["result"] = readable(told.pop("result_json"))
    return told


def dead_json(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter as programs read it: the original job, the failure, the metadata."""
    return {
        "job": {
            "id": letter.job_id,
            "task": letter.task,
            "queue": letter.queue,
            "args": readable(letter.args_json),
            "key": letter.key,
            "owner": letter.owner,
            "priority": letter.priority,
            "max_attempts": letter.max_attempts,
            "options": readable(letter.options_json or "{}"),
        },
        "failure": {
            "reason": letter.reason,
            "error": letter.error,
            "attempts": letter.attempts,
            "failed_at": letter.failed_at,
        },
        "metadata": {
            "first_started_at": letter.first_started_at,
            "ran_for": letter.ran_for,
            "recovered_at": letter.recovered_at,
            "recovered_as": letter.recovered_as,
        },
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
