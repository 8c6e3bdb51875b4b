"""`dev`: everything of an app on a developer's machine, with the code as it is now."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable
from typing import Annotated, Any

import typer

from penstock.cli.common import AppOption, load
from penstock.cli.output import complain, counted, say
from penstock.cli.service import ServiceProcess, open_door, say_how_to_enter
from penstock.cli.work import FormatOption, LevelOption, SlotsOption, known_format, run_worker
from penstock.model.errors import PenstockError
from penstock.outbox.relay import Relay
from penstock.runtime.reload import Reloader
from penstock.runtime.supervisor import Supervisor, SupervisorOptions
from penstock.tasks.loading import find_ref


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Run")(dev)


def dev(
    target: Annotated[str | None, typer.Argument(help="module:app or file.py:app")] = None,
    app: AppOption = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port of the dashboard; else 8000 or the next free")
    ] = None,
    concurrency: SlotsOption = None,
    log_level: LevelOption = "info",
    log_format: FormatOption = "console",
) -> None:
    """Run worker, API and dashboard; they reload when code changes.

    The dashboard's address that it prints signs one browser in; nobody else at this machine is let in.
    Where the app has an outbox, a relay runs beside them.
    """
    ref = find_ref(target or app)
    penstock = load(ref)
    known = counted(len(penstock.tasks), "task")
    say(f"Penstock on {penstock.safe_url}; {known}. Reloads on change. Ctrl-C ends.")
    wishes: dict[str, Any] = {"grace": 5.0, "tables": True}
    options = SupervisorOptions(
        app_ref=ref,
        processes=1,
        wishes=wishes if concurrency is None else wishes | {"slots": concurrency},
        log_level=log_level.upper(),
        log_format=known_format(log_format),
        stays=True,  # with the dashboard, in which somebody may have stopped the worker
    )
    relay = None if penstock.settings.outbox is None else penstock.relay()
    with open_door(port) or contextlib.nullcontext() as door:
        service = None
        if door is not None:
            asyncio.run(say_how_to_enter(penstock, door))
            service = ServiceProcess(ref, door, options.log_level, options.log_format)
        run_worker(options, lambda supervisor: _beside(supervisor, service, relay))


def _beside(
    supervisor: Supervisor, service: ServiceProcess | None, relay: Relay | None
) -> Iterable[Coroutine[Any, Any, None]]:
    async def anew() -> None:
        if service is not None:
            service.restart()
        await supervisor.restart()

    yield Reloader(anew).run()
    if service is not None:
        yield service.run()
    if relay is not None:
        yield _relay(relay)


async def _relay(relay: Relay) -> None:
    try:
        await relay.run()
    except PenstockError as error:
        complain(f"the relay could not start: {error}")
