"""Writes the docs that are made from code: `python -m docs.generate`, or with `--check` only compares."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from penstock.cli.main import app as commands
from penstock.model import errors
from penstock.model.failure import HANDLING
from penstock.model.priority import HEAD_START
from penstock.model.retry import POLICIES
from penstock.model.states import FINISHED, TRANSITIONS, State
from penstock.tasks.queues import OPTIONS, PREFIX, THEIR_PREFIX
from penstock.tasks.settings import Settings

HERE = Path(__file__).parent
MEANING = {
    State.WAITING: "due; a worker may claim it",
    State.DELAYED: "due later: enqueued with a delay, backing off after an error, or snoozed",
    State.BLOCKED: "needs another job first",
    State.ACTIVE: "in a worker's hand, under a token",
    State.COMPLETED: "ended well; the result is kept with the record",
    State.FAILED: "could not be done; a dead letter was written in the same step",
    State.CANCELLED: "ended by a person, or because it expired",
}

SETTINGS = {
    "url": "where jobs live: `sqlite:///jobs.db`, `sqlite:////absolute/jobs.db`, `postgresql://…`, `redis://…`",
    "outbox": "the URL of your own database, where that is not the engine's: see [Outbox](outbox.md)",
    "outbox_name": "whose rows are this app's in the tables of its outbox; by default the engine's address "
    "tells: see [Outbox](outbox.md#several-apps-in-one-database)",
    "keep_outbox_for": "seconds that rows of the outbox are kept once they are dispatched",
    "ledger": "beside Redis, the URL of the database that has the durable record of every job: "
    "[the ledger](ledger.md); in code `Penstock(ledger=…)`",
    "schema_name": "the schema on PostgreSQL, the prefix of the keys on Redis; in code `Penstock(schema=…)`",
    "accept_unsafe": "what is unsafe about the engine and accepted, by the names `penstock doctor` gives",
    "migrate": "bring the schema up to date when opening; not set: not on PostgreSQL",
    "concurrency": "slots (jobs at once) per worker process, at most 1,024",
    "processes": "worker processes of `penstock worker`; from the environment alone, since their supervisor "
    "loads no code of yours",
    "lease": "seconds without a heartbeat after which a worker is given up",
    "grace": "seconds that running jobs get to finish at shutdown",
    "timeout": "seconds a run may take",
    "retry": "the name of a [policy](policies.md), in place of `attempts` and `retry_delay`",
    "attempts": "attempts in all",
    "retry_delay": "seconds before the first retry; doubles each time",
    "backoff_ms": "`retry_delay` in milliseconds, where that is not given",
    "keep_completed": "completed jobs kept per queue; 0: none, but in the history",
    "keep_failed": "failed and cancelled jobs kept per queue, together",
    "keep_for": "seconds that finished jobs are kept",
    "clean_up_at": "the time of day, in UTC, at which what is older than `keep_for` is removed",
    "keep_dead_letters_for": "seconds that dead letters are kept",
    "keep_audit_for": "seconds that entries of the audit log are kept",
    "max_waiting": "jobs of one owner that may be there unfinished; `POST /jobs/{queue}` refuses more: "
    "[Security](security.md)",
    "keep_history": "[records of jobs](ledger.md) kept when the jobs themselves are pruned, of all queues "
    "together; 0: none",
    "keep_history_for": "seconds after their end that such records are kept; 0: none",
    "keep_effects_for": "seconds that `ctx.once()` remembers an effect; not set: 60 days, or as long as a "
    "job may run again",
    "alerts": "the file of [alert rules and channels](alerts.md), else `penstock.yaml` where there is one; "
    "`off`: nobody watches",
    "metrics": "count what ends, how long it waited and how long it took: [metrics](metrics.md)",
    "log_format": "how `penstock worker` and its like write [their log](logs.md): `console` or `json`; from "
    "the environment alone, or by `--log-format`",
    "health_backlogged": "waiting jobs above which a queue is [backlogged](health.md)",
    "health_stalled": "waiting jobs above which a queue is stalled",
    "health_stalled_after": "seconds for which work waits and nothing moves, after which a queue is stalled",
    "health_error_rate": "the share of failures, of what ended in the last minute, that is unhealthy",
    "max_args_bytes": "the largest payload, as JSON",
    "max_result_bytes": "the largest result; a larger one is dropped, the job completes",
}
QUEUE_OPTIONS = {
    "concurrency": "jobs of this queue at once, per worker process",
    "rate": "starts in a time, over all workers: `30/s`; or milliseconds from one start to the next; `none`",
    "max_active": "jobs of this queue at once, over all workers, or `none`",
    "retry": "the name of a policy, or a number of attempts",
    "timeout": "seconds, or `none`",
    "priority": "`critical`, `high`, `medium` or `low`",
    "keep_completed": "a number, or `none` for no bound",
    "keep_failed": "a number, or `none` for no bound",
    "keep_for": "seconds, or `none` for no bound",
    "enabled": "`true` or `false`: a closed queue refuses jobs and runs none",
}


def states() -> str:
    """The state machine, as a figure and as tables."""
    lines = ["# The states of a job", "", _NOTE, "", "```mermaid", "stateDiagram-v2"]
    for (before, verb), after in TRANSITIONS.items():
        start = before or "[*]"
        lines += [f"    {start} --> {state}: {verb}" for state in sorted(after)]
    lines += [f"    {state} --> [*]" for state in sorted(FINISHED)]
    lines += ["```", "", "| state | meaning |", "|---|---|"]
    lines += [f"| `{state}` | {MEANING[state]} |" for state in State]
    lines += ["", "| from | verb | to |", "|---|---|---|"]
    lines += [
        f"| {f'`{before}`' if before else '(new)'} | {verb} | {', '.join(f'`{s}`' for s in sorted(after))} |"
        for (before, verb), after in TRANSITIONS.items()
    ]
    lines += ["", _OUTSIDE, ""]
    return "\n".join(lines)


def policies() -> str:
    """Retry policies, failure classes, priorities and errors, with their numbers."""
    lines = ["# Retries, failures, priorities, errors", "", _NOTE, "", "## Named retry policies", ""]
    lines += ["| name | attempts | delay | cap | retries only | never retries |", "|---|---|---|---|---|---|"]
    for name, p in POLICIES.items():
        delay = {"exponential": f"{p.delay:g} s * {p.factor:g}^n + 10 %", "fixed": f"{p.delay:g} s + 10 %"}
        cells = (
            f"`{name}`",
            str(p.attempts),
            delay.get(p.strategy, "none"),
            "" if p.cap is None else f"{p.cap:g} s",
            ", ".join(map(str, p.retry_on)),
            ", ".join(map(str, p.no_retry_on)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Failure classes", "", "| class | tried again | alert | page |", "|---|---|---|---|"]
    lines += [
        f"| `{kind}` | {'yes' if h.retry else 'no'} | {h.alert} | {'yes' if h.page else 'no'} |"
        for kind, h in HANDLING.items()
    ]
    lines += ["", "## Priorities", "", "| priority | head start |", "|---|---|"]
    lines += [f"| `{p.name.lower()}` = {p.value} | {start} s |" for p, start in HEAD_START.items()]
    tree = inspect.getdoc(errors) or ""
    lines += ["", "## Errors", "", "```", tree.partition("\n\n")[2], "```", ""]
    return "\n".join(lines)


def settings() -> str:
    """Every setting with the names it is read from."""
    lines = ["# Settings", "", _NOTE, "", _SETTINGS, ""]
    lines += ["| setting | environment | default | meaning |", "|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        choices = getattr(field.validation_alias, "choices", None) or [f"PENSTOCK_{name.upper()}"]
        default = "none" if field.default is None else f"`{field.default}`"
        cells = f"`{name}`", ", ".join(f"`{c}`" for c in choices), default, SETTINGS[name]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## One queue", "", _QUEUES, "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{PREFIX}<NAME>_{option.upper()}` | {QUEUE_OPTIONS[option]} |" for option in OPTIONS]
    lines += ["", _THEIRS]
    lines += ["", "## Which app", "", _APP, ""]
    return "\n".join(lines)


def cli() -> str:
    """Every command with its arguments and options."""
    lines = ["# Commands", "", _NOTE, "", _COMMANDS, ""]
    for name, command in walk("penstock", typer.main.get_command(commands)):
        lines += [f"## {name}", "", (command.help or "").strip(), ""]
        arguments = [p for p in command.params if _is_argument(p)]
        words = (p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments)
        lines += ["```", " ".join([name, *words, "[OPTIONS]"]), "```", ""]
        options = [p for p in command.params if not _is_argument(p)]
        if options:
            lines += ["| option | meaning |", "|---|---|", *map(_option, options), ""]
    return "\n".join(lines)


def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its full name, in the order of `--help`."""
    for word, child in sorted(getattr(command, "commands", {}).items()):
        if child.callback is not None:
            yield f"{name} {word}", child
        yield from walk(f"{name} {word}", child)


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    default = "" if option.default in (None, False) else f" (default {option.default})"
    return f"| {names} | {option.help or ''}{default} |"


