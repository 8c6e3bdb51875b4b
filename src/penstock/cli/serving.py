"""`serve`: the HTTP service, with the dashboard."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from penstock.cli.common import AppOption, command, load
from penstock.cli.output import say
from penstock.cli.work import LevelOption, configure_logs
from penstock.runtime.child import loop_factory

PORT = 8000
RateOption = Annotated[str, typer.Option(help="Requests per token, such as 1000/s; none is no limit")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Run")(serve)


def serve(
    app: AppOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; without tokens only this machine's")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on")] = PORT,
    rate: RateOption = "1000/s",
    address_rate: Annotated[
        str, typer.Option(help="Requests per address, such as 2000/s; none is no limit")
    ] = "2000/s",
    connections: Annotated[int, typer.Option(min=1, help="How many may be open at once")] = 800,
    log_level: LevelOption = "info",
) -> None:
    """Serve the HTTP API and the dashboard.

    Until the first token is made, whoever is at this machine may do everything, and nobody else anything.
    Redis without a ledger could forget that there was one: there nobody is let in without a token.
    """
    from penstock.web import Limits, make_service  # noqa: PLC0415 - an extra, and slow to load
    from penstock.web.serving import address, check_address, listen, prepare  # noqa: PLC0415 - as above

    configure_logs(log_level)
    penstock = load(app)
    penstock.alerting  # noqa: B018 - refuses here where penstock.yaml cannot be read
    limits = Limits(per_token=_rate(rate), per_address=_rate(address_rate))
    service = make_service(penstock, local=True, limits=limits, watch=True)

    async def session() -> None:
        await check_address(penstock, host)
        server = prepare(service, log_level, connections)
        door = listen(host, port)
        say(f"Penstock on {penstock.safe_url}, at {address(door)}. Ctrl-C ends.")
        say_where(address(door))
        if penstock.can_forget:
            hint = command("token create NAME --scope admin", app)
            say(f"Nobody is let in without a token, since Redis alone can lose them: {hint}", "bright_black")
        await server.serve_at(door)

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(session())


def say_where(address: str, invitation: str | None = None) -> None:
    """Where the dashboard is; an invitation in it signs one browser in."""
    from penstock.web.dashboard import AT, is_built  # noqa: PLC0415 - as above

    if is_built():
        say(f"Dashboard: {address}{AT}/" + (f"#enter={invitation}" if invitation else ""))
    else:
        say("The dashboard is not built here; this builds it: make ui", "yellow")


def _rate(text: str) -> str | None:
    return None if text.lower() == "none" else text
