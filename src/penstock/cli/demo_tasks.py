"""The tasks that `penstock demo` runs: a small shop, with everything that can happen to a job.

What the shop depends on fails when the story wants it to: a file in the demo's folder says that it is away.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from datetime import timedelta
from pathlib import Path

from penstock import Context, Penstock, Retry, SyncContext, Unrecoverable

FOLDER = "PENSTOCK_DEMO"  # the environment variable
WAREHOUSE, GATEWAY = "warehouse", "gateway"  # what can be away

app = Penstock(name="demo shop")
app.queue("email", retry=Retry.exponential(5, 0.3))
app.queue("media", concurrency=4)
app.queue("billing", retry=Retry.exponential(3, 0.5))
app.queue("messages", rate="5/s", retry=Retry.exponential(5, 0.5))
app.queue("models", rate="1/2s", rate_key="{provider}")
app.queue("reports")
app.breaker("whatsapp", threshold=3, reset=4)


class CrmAway(ConnectionError):
    """The customer database answers only now and then."""


class WarehouseAway(ConnectionError):
    """The stock cannot be written down."""


class GatewayAway(ConnectionError):
    """Messages cannot be sent."""


def mark(what: str, *, away: bool) -> None:
    """From now on this is away, or back."""
    file = Path(os.environ[FOLDER], what)
    if away:
        file.touch()
    else:
        file.unlink(missing_ok=True)


def is_away(what: str) -> bool:
    return Path(os.environ.get(FOLDER, ""), what).is_file()


# -- email: quick, and now and then a second try ---------------------------------------------------------
@app.task(queue="email", key="receipt:{order_id}", searchable=["order_id"])
async def send_receipt(order_id: int, to: str) -> str:
    """Send a receipt: quick, hundreds of them."""
    await asyncio.sleep(0.02)
    return f"sent to {to}"


@app.task(queue="email")
async def sync_customer(ctx: Context, customer: int) -> str:
    """Tell the customer database, which answers at the third try."""
    if ctx.attempt < 3:
        raise CrmAway(f"customer database not reached (attempt {ctx.attempt})")
    return f"customer {customer} in step"


@app.task(queue="email")
async def remind_of_cart(cart: int) -> str:
    """Remind somebody of a full cart, a while later."""
    return f"cart {cart}: reminded"


# -- media: long, with progress; one file crashes its process --------------------------------------------
@app.task(queue="media")
def render_invoice(ctx: SyncContext, order_id: int, pages: int) -> int:
    """Render a long document, page by page, in a thread."""
    for page in range(1, pages + 1):
        time.sleep(0.15)
        ctx.progress(100 * page / pages, f"page {page} of {pages}")
    return pages


@app.task(queue="media")
def parse_upload(path: str) -> str:
    """Parse a file; a broken one makes the parser crash, and its process with it."""
    if path.startswith("broken"):
        os.kill(os.getpid(), signal.SIGSEGV)
    return f"{path}: 3 tables"


# -- billing: what fails for good ------------------------------------------------------------------------
@app.task(queue="billing")
async def charge_card(order_id: int, card: str) -> str:
    """Charge a card; with one that is blocked, trying again cannot help."""
    if card == "blocked":
        raise Unrecoverable(f"order {order_id}: the card is blocked")
    return f"order {order_id} paid"


@app.task(queue="billing")
async def update_stock(order_id: int) -> str:
    """Write the stock down, in the warehouse; what used up its attempts is recovered when that is back."""
    await asyncio.sleep(0.05)
    if is_away(WAREHOUSE):
        raise WarehouseAway(f"order {order_id}: the warehouse does not answer")
    return f"order {order_id} taken from stock"


# -- messages: five a second, behind a breaker -----------------------------------------------------------
@app.task(queue="messages", needs="whatsapp")
async def send_message(customer: int, text: str) -> str:
    """Send a message by a gateway that is down now and then: then messages wait, and spend no attempt."""
    await asyncio.sleep(0.1)
    if is_away(GATEWAY):
        raise GatewayAway("the gateway does not answer")
    return f"customer {customer} has: {text}"


@app.task(queue="models")
async def describe_product(provider: str, product: int) -> str:
    """Ask a language model, each provider at its own pace."""
    await asyncio.sleep(0.4)
    return f"{provider} praises product {product}"


# -- reports: a flow, and by the clock -------------------------------------------------------------------
@app.task(queue="reports")
async def collect_sales(region: str) -> int:
    """Gather the sales of one region."""
    await asyncio.sleep(1.0)
    return 100 * len(region)


@app.task(queue="reports")
async def write_report(ctx: Context) -> int:
    """Add up what was collected before."""
    await asyncio.sleep(0.5)
    return int(sum(await ctx.results_of(collect_sales)))


@app.task(queue="reports")
async def mail_report(to: str) -> str:
    """Send it round."""
    return f"report sent to {to}"


@app.task(queue="reports")
async def count_visitors() -> int:
    """A number for the shop's front page."""
    await asyncio.sleep(0.2)
    return 42


@app.task(queue="reports")
async def back_up() -> None:
    """Copy the shop's data."""


@app.task(queue="reports")
async def check_backup() -> None:
    """Read the copy again."""


app.schedule("visitors", count_visitors, every=timedelta(seconds=10))
app.schedule("hourly-sales", collect_sales, cron="0 * * * *", args={"region": "Lisbon"})
app.schedule("backup", back_up, cron="0 3 * * *", tz="America/Sao_Paulo")
app.schedule("backup-check", check_backup, cron="30 3 * * *", tz="America/Sao_Paulo", after=["backup"])
