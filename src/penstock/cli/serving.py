"""`serve`: the HTTP service."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from penstock.cli.common import AppOption, command, load
from penstock.cli.output import say
from penstock.cli.work import LevelOption, configure_logs
from penstock.runtime.child import loop_factory

RateOption = Annotated[str, typer.Option(help="Requests per token, such as 1000/s; none is no limit")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Run")(serve)


def serve(
    app: AppOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; without tokens only this machine's")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on")] = 8000,
    rate: RateOption = "1000/s",
    address_rate: Annotated[
        str, typer.Option(help="Requests per address, such as 2000/s; none is no limit")
    ] = "2000/s",
    log_level: LevelOption = "info",
) -> None:
    """Serve the HTTP API.

    Until the first token is made, whoever is at this machine may do everything, and nobody else anything.
    Redis without a ledger could forget that there was one: there nobody is let in without a token.
    """
    from penstock.web import Limits, make_service  # noqa: PLC0415 - an extra, and slow to load
    from penstock.web.serving import check_address  # noqa: PLC0415 - as above
    from penstock.web.serving import serve as run  # noqa: PLC0415 - as above

    configure_logs(log_level)
    penstock = load(app)
    penstock.alerting  # noqa: B018 - refuses here where penstock.yaml cannot be read
    limits = Limits(per_token=_rate(rate), per_address=_rate(address_rate))
    service = make_service(penstock, local=True, limits=limits, watch=True)

    async def session() -> None:
        await check_address(penstock, host)
        say(f"Penstock on {penstock.safe_url}, at http://{host}:{port}. Ctrl-C ends.")
        if penstock.can_forget:
            hint = command("token create NAME --scope admin", app)
            say(f"Nobody is let in without a token, since Redis alone can lose them: {hint}", "bright_black")
        await run(service, host, port, log_level)

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(session())


def _rate(text: str) -> str | None:
    return None if text.lower() == "none" else text