_NOTE = "<!-- Written by `python -m docs.generate` from the code. Do not edit. -->"
_OUTSIDE = (
    "Outside Penstock (HTTP, `background_jobs`) a job is `pending` until it first starts, `processing` "
    "until it ends, and then `completed`, `failed` or `cancelled`. Pausing belongs to the queue, parking "
    "to the lane: neither is a state."
)
_SETTINGS = (
    "From the environment, or from code: `Penstock(settings=Settings(concurrency=20))`. Code wins over "
    "the environment. Where two names are listed, the first wins. A value that cannot be read is refused "
    "at the start, by its name."
)
_QUEUES = (
    "A queue's own variables win over what `app.queue(…)` says. In `<NAME>` write every character but "
    "letters and digits as `_`: queue `course-gen` is `PENSTOCK_QUEUE_COURSE_GEN_CONCURRENCY`."
)
_THEIRS = (
    f"`{THEIR_PREFIX}<NAME>_CONCURRENCY` works too where ours is not given, "
    f"and `{THEIR_PREFIX}<NAME>_LIMITER_MS` in place of `…_RATE`; "
    f"`{THEIR_PREFIX}COURSE_GEN_CONCURRENCY` is also that of the queue `course_generation_queue`. A variable "
    "that begins with `PENSTOCK_` and is not on this page is told in the log, with the nearest name that is."
)
_APP = (
    'Commands find the app by `--app module:app`, else `PENSTOCK_APP`, else `app = "module:app"` under '
    "`[tool.penstock]` in `pyproject.toml` of the current folder. A file works too: `--app "
    "path/to/shop.py:app`."
)
_COMMANDS = (
    "Commands that list or act take `--json`: one JSON document on standard output, and nothing else there. "
    "Errors go to standard error and are one sentence: what, why, what next. [Exit "
    "codes](operating.md#exit-codes): 0 done, 1 refused, 2 wrong use, 3 engine away. `penstock "
    "--version` shows the version."
)
PAGES = {"states.md": states, "policies.md": policies, "settings.md": settings, "cli.md": cli}


def main() -> int:
    stale = []
    for name, make in PAGES.items():
        path = HERE / name
        if not path.exists() or path.read_text() != make():
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(make())
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make format`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
