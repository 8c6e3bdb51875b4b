"""What every command shares: which app, which output, and a session with its ops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from penstock.app import Penstock
from penstock.ops import Ops
from penstock.tasks.loading import find_ref, load_app

T = TypeVar("T")

AppOption = Annotated[
    str | None, typer.Option("--app", "-a", help="module:app or file.py:app [default: $PENSTOCK_APP]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Rows at most")]


def load(ref: str | None) -> Penstock:
    """The app that the command line, the environment or pyproject.toml names."""
    app = load_app(find_ref(ref))
    assert isinstance(app, Penstock)
    return app


def with_ops(ref: str | None, ask: Callable[[Ops], Awaitable[T]]) -> T:
    """Open the app's engine, ask, close."""
    app = load(ref)

    async def session() -> T:
        async with app:
            return await ask(app.ops)

    return asyncio.run(session())
