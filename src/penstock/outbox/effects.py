"""ctx.once() in the user's own database, where that is not the engine's: a row of his transaction."""

from __future__ import annotations

from typing import Any

from penstock.engine import Effect
from penstock.engines.sqlite.instants import micro, now_by
from penstock.lent import AsyncLent, Lent
from penstock.model.clock import Clock
from penstock.outbox.store import explained
from penstock.outbox.tables import sql


class SatelliteEffects:
    """Records effects on the user's connection, wherever that leads."""

    def __init__(self, clock: Clock, app: str) -> None:
        self._clock = clock
        self._app = app  # whose tasks these are: others may have theirs in the same table

    def once(self, lent: Lent, effect: Effect) -> bool:
        with explained("penstock_effects"):
            return bool(lent.fetch(*self._insert(lent, effect)))

    async def aonce(self, lent: AsyncLent, effect: Effect) -> bool:
        with explained("penstock_effects"):
            return bool(await lent.fetch(*self._insert(lent, effect)))

    def _insert(self, lent: Lent | AsyncLent, effect: Effect) -> tuple[Any, ...]:
        statement = sql(lent.dialect)["once"]
        names = (self._app, effect.task, effect.key, effect.name, effect.job_id)
        if lent.dialect == "sqlite":
            now = now_by(self._clock)
            return (statement, *names, now, now + micro(effect.keep_for))
        at = self._clock.now()
        return (statement, *names, None if at is None else at.isoformat(), effect.keep_for)
