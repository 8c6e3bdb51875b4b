"""Tasks that leave something to look at: logs, steps, effects, flows, failures that can be mended."""

from __future__ import annotations

from penstock import Context, Penstock, Retry, Unrecoverable

HOSTILE = "<img src=x onerror=alert(1)></script><svg onload=alert(1)>"
mended: set[str] = set()  # whose failures are mended by now


def add_jobs(app: Penstock) -> None:
    app.queue("slow")

    @app.task(queue="slow", name="ship", retry=Retry.fixed(2, 0.01))
    async def ship(ctx: Context, parcel: str) -> None:
        """Leaves all that a job can leave."""
        ctx.log.info("shipping %s", parcel)
        ctx.log.warning(HOSTILE)
        await ctx.progress(30, HOSTILE)
        await ctx.step(HOSTILE, lambda: {"label": HOSTILE})
        if ctx.attempt == 1:
            raise ConnectionError(HOSTILE)
        async with ctx.transaction() as tx:
            await ctx.once(f"label {HOSTILE}")
            tx.set_result({"parcel": parcel, "note": HOSTILE})

    @app.task(queue="slow", name="charge")
    async def charge(shop: str, amount: int, card: str = "4111") -> str:
        if shop not in mended:
            raise Unrecoverable(f"the bank says no to {amount} {shop}")
        return "paid"

    @app.task(queue="slow", name="label")
    async def label(key: int = 1, delay: int = 2, priority: int = 3, owner: int = 4, tags: int = 5) -> int:
        """Its arguments are called as the options of a job are."""
        return key + delay + priority + owner + tags
