"""What every command shares: which app, which output, and a session with its ops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

import typer

from penstock.app import Penstock
from penstock.audit import Actor
from penstock.model.errors import InvalidOption, PenstockError
from penstock.model.names import check_text
from penstock.model.states import State
from penstock.ops import Ops
from penstock.runtime.child import described
from penstock.tasks.loading import find_ref, load_app

T = TypeVar("T")

EXIT_UNAVAILABLE = 3  # the engine cannot be reached; try again

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

AppOption = Annotated[
    str | None, typer.Option("--app", "-a", help="module:app or file.py:app; else $PENSTOCK_APP")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs")]
QueueOption = Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue")]
TaskOption = Annotated[str | None, typer.Option("--task", "-t", help="Only this task")]
WhyOption = Annotated[str | None, typer.Option("--reason", help="Why; it is in the audit log")]
StateOption = Annotated[State | None, typer.Option("--state", "-s", help="Only this state")]
OwnerOption = Annotated[str | None, typer.Option(help="Only this owner's")]
KeyOption = Annotated[str | None, typer.Option(help="Only this idempotency key")]
TagOption = Annotated[str | None, typer.Option(help="Only with this tag")]
CreatedOption = Annotated[str | None, typer.Option("--since", help="Created in the last 30s, 15m, 2h, 7d")]
ArgOption = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="NAME=VALUE", help="Only with this argument; see searchable= of a task"),
]
AfterOption = Annotated[str | None, typer.Option(help="The last id of the page before")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Rows at most")]


def load(ref: str | None) -> Penstock:
    """The app that the command line, the environment or pyproject.toml names."""
    found = find_ref(ref)
    try:
        app = load_app(found)
    except PenstockError:
        raise
    except Exception as error:
        raise InvalidOption(f"loading {found!r} raised {described(error)}") from error
    assert isinstance(app, Penstock)
    return app


def with_ops(ref: str | None, ask: Callable[[Ops], Awaitable[T]], why: str | None = None) -> T:
    """Open the app's engine, ask, close; `why` goes with what is done to the audit log."""
    app, who = load(ref), actor(why)

    async def session() -> T:
        async with app:
            return await ask(app.ops_as(who))

    return asyncio.run(session())


def actor(why: str | None) -> Actor:
    """Who types this command, and why."""
    return Actor.here("cli", None if why is None else check_text("--reason", why))


def command(words: str, ref: str | None) -> str:
    """A command as the reader can type it: with --app where this one was given it."""
    return f"penstock {words}" if ref is None else f"penstock {words} --app {ref}"


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """What was given as NAME=VALUE; a value is never told again."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidOption(f"{option} takes NAME=VALUE")
        found[name] = value
    return found


def since(text: str | None) -> datetime | None:
    """The moment that lies `30s`, `15m`, `2h` or `7d` back."""
    if text is None:
        return None
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdecimal() or len(number) > 5:
        raise InvalidOption(f"{text!r} is not a time; write 30s, 15m, 2h or 7d")
    return datetime.now(UTC) - timedelta(seconds=int(number) * _UNITS[unit])


def seconds(text: str) -> float:
    """The length of `60`, `30s`, `15m`, `2h` or `7d`."""
    number, unit = (text, "s") if text[-1:].isdecimal() else (text[:-1], text[-1:])
    if unit not in _UNITS or not number.isdecimal() or len(number) > 9:
        raise InvalidOption(f"{text!r} is not a length of time; write 60, 30s, 15m, 2h or 7d")
    return float(number) * _UNITS[unit]
