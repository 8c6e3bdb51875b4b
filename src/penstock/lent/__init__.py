"""Connections that a caller lends us, whichever driver or framework they come from; none is imported here."""

from penstock.lent.connection import AsyncLent, Dialect, Lent, Value
from penstock.lent.offered import AsyncConnection, SyncConnection
from penstock.lent.recognise import lent, require

__all__ = [
    "AsyncConnection",
    "AsyncLent",
    "Dialect",
    "Lent",
    "SyncConnection",
    "Value",
    "lent",
    "require",
]
