"""`penstock`: every command, and one place where errors become sentences and exit codes."""

from __future__ import annotations

import sys

import typer

from penstock.cli import demo, dlq, inspect, operate, work
from penstock.cli.output import errors
from penstock.model.errors import ActionRefused, EngineUnavailable, JobNotFound, PenstockError

EXIT_REFUSED = 1  # what was asked could not be done: no such job, wrong state
EXIT_USAGE = 2  # the command, the app or a setting is wrong
EXIT_UNAVAILABLE = 3  # the engine cannot be reached; try again

app = typer.Typer(
    name="penstock",
    help="Background jobs on SQLite or PostgreSQL. Start with: penstock demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for group in (work, inspect, operate, demo):
    group.register(app)
app.add_typer(dlq.app, name="dlq")


def main() -> None:
    """Run a command; 0 done, 1 refused, 2 wrong use, 3 engine away."""
    try:
        app()
    except (JobNotFound, ActionRefused) as error:
        _fail(error, EXIT_REFUSED)
    except EngineUnavailable as error:
        _fail(error, EXIT_UNAVAILABLE)
    except PenstockError as error:
        _fail(error, EXIT_USAGE)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)


def _fail(error: PenstockError, code: int) -> None:
    errors.print(f"[red]error[/red] {type(error).__name__}: ", end="")
    errors.print(str(error), markup=False, highlight=False)
    sys.exit(code)
