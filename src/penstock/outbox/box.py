"""An app's outbox, as people ask for it: what to make, how it stands, and a relay."""

from __future__ import annotations

from penstock.engine import Finding, Level
from penstock.model.clock import Clock
from penstock.model.errors import InvalidOption, PenstockError
from penstock.outbox.relay import OpenEngine, Relay
from penstock.outbox.store import LATE, Status, Store, dialect_of
from penstock.outbox.stores import make_store
from penstock.outbox.tables import plan
from penstock.outbox.telling import about_other
from penstock.outbox.writer import Writer
from penstock.tasks.urls import masked

NOT_SET = (
    "this app has no outbox: give Penstock(outbox='postgresql://…'), the URL of your own database, "
    "or set PENSTOCK_OUTBOX"
)


class Outbox:
    """Tables in the user's own database, through which jobs reach an engine in another place."""

    def __init__(self, url: str, clock: Clock, keep_for: float, destination: str) -> None:
        self.url = url
        self.destination = destination  # whose rows are ours: other apps may have theirs in the same tables
        self.dialect = dialect_of(url)
        self.writer = Writer(url, clock, destination)
        self._clock = clock
        self._keep_for = keep_for

    @property
    def safe_url(self) -> str:
        """Its URL without secrets."""
        return masked(self.url)

    def plan(self) -> str:
        """The SQL that makes its tables; safe to run again."""
        return plan(self.dialect)

    async def apply(self) -> None:
        """Make its tables, where they are missing."""
        store = self._store()
        try:
            await store.apply(self.plan())
        finally:
            await store.close()

    async def status(self) -> Status:
        """What waits in it, and for how long."""
        store = self._store()
        try:
            return await store.status()
        finally:
            await store.close()

    async def lag(self) -> float:
        """For how many seconds the oldest row has waited."""
        return (await self.status()).lag

    async def examine(self) -> Finding:
        """Whether it gets emptied."""
        try:
            found = await self.status()
        except PenstockError as error:
            return Finding("outbox", Level.WARNING, f"{self.safe_url}: {error}")
        late = found.lag >= LATE or found.refused > 0 or bool(found.others)
        return Finding("outbox", Level.WARNING if late else Level.OK, _in_words(found))

    def relay(self, open_engine: OpenEngine) -> Relay:
        """One of any number of relays."""
        return Relay(self._store(), open_engine, self._keep_for)

    def _store(self) -> Store:
        return make_store(self.url, self._clock, self.destination)


def needed(outbox: Outbox | None) -> Outbox:
    """The outbox, or InvalidOption that says how to have one."""
    if outbox is None:
        raise InvalidOption(NOT_SET)
    return outbox


def _in_words(found: Status) -> str:
    return "; ".join([_of_ours(found), *map(about_other, found.others)])


def _of_ours(found: Status) -> str:
    if not found.waiting:
        return "empty: everything is dispatched"
    text = f"{found.waiting:,} rows wait, the oldest for {found.lag:.0f} s"
    if found.refused:
        text += f"; the engine refuses {found.refused:,} of them, see `penstock outbox status`"
    elif found.lag >= LATE:
        text += "; does `penstock relay` run, and can it reach the engine?"
    return text
