"""Where the user's rows are claimed, settled and taken back: the verbs, the same for every database.

A claim gives each row a fresh random token; whatever ends a row is conditional on its id, that token and its
being started. So a row that was taken back and claimed by another instance is out of reach for the first one.
The completion of a row and its output are one transaction, which begins with the completion: that holds the
row, so nobody else can make its output meanwhile, and sees whether there is one already.

Rows are changed by the batch. Where the database refuses that, because of one of them, each is changed by
itself, and those that refuse are left aside.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from penstock.engines.statements import load
from penstock.model.clock import Clock
from penstock.model.errors import EngineError, EngineUnavailable, InvalidOption, LeaseLost
from penstock.model.failure import described
from penstock.table.aside import ASIDE_FOR, Aside
from penstock.table.declared import Table
from penstock.table.names import check_identifier, quoted
from penstock.table.row import Row
from penstock.table.shape import Shape
from penstock.table.statements import fill, qualified
from penstock.table.values import (
    Answer,
    Duplicate,
    Ended,
    Ending,
    Output,
    Ready,
    Recovered,
    Refused,
    Taken,
    Unreadable,
)

log = logging.getLogger("penstock.table")

Dialect: TypeAlias = Literal["postgresql", "sqlite"]

OURS = 4  # columns before the user's own in a claimed row: id, token, attempts, whether its output exists
MAX_ERROR = 2_000
MOST_ASIDE = 1_000  # rows that refuse a change; where there are more it is the table that does
_NEXT = "next "
VERBS = ("claim", "adopt", "recover", "stage")  # those that look for rows themselves


class Tx(Protocol):
    """One open transaction."""

    connection: Any  # the driver's own

    def execute(self, sql: str, values: Any = ()) -> Answer:
        """A statement of the user's, in his driver's manner; his driver's errors."""

    def fetch(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> Answer:
        """A statement of ours; our errors, Refused among them. A value that cannot be read is Unreadable."""

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement of ours for many rows."""


class Store(ABC):
    """One table in one database. Blocking, and safe to use from several threads."""

    dialect: ClassVar[Dialect]
    mark: ClassVar[str]  # stands for a value in the user's statements
    limit: ClassVar[str]  # stands for the value of this name in ours

    def __init__(self, table: Table, clock: Clock, package: str) -> None:
        self.table = table
        self._clock = clock
        self._files = load(package)
        self._which = load(package, "which")
        self._sql: Mapping[str, str] = {}
        self._aside = {verb: Aside() for verb in VERBS}
        self._error_length = MAX_ERROR

    # -- what differs between databases ---------------------------------------------------------------
    @abstractmethod
    def transaction(self, cap: float | None = None) -> AbstractContextManager[Tx]:
        """Commits at the end of the block, or rolls back; rolled back before where it takes over `cap`."""

    @abstractmethod
    def statement(self) -> AbstractContextManager[Tx]:
        """For one statement that waits for no lock: it is a transaction by itself."""

    @abstractmethod
    def shape(self) -> Shape:
        """What is there now."""

    @abstractmethod
    def apply(self, statements: Sequence[str], *, together: bool) -> None:
        """Change the schema, all or nothing where `together`."""

    @abstractmethod
    def now(self) -> Any:
        """The injected time as the database's parameter; None: its own clock judges."""

    @abstractmethod
    def value(self, value: Any) -> Any:
        """What a handler returned for a column, as the driver takes it."""

    @abstractmethod
    def close(self) -> None: ...

    def listen(self, heard: Callable[[], None]) -> AbstractContextManager[None] | None:
        """Call `heard` whenever a row may have been queued; None where nobody tells."""
        del heard
        return None

    # -- verbs ----------------------------------------------------------------------------------------
    def prepare(self, shape: Shape) -> None:
        """Make the statements for the tables as they are."""
        names = fill(self.table, shape, self.dialect)
        which = {verb: sql.format_map(names).strip() for verb, sql in self._which.items()}
        self._sql = {
            verb: sql.format_map(names | {"which": which.get(verb, "")}) for verb, sql in self._files.items()
        } | {_next(verb): f"select {names['id']} {rows} limit {self.limit}" for verb, rows in which.items()}
        error = shape.column(self.table.columns.error)
        self._error_length = min(MAX_ERROR, (error and error.length) or MAX_ERROR)

    def claim(self, limit: int) -> list[Taken]:
        """Start the next queued rows, in order, each under a token of its own."""
        answers = self._each("claim", limit)
        taken = [_taken(answer.names, row) for answer in answers for row in answer]
        return [
            row for row in taken if not isinstance(row.id, Unreadable)
        ]  # which nobody can name: it is stuck

    def complete(self, group: Sequence[Ready]) -> list[Ended | EngineError]:
        """Complete rows and write their outputs, in one transaction; an output that is there stays the only
        one. What the database does not let in spoils its own row and no other.

        EngineUnavailable where nothing was done, or nobody knows.
        """
        try:
            return self._complete_together(group)
        except EngineUnavailable:
            raise
        except Exception:  # noqa: BLE001 - drivers raise whatever it is that a value cannot be written for
            return [self._complete_alone(ready) for ready in group]

    def _complete_together(self, group: Sequence[Ready]) -> list[Ended | EngineError]:
        with self.transaction() as tx:
            made = self._completed(tx, [ready.taken for ready in group])
            news = [ready.columns for ready in group if ready.columns and made.get(ready.taken.id) is False]
            for names, rows in groupby(news, key=tuple):
                tx.write(self._insert(names), [list(row.values()) for row in rows])
        return [_ended(made.get(ready.taken.id)) for ready in group]

    def _complete_alone(self, ready: Ready) -> Ended | EngineError:
        try:
            with self.settling(ready.taken) as tx:
                if ready.columns:
                    tx.write(self._insert(ready.columns), [list(ready.columns.values())])
        except Duplicate:
            return Ended.DUPLICATE
        except LeaseLost:
            return Ended.LOST
        except Refused as error:
            return self._look_again(ready.taken, error)
        except EngineUnavailable:
            raise
        except EngineError as error:
            return error
        except Exception as error:  # noqa: BLE001 - as above
            return EngineError(f"the output cannot be written: {described(error)}")
        return Ended.COMPLETED

    def _look_again(self, taken: Taken, error: Refused) -> Ended | EngineError:
        """A constraint refused the output: because somebody else has made it, or for another reason."""
        try:
            with self.settling(taken):
                raise error
        except Duplicate:
            return Ended.DUPLICATE
        except LeaseLost:
            return Ended.LOST
        except Refused as refused:
            return refused

    @contextmanager
    def settling(self, taken: Taken, cap: float | None = None) -> Iterator[Tx]:
        """The transaction that completes a row: Duplicate where its output is there, LeaseLost where it is
        another's by now."""
        with self.transaction(cap) as tx:
            made = self._completed(tx, [taken]).get(taken.id)
            if made is None:
                raise LeaseLost(f"row {taken.id} of {self.table.name} has passed on: this run is refused")
            if not made:
                yield tx
                return
        raise Duplicate(f"row {taken.id} of {self.table.name} has its output already")

    def end(self, taken: Taken, ending: Ending) -> bool:
        """Hand a row back, or fail it; False where it is another's by now."""
        error = None if ending.error is None else ending.error[: self._error_length]
        with self.transaction() as tx:
            answer = self.ask(
                tx,
                "end",
                id=taken.id,
                token=taken.token,
                status=ending.status,
                again=ending.status == self.table.words.queued,
                error=error,
                delay=ending.delay,
                refund=ending.refund,
            )
            return answer.rowcount == 1

    def recover(self, limit: int) -> list[Recovered]:
        """Take stuck rows back: completed where their output exists, else queued, at last failed."""
        self._each("adopt", limit)
        error = f"stuck: taken back {self.table.max_stuck} times, and never ended"
        answers = self._each(
            "recover",
            limit,
            after=self.table.stuck_after,
            most=self.table.max_stuck,
            error=error[: self._error_length],
        )
        return [Recovered(*row) for answer in answers for row in answer]

    def stage(self, limit: int) -> int:
        """Let rows be claimed whose wait for the next attempt is over; how many."""
        return sum(answer.rowcount for answer in self._each("stage", limit))

    # -- by the batch, or one by one ------------------------------------------------------------------
    def _each(self, verb: str, limit: int, **values: Any) -> list[Answer]:
        """Change the rows that a verb finds: all at once, or those that can be."""
        try:
            return [self._changed(verb, limit, **values)]
        except Refused:
            return self._one_by_one(verb, limit, **values)

    def _one_by_one(self, verb: str, limit: int, **values: Any) -> list[Answer]:
        with self.statement() as tx:
            found = [row_id for (row_id,) in self._find(tx, _next(verb), limit, **values)]
        answers = []
        for row_id in found:
            try:
                answers.append(self._changed(verb, 1, only=row_id, **values))
            except Refused as error:
                self._put_aside(verb, row_id, error)
        return answers

    def _put_aside(self, verb: str, row_id: Any, error: Refused) -> None:
        aside = self._aside[verb]
        if len(aside.ids()) >= MOST_ASIDE:
            raise error
        aside.put(row_id)
        name = f"row {row_id} of {self.table.name}"
        log.warning("%s cannot be changed (%s), and is left aside for %g s: %s", name, verb, ASIDE_FOR, error)

    def _changed(self, verb: str, limit: int, **values: Any) -> Answer:
        with self.statement() as tx:
            return self._find(tx, verb, limit, **values)

    def _find(self, tx: Tx, statement: str, limit: int, **values: Any) -> Answer:
        """A statement of one of the VERBS; which rows it is about is for the database to find."""
        aside = self._aside[statement.removeprefix(_NEXT)].ids()
        return self.ask(tx, statement, **{"limit": limit, "only": None, "aside": aside, **values})

    # -- parts ----------------------------------------------------------------------------------------
    def ask(self, tx: Tx, verb: str, **values: Any) -> Answer:
        return tx.fetch(self._sql[verb], {"now": self.now(), **values})

    @abstractmethod
    def _completed(self, tx: Tx, rows: Sequence[Taken]) -> dict[Any, bool]:
        """Complete the rows that are still ours; whether each has its output already."""

    def ready(self, taken: Taken, output: Output) -> Ready:
        """A row with what its handler returned; InvalidOption where that cannot be an output."""
        if output is None:
            return Ready(taken, {})
        if self.table.source_column is None:
            raise InvalidOption(f"the handler of {self.table.name} returned a row, and there is no output=")
        if not isinstance(output, Mapping):
            raise InvalidOption(
                f"the handler of {self.table.name} returned {type(output).__name__}; "
                "return a mapping of the output's columns, or None"
            )
        columns = {check_identifier("column", name): self.value(value) for name, value in output.items()}
        if columns.setdefault(self.table.source_column, taken.id) != taken.id:
            raise InvalidOption(f"{self.table.source_column} of an output is the id of its row; leave it out")
        return Ready(taken, columns)

    def _insert(self, names: Iterable[str]) -> str:
        columns = [quoted(name) for name in names]
        marks = ", ".join([self.mark] * len(columns))
        output = qualified(self.table, self.table.output or "")
        return f"insert into {output} ({', '.join(columns)}) values ({marks})"  # noqa: S608


def _next(verb: str) -> str:
    """The statement that says which rows a verb would change."""
    return f"{_NEXT}{verb}"


def _ended(made: bool | None) -> Ended:
    if made is None:
        return Ended.LOST
    return Ended.DUPLICATE if made else Ended.COMPLETED


def _taken(names: Sequence[str], row: Sequence[Any]) -> Taken:
    row_id, token, attempt, made = row[:OURS]
    columns = Row(names[OURS:], row[OURS:])
    return Taken(row_id, token, attempt, bool(made), columns, _unreadable(columns))


def _unreadable(row: Row) -> str | None:
    bad = (f"column {name!r}: {value.why}" for name, value in row.items() if isinstance(value, Unreadable))
    return next(bad, None)
