"""Working: `worker` under a supervisor, `demo` to watch."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any, NoReturn, TypeAlias, cast, get_args

import typer

from penstock import logs
from penstock.cli.common import AppOption
from penstock.cli.output import complain
from penstock.logs import LogFormat
from penstock.opening import open_engine
from penstock.runtime import signals
from penstock.runtime.reload import Reloader
from penstock.runtime.supervisor import Supervisor, SupervisorOptions
from penstock.tasks.inherit import MAX_PROCESSES, MAX_SLOTS
from penstock.tasks.loading import find_ref

Beside: TypeAlias = Callable[[Supervisor], Iterable[Coroutine[Any, Any, None]]]

QueuesOption = Annotated[
    list[str] | None, typer.Option("--queue", "-q", help="Only these queues; give it again for more")
]
SlotsOption = Annotated[
    int | None, typer.Option("--concurrency", "-c", min=1, max=MAX_SLOTS, help="Jobs at once per process")
]
LevelOption = Annotated[str, typer.Option("--log-level", help="debug, info, warning or error")]
FormatOption = Annotated[
    str, typer.Option("--log-format", envvar="PENSTOCK_LOG_FORMAT", help="console, or json: every job event")
]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Run")(worker)
    app.command(rich_help_panel="Run")(demo)


def worker(
    app: AppOption = None,
    queue: QueuesOption = None,
    concurrency: SlotsOption = None,
    processes: Annotated[
        int | None, typer.Option("--processes", "-p", min=1, max=MAX_PROCESSES, help="Worker processes")
    ] = None,
    lease: Annotated[
        float | None, typer.Option(min=1, help="Seconds without heartbeat until a worker is given up")
    ] = None,
    grace: Annotated[
        float | None, typer.Option(min=0, help="Seconds running jobs get to finish at shutdown")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="Of your own tables only these; give it again for more"),
    ] = None,
    no_tables: Annotated[
        bool, typer.Option("--no-tables", help="Leave the rows of your own tables to others")
    ] = False,
    reload: Annotated[bool, typer.Option("--reload", help="Restart workers when the code changes")] = False,
    log_level: LevelOption = "info",
    log_format: FormatOption = "console",
) -> None:
    """Run jobs: a supervisor and its worker processes.

    They work on the rows of tables that are declared with app.table, too.
    Ctrl-C or SIGTERM drains; a second one hands running jobs back at once.
    """
    tables = not no_tables and (table or True)
    wishes = {"queues": queue, "slots": concurrency, "lease": lease, "grace": grace, "tables": tables}
    options = SupervisorOptions(
        app_ref=find_ref(app),
        processes=_processes_by_environment() if processes is None else processes,
        wishes={name: wish for name, wish in wishes.items() if wish is not None},
        log_level=log_level.upper(),
        log_format=known_format(log_format),
    )
    run_worker(options, lambda supervisor: [Reloader(supervisor.restart).run()] if reload else [])


def run_worker(options: SupervisorOptions, beside: Beside = lambda _: ()) -> NoReturn:
    """Until it is told to end; what `beside` names runs as long."""
    configure_logs(options.log_level, options.log_format)
    code = asyncio.run(_supervise(options, beside))
    signals.ignore()
    sys.exit(code)


def _processes_by_environment() -> int:
    # Settings take longer to load than all the rest: a supervisor that need not know them starts sooner.
    if "PENSTOCK_PROCESSES" not in os.environ:
        return 1
    from penstock.tasks.settings import Settings  # noqa: PLC0415

    return Settings().processes


async def _supervise(options: SupervisorOptions, beside: Beside) -> int:
    supervisor = Supervisor(options, open_engine)
    signals.answer_by(supervisor.stop)
    others = [asyncio.ensure_future(other) for other in beside(supervisor)]
    try:
        code = await supervisor.run()
    finally:
        for other in others:
            other.cancel()
        if others:
            await asyncio.wait(others)
    if supervisor.problem:
        complain(f"the worker could not start: {supervisor.problem}")
    return code


def demo(
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port of the dashboard; else 8000 or the next free")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="End after so long; else on Ctrl-C, or with the story's end")
    ] = None,
) -> None:
    """Watch the jobs of a shop run, retry, crash and recover.

    The shop goes on until Ctrl-C. Where nobody watches, as in CI, it ends when all of it was shown once,
    and within 30 seconds.
    """
    from penstock.cli.demo import run  # noqa: PLC0415 - what it shows with is slow to load

    raise typer.Exit(run(port, seconds))


def configure_logs(level: str, style: str = "console") -> None:
    """Write the log to standard error, from this level on."""
    if level.upper() not in logging.getLevelNamesMapping():
        raise typer.BadParameter("use debug, info, warning or error", param_hint="--log-level")
    logs.configure(level.upper(), known_format(style))


def known_format(style: str) -> LogFormat:
    """The format of this name."""
    if style not in get_args(LogFormat):
        raise typer.BadParameter("use console or json", param_hint="--log-format")
    return cast("LogFormat", style)
