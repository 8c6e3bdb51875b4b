"""ctx.transaction(): the handler's work and the end of its run are committed together, or neither is."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from penstock import crash_points
from penstock.engine import Effect
from penstock.lent import AsyncLent, Lent, blocks, lent
from penstock.model.errors import InvalidOption
from penstock.patience import to_the_end
from penstock.tasks.steps import lost

if TYPE_CHECKING:
    from penstock import engine
    from penstock.tasks.run_link import RunLink
    from penstock.tasks.transacting import Recording, Settling, Transacting

_UNSET: Any = object()
_begun: ContextVar[BaseTransaction | None] = ContextVar("penstock_transaction", default=None)


class BaseTransaction:
    """What both kinds know: one block of one attempt."""

    def __init__(self, link: RunLink, transacting: Transacting, connection: Any = None) -> None:
        self._link = link
        self._transacting = transacting
        self._given = connection
        self._result: Any = _UNSET
        self._lent: Any = None
        self._mark: str | None = None  # of a transaction on the caller's connection
        self.is_open = False
        self.committed = False

    @property
    def connection(self) -> Any:
        """The driver's own connection, or what was given."""
        return self._lent.raw

    def set_result(self, value: Any) -> None:
        """What the job returns: it is stored with the work, and checked like a returned value."""
        self._result = value

    def _begin(self) -> None:
        if self._link.lease_lost():
            raise lost(self._link.claim)

    def _completion(self) -> Any:
        return self._link.completion(None if self._result is _UNSET else self._result)

    def _begun(self) -> None:
        self.is_open = True
        _begun.set(self)
        crash_points.passing("transaction-begun")

    def _accepted(self, accepted: bool) -> None:
        if not accepted:
            raise lost(self._link.claim)
        crash_points.passing("run-completed")

    def _committed(self) -> None:
        crash_points.passing("transaction-committed")
        self.committed = True
        self._link.committed(answered=self._result is not _UNSET)

    def keeps_waiting(self, transacting: Transacting) -> bool:
        """Whether what these jobs' database is asked for beside it has to wait for its end."""
        return self.is_open and transacting is self._transacting and self._lent.dialect == "sqlite"

    def _refuse_statement(self) -> InvalidOption:
        if self.is_open:
            return InvalidOption("tx.execute() is for a connection of ours; use the one that you gave")
        return InvalidOption("the transaction is over; tx.execute() belongs inside its block")


class SyncTransaction(BaseTransaction):
    """`with ctx.transaction() as tx:` of a sync handler."""

    _own: engine.Transaction | None = None
    _lent: Lent
    _settling: Settling
    recording: Recording

    @property
    def lent(self) -> Lent:
        return self._lent

    def execute(self, sql: str, values: Any = ()) -> Any:
        """Run a statement, with the driver's own placeholders; its cursor."""
        if self._own is None or not self.is_open:
            raise self._refuse_statement()
        return self._own.execute(sql, values)

    def __enter__(self) -> Self:
        self._begin()
        if self._given is None:
            own = self._transacting.own()
            self._own = own.begin(self._link.lease)
            self._lent, self._settling, self.recording = self._own.lent, own.on_lent, own.on_lent
        else:
            self._lent = blocking(self._given)
            self._settling = self.recording = self._transacting.completing()
            self._lent.begin()
            self._mark = blocks.mark(self._lent)
        self._begun()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
            elif isinstance(error, Exception) and self._was_kept():
                raise InvalidOption(KEPT_BEFORE) from error
        finally:
            self.is_open = False
            if not self.committed:
                self._undo()

    def _finish(self) -> None:
        if self._mark is not None and not blocks.is_same(self._lent, self._mark):
            raise InvalidOption(KEPT_BEFORE)
        self._accepted(self._settling.settle(self._lent, self._completion()))
        (self._own or self._lent).commit()
        self._committed()

    def _was_kept(self) -> bool:
        with suppress(
            Exception
        ):  # a transaction in which a statement failed answers nothing, and keeps nothing
            return self._mark is not None and blocks.is_kept(self._lent, self._mark)
        return False

    def _undo(self) -> None:
        # The connection may be gone, and what it had begun with it: why we are here is what counts.
        with suppress(Exception):
            (self._own or self._lent).rollback()


