"""Workers over the user's own table: claim its rows in batches, make each row's output once.

Names are imported when first used: declaring a table costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.table.context import RowContext, SyncRowContext
    from penstock.table.declared import Table
    from penstock.table.row import Row
    from penstock.table.worker import TableWorker

__all__ = ["Row", "RowContext", "SyncRowContext", "Table", "TableWorker"]

_HOMES = {
    "Row": "row",
    "RowContext": "context",
    "SyncRowContext": "context",
    "Table": "declared",
    "TableWorker": "worker",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock.table' has no attribute {name!r}")
    return getattr(import_module(f"penstock.table.{_HOMES[name]}"), name)
