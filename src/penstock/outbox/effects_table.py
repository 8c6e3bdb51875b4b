"""The table of `ctx.once` in a database of the user's, as people ask for it: to be made, and pruned."""

from __future__ import annotations

from penstock.engine import EffectFilter, EffectName, EffectRecord
from penstock.model.clock import Clock, EngineClock
from penstock.outbox.store import EffectPage, Store, dialect_of
from penstock.outbox.stores import make_store
from penstock.outbox.tables import plan_effects
from penstock.tasks.urls import masked

STEP = 1_000  # records that one statement removes


class EffectsTable:
    """`penstock_effects` in the database of a URL, whether an outbox is there or not."""

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.dialect = dialect_of(url)
        self._clock = clock or EngineClock()

    @property
    def safe_url(self) -> str:
        """Its URL without secrets."""
        return masked(self.url)

    def plan(self) -> str:
        """The SQL that makes it; safe to run again."""
        return plan_effects(self.dialect)

    async def apply(self) -> None:
        """Make it, where it is missing."""
        store = self._store()
        try:
            await store.apply(self.plan())
        finally:
            await store.close()

    async def prune(self) -> int:
        """Remove the records whose time is over; how many there were."""
        store = self._store()
        removed = 0
        try:
            while gone := await store.prune_effects(STEP):
                removed += gone
        finally:
            await store.close()
        return removed

    async def page(
        self, app: str, where: EffectFilter, limit: int, after: EffectName | None = None
    ) -> list[EffectRecord]:
        """One page of an app's records, by task, key and name."""
        store = self._store()
        try:
            return await store.effects(EffectPage(app, where, limit, after))
        finally:
            await store.close()

    def _store(self) -> Store:
        return make_store(self.url, self._clock, "")
