"""`penstock`: every command, and one place where errors become sentences and exit codes."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated

import typer

from penstock.cli import (
    alerts,
    bulk,
    dev,
    dlq,
    doctor,
    effects,
    flows,
    health,
    inspect,
    limits,
    metrics,
    operate,
    outbox,
    schedules,
    serving,
    tables,
    tokens,
    top,
    why,
    work,
    workers,
)
from penstock.cli.common import EXIT_UNAVAILABLE
from penstock.cli.output import OutputError, complain, flush, say
from penstock.model.errors import ActionRefused, EngineUnavailable, JobNotFound, PenstockError
from penstock.runtime.child import described

EXIT_REFUSED = 1  # what was asked could not be done: no such job, wrong state
EXIT_USAGE = 2  # the command, the app or a setting is wrong
EXIT_INTERRUPTED = 130
EXIT_BUG = 70  # something that should not have happened

app = typer.Typer(
    name="penstock",
    help="Background jobs on SQLite, PostgreSQL or Redis. Start with: penstock demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for group in (
    work,
    dev,
    serving,
    inspect,
    why,
    health,
    top,
    metrics,
    flows,
    effects,
    limits,
    schedules,
    outbox,
    tables,
    doctor,
    operate,
    bulk,
    tokens,
):
    group.register(app)
app.add_typer(dlq.app, name="dlq", help=dlq.HELP, rich_help_panel="Act")
app.add_typer(alerts.app, name="alerts", help=alerts.HELP, rich_help_panel="Look")
app.add_typer(workers.app, name="workers", help=workers.HELP, rich_help_panel="Look")


def _show_version(asked: bool) -> None:
    if asked:
        say(f"penstock {version('penstock')}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit"),
    ] = False,
) -> None:
    """What may stand before any command."""


def main() -> None:
    """Run a command; 0 done, 1 refused, 2 wrong use, 3 engine away, 70 a bug of ours."""
    _occupy_standard_streams()
    try:
        code = _run()
        flush()
    except OutputError as error:
        code = _write_no_more(error.cause)
    sys.exit(code)


def _occupy_standard_streams() -> None:
    """Where one was closed, the next file or socket would take its number, and be written to as such."""
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(nowhere, True)
    os.close(nowhere)


def _run() -> int:
    try:
        app()
    except SystemExit as ended:
        return int(ended.code or 0)
    except PenstockError as error:
        complain(f"{type(error).__name__}: {error}")
        return _code_of(error)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001 - a person reads one sentence, not a stack
        complain(f"{described(error)}; this is not your fault, please report it")
        return EXIT_BUG
    return 0


def _code_of(error: PenstockError) -> int:
    if isinstance(error, JobNotFound | ActionRefused):
        return EXIT_REFUSED
    return EXIT_UNAVAILABLE if isinstance(error, EngineUnavailable) else EXIT_USAGE


def _write_no_more(problem: OSError) -> int:
    """What is left in the buffers goes nowhere, so that nothing fails once more at the very end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    if isinstance(problem, BrokenPipeError):  # whoever read our output has seen enough
        os.dup2(nowhere, 2)
        return 0
    with suppress(OutputError):
        complain(f"the output cannot be written: {problem.strerror}")
    return EXIT_REFUSED