class Transaction(BaseTransaction):
    """`async with ctx.transaction() as tx:` of an async handler."""

    _own: engine.AsyncTransaction | None = None
    _lent: Lent | AsyncLent
    _settling: Settling
    recording: Recording

    @property
    def lent(self) -> Lent | AsyncLent:
        return self._lent

    async def execute(self, sql: str, values: Any = ()) -> Any:
        """Run a statement, with the driver's own placeholders; its cursor, whose fetches are awaited."""
        if self._own is None or not self.is_open:
            raise self._refuse_statement()
        return await self._own.execute(sql, values)

    async def __aenter__(self) -> Self:
        self._begin()
        if self._given is None:
            own = self._transacting.own()
            self._own = await own.abegin(self._link.lease)
            self._lent, self._settling, self.recording = self._own.lent, own.on_lent, own.on_lent
        else:
            self._lent = lent(self._given)
            self._settling = self.recording = self._transacting.completing()
            await _done(self._lent.begin())
            self._mark = await blocks.amark(self._lent)
        self._begun()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not given up half-way: only its end says whether the work is done.
        try:
            if kind is None:
                await to_the_end(self._finish())
            elif isinstance(error, Exception) and await to_the_end(self._was_kept()):
                raise InvalidOption(KEPT_BEFORE) from error
        finally:
            self.is_open = False
            if not self.committed:
                await to_the_end(self._undo())

    async def _finish(self) -> None:
        if self._mark is not None and not await blocks.ais_same(self._lent, self._mark):
            raise InvalidOption(KEPT_BEFORE)
        settlement = self._completion()
        if isinstance(self._lent, Lent):
            self._accepted(self._settling.settle(self._lent, settlement))
        else:
            self._accepted(await self._settling.asettle(self._lent, settlement))
        await _done((self._own or self._lent).commit())
        self._committed()

    async def _was_kept(self) -> bool:
        with suppress(Exception):  # as above
            return self._mark is not None and await blocks.ais_kept(self._lent, self._mark)
        return False

    async def _undo(self) -> None:
        with suppress(Exception):
            await _done((self._own or self._lent).rollback())


def refuse_waiting_for_itself(transacting: Transacting) -> None:
    """InvalidOption inside a transaction that keeps the jobs' whole database from being written."""
    transaction = _begun.get()
    if transaction is not None and transaction.keeps_waiting(transacting):
        raise InvalidOption(
            "this would wait for the ctx.transaction() around it, which holds the jobs' file: put the job in "
            "together with the work by ctx.enqueue(task.call(…)), or by using(connection=tx.connection); "
            "or do it after the block"
        )


def blocking(connection: Any) -> Lent:
    """A connection for a sync handler; InvalidOption for one whose calls are awaited."""
    found = lent(connection)
    if isinstance(found, AsyncLent):
        raise InvalidOption("this connection is async, and the handler is not; give it a sync one")
    return found


def record(recording: Recording, connection: Lent, effect: Effect) -> bool:
    """Whether the effect is to be made; its record is written."""
    if not connection.in_transaction():
        raise InvalidOption(IN_AUTOCOMMIT)
    first = recording.once(connection, effect)
    crash_points.passing("once-written")
    return first


async def arecord(recording: Recording, connection: Lent | AsyncLent, effect: Effect) -> bool:
    if isinstance(connection, Lent):
        return record(recording, connection, effect)
    if not await connection.in_transaction():
        raise InvalidOption(IN_AUTOCOMMIT)
    first = await recording.aonce(connection, effect)
    crash_points.passing("once-written")
    return first


NEEDS_ONE = (
    "ctx.once() needs a transaction that holds the effect too: a record without its effect would be a lost "
    "effect, an effect without its record would happen twice. Write `with ctx.transaction():` around both; "
    "or, where the effect is in a transaction of your own, ctx.once(name, connection=…)"
)
KEPT_BEFORE = (
    "the transaction of this ctx.transaction(connection) was committed or rolled back inside its block, by "
    "something that was given the connection: what it kept is kept without the end of the run, which is "
    "therefore not tried again. Look at what it has done, and use savepoints inside the block"
)
IN_AUTOCOMMIT = (
    "ctx.once(connection=…) needs a transaction that holds the effect too, and this connection is in "
    "autocommit: begin one on it first, and commit it after the effect"
)


async def _done(answer: Any) -> None:
    if answer is not None:
        await answer
