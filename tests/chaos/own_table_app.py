"""The instance that is killed: invoices become receipts, by each of the two ways to write an output."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from penstock import Penstock
from penstock.cli.tables import work_on
from penstock.runtime import signals
from penstock.table import Row, RowContext
from penstock.table.postgres import store as _postgres  # noqa: F401 - loaded once, before instances are forked
from penstock.table.sqlite import store as _sqlite  # noqa: F401

STUCK_AFTER = 5.0  # seconds


def make(url: str) -> Penstock:
    app = Penstock(url)
    mark = "?" if url.startswith("sqlite") else "%s"

    @app.table(
        "invoices",
        output="receipts",
        source_column="invoice_id",
        batch=10,
        poll=0.5,
        stuck_after=STUCK_AFTER,
    )
    async def process(ctx: RowContext, row: Row) -> dict[str, Any] | None:
        """Most return their receipt; every tenth row's is written by its handler."""
        if row.id % 10:
            return {"text": f"receipt of {row.total}"}
        async with ctx.transaction() as tx:
            await tx.execute(
                f"insert into receipts (invoice_id, text) values ({mark}, {mark})",
                (row.id, f"receipt of {row.total}"),
            )
        return None

    return app


make("sqlite:///own.db").table_worker()  # so that whatever this needs is loaded before it is forked


def instance(url: str, log: str) -> None:
    """What `penstock table work` does."""
    logging.basicConfig(filename=log, level="WARNING", format="%(asctime)s %(process)d %(message)s")
    asyncio.run(work_on(make(url)))
    signals.ignore()
