"""A table as its user declares it: every name checked before any of them comes near SQL."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from penstock.model.errors import InvalidOption, in_seconds
from penstock.model.failure import Classifier
from penstock.model.retry import Retry
from penstock.table.names import check_identifier, check_table, check_word
from penstock.table.options import TableOptions, completed
from penstock.tasks.inherit import MAX_SLOTS, count
from penstock.tasks.urls import check_url, in_memory, is_redis, is_sqlite

Handler: TypeAlias = Callable[..., Any]

MAX_BATCH = 1_000
LEAST_POLL = 0.05  # seconds
LEAST_STUCK = 1.0


_put = object.__setattr__  # they are frozen, and keep what was checked: text that cannot change what it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the status column says."""

    queued: str = "queued"
    started: str = "started"
    completed: str = "completed"
    failed: str = "failed"

    def __post_init__(self) -> None:
        for f in fields(self):
            _put(self, f.name, check_word(f.name, getattr(self, f.name)))
        words = {getattr(self, f.name) for f in fields(self)}
        if len(words) < len(fields(self)):
            raise InvalidOption("queued, started, completed and failed need a word each")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which column holds what."""

    id: str = "id"
    status: str = "status"
    order_by: str = "created_at"
    started: str = "started_at"
    completed: str = "completed_at"
    error: str = "error"
    attempts: str = "attempts"  # claims, less those that were handed back, snoozed or stuck
    stuck: str = "stuck"  # how often the row was taken back from an instance that was gone
    retry: str = "retry_at"  # set while a row waits for its next attempt
    token: str = "claim"  # fresh for each claim: only its holder may end the row  # noqa: S105

    def __post_init__(self) -> None:
        for f in fields(self):
            _put(self, f.name, check_identifier(f"column {f.name}", getattr(self, f.name)))
        kept = [getattr(self, f.name) for f in fields(self) if f.name not in ("id", "order_by")]
        if len(set(kept)) < len(kept) or self.id in kept:
            raise InvalidOption("each of what is kept about a row needs a column of its own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A declared table: where it is, what is in it, and who works on its rows."""

    name: str  # under which it is known to commands; the table's, unless given
    table: str
    handler: Handler
    schema: str | None = None
    output: str | None = None
    source_column: str | None = None
    columns: Columns = field(default_factory=Columns)
    words: Words = field(default_factory=Words)
    batch: int = 10
    concurrency: int = 10
    poll: float = 5.0
    stuck_after: float = 600.0
    max_stuck: int = 3
    retry: Retry = field(default_factory=Retry)
    classify: Classifier | None = None
    wake: bool = False
    url: str | None = field(default=None, repr=False)  # None: the engine's

    def __post_init__(self) -> None:
        for what in ("name", "table", "schema", "output", "source_column"):
            if (name := getattr(self, what)) is not None or what in ("name", "table"):
                check = check_table if what in ("table", "output") else check_identifier
                _put(self, what, check(what, name))
        if (self.output is None) != (self.source_column is None):
            raise InvalidOption("output= and source_column= go together: the column that names the row")
        if self.output == self.table:
            raise InvalidOption("output= is the table itself; name the one that its outputs go to")
        count("batch", self.batch, 1, MAX_BATCH)
        count("concurrency", self.concurrency, 1, MAX_SLOTS)
        count("max_stuck", self.max_stuck)
        _at_least("poll", self.poll, LEAST_POLL)
        _at_least("stuck_after", self.stuck_after, LEAST_STUCK)
        _check_handler(self.handler)

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.handler)

    def at(self, engine_url: str) -> str:
        """The URL of the database in which the table is; InvalidOption where it cannot be there."""
        url = self.url or engine_url
        check_url(url)
        if is_redis(url):
            raise InvalidOption(
                f"table {self.name!r} cannot be in Redis; give url= with the PostgreSQL or SQLite it is in"
            )
        if in_memory(url):
            raise InvalidOption(
                f"table {self.name!r} cannot be in a database in memory; give url= with a file"
            )
        if is_sqlite(url) and self.schema is not None:
            raise InvalidOption("there are no schemas in SQLite; leave schema= out")
        if is_sqlite(url) and self.wake:
            raise InvalidOption("wake= is for PostgreSQL; on SQLite give a shorter poll=")
        return url


def make_table(table: str, handler: Handler, options: TableOptions, inherited: Retry) -> Table:
    """Read what `@app.table` was given."""
    given = completed(options)
    words = Words(**{f.name: given.pop(f.name) for f in fields(Words)})
    columns = Columns(**{f.name: given.pop(_option_of(f.name)) for f in fields(Columns)})
    if given["concurrency"] is None:
        given["concurrency"] = given["batch"]
    for what in ("poll", "stuck_after"):
        given[what] = in_seconds(what, given[what])
    return Table(
        **(given | {"name": table if given["name"] is None else given["name"], "retry": inherited}),
        table=table,
        handler=handler,
        columns=columns,
        words=words,
    )


def _option_of(column: str) -> str:
    return column if column == "order_by" else f"{column}_column"


def _at_least(what: str, seconds: float, least: float) -> None:
    if seconds < least:
        raise InvalidOption(f"{what} takes at least {least:g} seconds")


def _check_handler(handler: Handler) -> None:
    try:
        inspect.signature(handler).bind(None, None)
    except TypeError:
        raise InvalidOption("a table's handler takes two arguments: def process(ctx, row)") from None
