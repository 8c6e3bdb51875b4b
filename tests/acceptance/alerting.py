"""The app whose workers get into every trouble that there is a rule for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from penstock import Context, Penstock, Retry, Unrecoverable


def make_app(url: str | None = None, **options: Any) -> Penstock:
    app = Penstock(url, name="alerting", **options)
    app.queue("bad")
    app.queue("alone", concurrency=1)
    app.breaker("smtp", threshold=3)

    @app.task(name="works")
    async def works() -> None: ...

    @app.task(name="breaks", queue="bad")
    async def breaks() -> None:
        raise Unrecoverable("no such order")

    @app.task(name="overruns", queue="bad", timeout=0.1, retry=Retry.none())
    async def overruns() -> None:
        await asyncio.sleep(60)

    @app.task(name="mails", needs="smtp", retry=Retry.none())
    async def mails() -> None:
        raise ConnectionError("nobody answers")

    @app.task(name="dies", queue="alone")
    async def dies(ctx: Context) -> None:
        """Does not end; the second time, after a death, it does at once."""
        await asyncio.sleep(0 if ctx.job.suspect else 600)

    @app.task(name="lasts", timeout=100)
    async def lasts(until: str) -> None:
        while not Path(until).exists():
            await asyncio.sleep(0.02)

    @app.task(name="beats")
    async def beats() -> None: ...

    return app


def make_scheduled() -> Penstock:
    made = make_app()
    made.schedule("beat", made.tasks["beats"], every=1)
    return made


app = make_app()
scheduled = make_scheduled()
