"""`penstock`: every command, and one place where errors become sentences and exit codes."""

from __future__ import annotations

import os
import sys

import typer

from penstock.cli import demo, dlq, doctor, inspect, operate, work
from penstock.cli.output import complain
from penstock.model.errors import ActionRefused, EngineUnavailable, JobNotFound, PenstockError
from penstock.runtime.child import described

EXIT_REFUSED = 1  # what was asked could not be done: no such job, wrong state
EXIT_USAGE = 2  # the command, the app or a setting is wrong
EXIT_UNAVAILABLE = 3  # the engine cannot be reached; try again
EXIT_BUG = 70  # something that should not have happened

app = typer.Typer(
    name="penstock",
    help="Background jobs on SQLite, PostgreSQL or Redis. Start with: penstock demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for group in (work, inspect, doctor, operate, demo):
    group.register(app)
app.add_typer(dlq.app, name="dlq", help=dlq.HELP, rich_help_panel="Act")


def main() -> None:
    """Run a command; 0 done, 1 refused, 2 wrong use, 3 engine away, 70 a bug of ours."""
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
        # Whoever read our output has seen enough; nothing is left to be flushed into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - a person reads one sentence, not a stack
        complain(f"{described(error)}; this is not your fault, please report it")
        sys.exit(EXIT_BUG)


def _fail(error: PenstockError, code: int) -> None:
    complain(f"{type(error).__name__}: {error}")
    sys.exit(code)
