"""Working: `worker` under a supervisor, `dev` in one process, `demo` to watch."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Annotated, Any, NoReturn

import typer

from penstock.cli.common import AppOption, load
from penstock.cli.output import complain, counted, say
from penstock.model.errors import PenstockError
from penstock.opening import open_engine
from penstock.outbox.relay import Relay
from penstock.runtime import clean_logs, signals
from penstock.runtime.reload import Reloader
from penstock.runtime.supervisor import Supervisor, SupervisorOptions
from penstock.tasks.inherit import MAX_PROCESSES, MAX_SLOTS
from penstock.tasks.loading import find_ref

QueuesOption = Annotated[
    list[str] | None, typer.Option("--queue", "-q", help="Only these queues; give it again for more")
]
SlotsOption = Annotated[
    int | None, typer.Option("--concurrency", "-c", min=1, max=MAX_SLOTS, help="Jobs at once per process")
]
LevelOption = Annotated[str, typer.Option("--log-level", help="debug, info, warning or error")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Run")(worker)
    app.command(rich_help_panel="Run")(dev)
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
    )
    _work(options, reload=reload)


def _work(options: SupervisorOptions, *, reload: bool, relay: Relay | None = None) -> NoReturn:
    configure_logs(options.log_level)
    code = asyncio.run(_supervise(options, reload=reload, relay=relay))
    signals.ignore()
    sys.exit(code)


def _processes_by_environment() -> int:
    # Settings take longer to load than all the rest: a supervisor that need not know them starts sooner.
    if "PENSTOCK_PROCESSES" not in os.environ:
        return 1
    from penstock.tasks.settings import Settings  # noqa: PLC0415

    return Settings().processes


async def _supervise(options: SupervisorOptions, *, reload: bool, relay: Relay | None) -> int:
    supervisor = Supervisor(options, open_engine)
    signals.answer_by(supervisor.stop)
    beside = [asyncio.create_task(Reloader(supervisor.restart).run())] if reload else []
    if relay is not None:
        beside.append(asyncio.create_task(_relay(relay)))
    try:
        code = await supervisor.run()
    finally:
        for task in beside:
            task.cancel()
        if beside:
            await asyncio.wait(beside)
    if supervisor.problem:
        complain(f"the worker could not start: {supervisor.problem}")
    return code


async def _relay(relay: Relay) -> None:
    try:
        await relay.run()
    except PenstockError as error:
        complain(f"the relay could not start: {error}")


def dev(
    target: Annotated[str | None, typer.Argument(help="module:app or file.py:app")] = None,
    app: AppOption = None,
    concurrency: SlotsOption = None,
    log_level: LevelOption = "info",
) -> None:
    """Run one worker over every queue, restarted when code changes.

    Where the app has an outbox, a relay runs beside it.
    """
    ref = find_ref(target or app)
    penstock = load(ref)
    known = counted(len(penstock.tasks), "task")
    say(f"Penstock on {penstock.safe_url}; {known}. Reloads on change. Ctrl-C ends.")
    wishes: dict[str, Any] = {"grace": 5.0, "tables": True} | (
        {} if concurrency is None else {"slots": concurrency}
    )
    options = SupervisorOptions(app_ref=ref, processes=1, wishes=wishes, log_level=log_level.upper())
    _work(options, reload=True, relay=None if penstock.settings.outbox is None else penstock.relay())


def demo() -> None:
    """Watch a few hundred jobs run, retry, crash and recover."""
    from penstock.cli.demo import run  # noqa: PLC0415 - what it shows with is slow to load

    raise typer.Exit(run())


def configure_logs(level: str) -> None:
    """Write the log to standard error, from this level on."""
    known: dict[str, Any] = logging.getLevelNamesMapping()
    if level.upper() not in known:
        raise typer.BadParameter("use debug, info, warning or error", param_hint="--log-level")
    clean_logs.configure(level.upper())
