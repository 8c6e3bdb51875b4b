"""Where the user's rows are claimed, settled and taken back: the verbs, the same for every database.

A claim gives each row a fresh random token; whatever ends a row is conditional on its id, that token and its
being started. So a row that was taken back and claimed by another instance is out of reach for the first one.
The completion of a row and its output are one transaction, which begins with the completion: that holds the
row, so nobody else can make its output meanwhile, and sees whether there is one already.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from penstock.model.clock import Clock
from penstock.model.errors import EngineError, EngineUnavailable, InvalidOption, LeaseLost
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
)

Dialect: TypeAlias = Literal["postgresql", "sqlite"]

OURS = 4  # columns before the user's own in a claimed row: id, token, attempts, whether its output exists
MAX_ERROR = 2_000


class Tx(Protocol):
    """One open transaction."""

    connection: Any  # the driver's own

    def execute(self, sql: str, values: Any = ()) -> Answer:
        """A statement of the user's, in his driver's manner; his driver's errors."""

    def fetch(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> Answer:
        """A statement of ours; our errors, Refused among them."""

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement of ours for many rows."""


class Store(ABC):
    """One table in one database. Blocking, and safe to use from several threads."""

    dialect: ClassVar[Dialect]
    mark: ClassVar[str]  # stands for a value in the user's statements

    def __init__(self, table: Table, clock: Clock, statements: Mapping[str, str]) -> None:
        self.table = table
        self._clock = clock
        self._files = statements
        self._sql: Mapping[str, str] = {}
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
        self._sql = {verb: sql.format_map(names) for verb, sql in self._files.items()}
        error = shape.column(self.table.columns.error)
        self._error_length = min(MAX_ERROR, (error and error.length) or MAX_ERROR)

    def claim(self, limit: int) -> list[Taken]:
        """Start the next queued rows, in order, each under a token of its own."""
        with self.statement() as tx:
            return [_taken(answer.names, row) for answer in [self._claim(tx, limit)] for row in answer]

    def _claim(self, tx: Tx, limit: int) -> Answer:
        return self.ask(tx, "claim", limit=limit)

    def complete(self, group: Sequence[Ready]) -> list[Ended | EngineError]:
        """Complete rows and write their outputs, in one transaction; an output that is there stays the only
        one. What the database does not let in spoils its own row and no other.

        EngineUnavailable where nothing was done, or nobody knows.
        """
        try:
            return self._complete_together(group)
        except EngineUnavailable:
            raise
        except EngineError:
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
        with self.statement() as tx:
            self.ask(tx, "adopt", limit=limit)
        with self.statement() as tx:
            answer = self.ask(
                tx,
                "recover",
                limit=limit,
                after=self.table.stuck_after,
                most=self.table.max_stuck,
                error=f"stuck: taken back {self.table.max_stuck} times, and never ended"[
                    : self._error_length
                ],
            )
            return [Recovered(*row) for row in answer]

    def stage(self, limit: int) -> int:
        """Let rows be claimed whose wait for the next attempt is over; how many."""
        with self.statement() as tx:
            return self.ask(tx, "stage", limit=limit).rowcount

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


def _ended(made: bool | None) -> Ended:
    if made is None:
        return Ended.LOST
    return Ended.DUPLICATE if made else Ended.COMPLETED


def _taken(names: Sequence[str], row: Sequence[Any]) -> Taken:
    row_id, token, attempt, made = row[:OURS]
    return Taken(row_id, token, attempt, bool(made), Row(names[OURS:], row[OURS:]))
