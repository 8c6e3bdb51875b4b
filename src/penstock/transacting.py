"""What the handlers of an app may do in transactions: by its URL, its schema, its clock and its outbox."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from penstock.engine import Engine, OnLent, Transactions
from penstock.model.clock import Clock
from penstock.opening import on_lent, transactions
from penstock.outbox.effects import SatelliteEffects
from penstock.tasks.client import Putting
from penstock.tasks.transacting import Completing, Recording
from penstock.tasks.urls import is_redis


class StandIn(Putting, Completing, Protocol):
    """What a sandbox does on lent connections, in the place of an engine."""


class Where(NamedTuple):
    """Where the jobs of an app live now."""

    url: str
    schema: str
    clock: Clock
    has_outbox: bool
    app: str  # under which effects are recorded in a database of the user's


class AppTransactions:
    """See `penstock.tasks.transacting.Transacting`. Handlers in threads ask it too."""

    def __init__(self, where: Callable[[], Where], engine: Callable[[], Engine], most: int) -> None:
        self.most = most  # connections kept for the next transactions, as many as there are slots
        self.stand_in: StandIn | None = None
        self._where = where
        self._engine = engine
        self._lock = threading.Lock()
        self._made: tuple[tuple[Where, int], Transactions] | None = None

    def own(self) -> Transactions:
        where, most = given = self._where(), self.most
        with self._lock:
            if self._made is None or self._made[0] != given:
                self._close()
                made = transactions(where.url, where.schema, where.clock, self._engine, most)
                self._made = given, made
            return self._made[1]

    def completing(self) -> Completing:
        if self.stand_in is None:
            self.own()  # refuses where there can be none
        return self.stand_in or self._on_lent()

    def recording(self) -> Recording:
        where = self._where()
        if self.stand_in is not None:
            return self.stand_in
        if where.has_outbox or is_redis(where.url):
            return SatelliteEffects(where.clock, where.app)
        return self._on_lent()

    def close(self) -> None:
        """Let go of the connections that are not in use."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._made is not None:
            self._made[1].close()
            self._made = None

    def _on_lent(self) -> OnLent:
        where = self._where()
        return on_lent(where.url, where.schema, where.clock)
