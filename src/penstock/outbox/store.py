"""What a relay asks of the database that holds the outbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TypeAlias

from penstock.engine import EffectFilter, EffectName, EffectRecord
from penstock.lent import Dialect
from penstock.model.errors import InvalidOption, SchemaMissing
from penstock.tasks.urls import in_memory

STEP = 500  # rows of a round
STEP_BYTES = 4 * 1_048_576  # of a round, unless one row alone has more
KEYS = 200  # order keys that a round looks at
RUN = 100  # rows of one order key in a round
MOST_COUNTED = 100_000  # rows; whether there are a few more than so many is nobody's question
LATE = 60.0  # seconds of lag from which something is wrong
MOST_SHOWN = 20  # refused rows


class Row(NamedTuple):
    """One row of the outbox in a relay's hand."""

    seq: int
    order_key: str | None
    jobs: str
    age: float  # seconds since it was written
    tries: int


class Refusal(NamedTuple):
    """A row that the engine does not take as it is."""

    seq: int
    error: str
    retry_in: float


class Twin(NamedTuple):
    """A row of which no job was made: another held its key."""

    seq: int
    holder: str


class Verdict(NamedTuple):
    """What became of the rows of a round; those not named here are left as they were."""

    dispatched: list[int]
    refused: list[Refusal]
    duplicates: list[Twin]  # of those dispatched


class Served(NamedTuple):
    """What a round has done, and whether more is there to be done at once."""

    verdict: Verdict
    more: bool


class Refused(NamedTuple):
    """A refused row, for people."""

    id: str
    order_key: str | None
    tries: int
    error: str
    retry_in: float


class Other(NamedTuple):
    """Rows of which relays of another app, or of another engine, are to bring the jobs."""

    destination: str
    waiting: int
    lag: float


class Status(NamedTuple):
    """How an outbox stands."""

    waiting: int  # rows not dispatched, MOST_COUNTED at most
    lag: float  # seconds: the age of the oldest of them, 0 where there is none
    refused: int  # those of them that the engine did not take, MOST_COUNTED at most
    errors: tuple[Refused, ...]  # the first of these
    others: tuple[Other, ...] = ()  # those that have waited for LATE


class EffectPage(NamedTuple):
    """Which records of effects: of one app, those that match, from after the last of the page before."""

    app: str
    where: EffectFilter
    limit: int
    after: EffectName | None

    def values(self) -> dict[str, str | int | None]:
        """As the statement has them."""
        names = EffectName._fields
        return {
            "app": self.app,
            "limit": self.limit,
            **{name: getattr(self.where, name) for name in names},
            **{f"after_{name}": getattr(self.after, name, None) for name in names},
        }


Dispatch: TypeAlias = Callable[[Sequence[Row]], Awaitable[Verdict]]


class Store(Protocol):
    """An outbox, as relays see it. Any number may use it at once."""

    async def open(self) -> None:
        """Connect; SchemaMissing where the table is not there."""

    async def close(self) -> None:
        """Let go of every connection. Safe to call twice."""

    async def serve(self, dispatch: Dispatch) -> Served:
        """Take rows that no other relay has, have them dispatched, and write down what became of them.

        Rows of one order key come in order, and only from the first one on that is not dispatched. Where
        `dispatch` raises, or the relay dies, the rows are as they were.
        """
        ...

    async def wait(self, timeout: float) -> None:
        """Return when a row may be there, or after `timeout` seconds. May return early."""

    async def prune(self, older_than: float, limit: int) -> int:
        """Remove rows of ours that were dispatched more than so many seconds ago; how many."""
        ...

    async def prune_effects(self, limit: int) -> int:
        """Remove effects past their time; how many. It need not be open."""
        ...

    async def effects(self, page: EffectPage) -> list[EffectRecord]:
        """Records of effects, by task, key and name; it need not be open."""
        ...

    async def status(self) -> Status:
        """How it stands; it need not be open."""
        ...

    async def apply(self, plan: str) -> None:
        """Make tables, where they are missing; it need not be open."""


def missing(what: str) -> SchemaMissing:
    """The outbox, or the table of effects, is not there: how to make it."""
    if "penstock_effects" in what:
        return SchemaMissing(
            f"ctx.once() has no table there: {what}. Run `penstock effects apply --database URL`, or put "
            "what `penstock effects plan` prints into your own migrations"
        )
    return SchemaMissing(
        f"the outbox has no table there: {what}. Run `penstock outbox apply`, or put what "
        "`penstock outbox plan` prints into your own migrations"
    )


@contextmanager
def explained(table: str) -> Iterator[None]:
    """Whichever driver of the user's says it: a missing table can be made."""
    try:
        yield
    except Exception as error:
        text = str(error).partition("\n")[0]
        if table in text and ("does not exist" in text or "no such table" in text):
            raise missing(text) from error
        raise


def dialect_of(url: str) -> Dialect:
    """In which SQL the tables of this URL are; InvalidOption where none can be."""
    scheme = url.partition("://")[0]
    if scheme not in ("sqlite", "postgresql", "postgres") or in_memory(url):
        raise InvalidOption(
            "the outbox must be in your own database, PostgreSQL or a file of SQLite, and so must the table "
            "of ctx.once(); write postgresql://… or sqlite:///…, as outbox=, PENSTOCK_OUTBOX or --database"
        )
    return "sqlite" if scheme == "sqlite" else "postgresql"
