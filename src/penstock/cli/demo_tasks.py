"""The tasks that `penstock demo` runs: a small shop, with everything that can happen to a job."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from penstock import Context, Penstock, Retry, SyncContext, Unrecoverable

app = Penstock()
app.queue("email", retry=Retry.exponential(5, 0.3))
app.queue("media", concurrency=4)


class CrmAway(ConnectionError):
    """The customer database answers only now and then."""


@app.task(queue="email", key="receipt:{order_id}")
async def send_receipt(order_id: int, to: str) -> str:
    """Send a receipt: quick, hundreds of them."""
    await asyncio.sleep(0.02)
    return f"sent to {to}"


@app.task(queue="media")
def render_invoice(ctx: SyncContext, order_id: int, pages: int) -> int:
    """Render a long document, page by page, in a thread."""
    for page in range(1, pages + 1):
        time.sleep(0.15)
        ctx.progress(100 * page / pages, f"page {page} of {pages}")
    return pages


@app.task(queue="email")
async def sync_customer(ctx: Context, customer: int) -> str:
    """Tell the customer database, which answers at the third try."""
    if ctx.attempt < 3:
        raise CrmAway(f"customer database not reached (attempt {ctx.attempt})")
    return f"customer {customer} in step"


@app.task
async def charge_card(order_id: int) -> None:
    """Charge a card that is blocked: trying again cannot help."""
    raise Unrecoverable(f"order {order_id}: the card is blocked")


@app.task(queue="media")
def parse_upload(path: str) -> None:
    """Parse a file that makes the parser crash, and its process with it."""
    os.kill(os.getpid(), signal.SIGSEGV)
