"""What an app lets its handlers do in transactions: made by the front door, which alone knows its engines."""

from __future__ import annotations

from typing import Protocol

from penstock.engine import Effect, Settlement, Transactions
from penstock.lent import AsyncLent, Lent


class Settling(Protocol):
    """Completes runs on a lent connection."""

    def settle(self, lent: Lent, end: Settlement) -> bool: ...

    async def asettle(self, lent: AsyncLent, end: Settlement) -> bool: ...


class Recording(Protocol):
    """Records effects on a lent connection."""

    def once(self, lent: Lent, effect: Effect) -> bool: ...

    async def aonce(self, lent: AsyncLent, effect: Effect) -> bool: ...


class Completing(Settling, Recording, Protocol):
    """Both, in the jobs' own database."""


class Transacting(Protocol):
    """Asked each time: a test moves its app."""

    def own(self) -> Transactions:
        """Transactions on connections of our own; NotSupported where the engine has none."""
        ...

    def completing(self) -> Completing:
        """How a run is completed on the user's connection to the jobs' database; NotSupported likewise."""
        ...

    def recording(self) -> Recording:
        """How an effect is recorded on the user's connection, wherever that leads."""
        ...
