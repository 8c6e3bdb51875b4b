"""The outbox: its tables, how it stands, and the relay that empties it."""

from __future__ import annotations

import asyncio
from typing import Annotated, cast

import typer
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, command, load
from penstock.cli.output import counted, print_json, print_sql, print_table, say
from penstock.cli.work import FormatOption, LevelOption, configure_logs
from penstock.lent import Dialect
from penstock.model.errors import InvalidOption
from penstock.outbox.relay import Relay
from penstock.outbox.store import MOST_COUNTED, Refused, Status
from penstock.outbox.tables import plan as plan_of
from penstock.outbox.telling import about_other
from penstock.runtime import signals

outbox = typer.Typer(no_args_is_help=True)
HELP = "Make, and look at, the outbox in your own database."

DIALECTS = ("postgresql", "sqlite")
DialectOption = Annotated[
    str | None, typer.Option(help="postgresql or sqlite; by default that of your database")
]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Run")(relay)
    app.add_typer(outbox, name="outbox", help=HELP, rich_help_panel="Look")


def relay(
    app: AppOption = None,
    burst: Annotated[bool, typer.Option("--burst", help="End when nothing is due any more")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --burst: print JSON for programs")] = False,
    log_level: LevelOption = "info",
    log_format: FormatOption = "console",
) -> None:
    """Bring jobs from the outbox to the engine.

    Any number may run at once. Ctrl-C or SIGTERM ends it after the round under way, a second one at once;
    nothing is lost by either.
    """
    configure_logs(log_level, log_format)
    penstock = load(app)
    one = penstock.relay()
    if not as_json:
        say(f"Relay from {penstock.outbox.safe_url} to {penstock.safe_url}. Ctrl-C ends.")
    asyncio.run(_run(one, burst=burst))
    signals.ignore()
    if as_json:
        print_json({"dispatched": one.dispatched, "refused": one.refused})
    else:
        say(f"Dispatched {counted(one.dispatched, 'row')}.")


async def _run(one: Relay, *, burst: bool) -> None:
    signals.answer_by(one.drain)
    await one.run(burst=burst)


@outbox.command("plan")
def plan(app: AppOption = None, dialect: DialectOption = None, as_json: JsonOption = False) -> None:
    """Print the SQL that makes the tables, for a migration of your own."""
    chosen = None if dialect is None else dialect_named(dialect)
    print_sql(load(app).outbox.plan() if chosen is None else plan_of(chosen), as_json=as_json)


def dialect_named(name: str) -> Dialect:
    """InvalidOption where there is no such dialect."""
    if name not in DIALECTS:
        raise InvalidOption(f"{name!r} is no dialect of ours; use {' or '.join(DIALECTS)}")
    return cast("Dialect", name)


@outbox.command("apply")
def apply(app: AppOption = None, as_json: JsonOption = False) -> None:
    """Make the tables in your database, where they are missing."""
    found = load(app).outbox
    asyncio.run(found.apply())
    if as_json:
        print_json({"database": found.safe_url})
    else:
        say(f"{found.safe_url} has an outbox. Next: {command('relay', app)}")


@outbox.command("status")
def status(app: AppOption = None, as_json: JsonOption = False) -> None:
    """Show how many rows wait, for how long, and what the engine refuses."""
    found = load(app).outbox
    state = asyncio.run(found.status())
    if as_json:
        print_json(_as_json(state))
        return
    say(f"Outbox in {found.safe_url}")
    say(_waiting(state))
    if state.errors:
        rows = [_row(refused) for refused in state.errors]
        print_table(
            ("id", "order key", "tries", "again", "error"), rows, "", spare=("order key",), whole=True
        )
    if state.refused > len(state.errors):
        say(f"and {_number(state.refused - len(state.errors))} more", "bright_black")
    for other in state.others:
        say(f"{about_other(other)}.", "yellow")


def _waiting(state: Status) -> str:
    if not state.waiting:
        return "Nothing waits: everything is dispatched."
    rows = "row waits" if state.waiting == 1 else "rows wait"
    refused = f" {_number(state.refused)} refused by the engine:" if state.refused else ""
    return f"{_number(state.waiting)} {rows}, the oldest for {state.lag:.1f} s.{refused}"


def _number(count: int) -> str:
    return f"{count:,}" if count < MOST_COUNTED else f"{MOST_COUNTED:,} or more"


def _row(refused: Refused) -> tuple[str | Text, ...]:
    return (
        refused.id,
        refused.order_key or "",
        Text(f"{refused.tries:,}", justify="right"),
        "now" if refused.retry_in <= 0 else f"in {refused.retry_in:.0f} s",
        refused.error,
    )


def _as_json(state: Status) -> dict[str, object]:
    return {
        "waiting": state.waiting,
        "lag_seconds": round(state.lag, 3),
        "refused": state.refused,
        "errors": [refused._asdict() for refused in state.errors],
        "others": [
            {"destination": other.destination, "waiting": other.waiting, "lag_seconds": round(other.lag, 3)}
            for other in state.others
        ],
    }
