"""One row: look whether its output is there, run the handler, write the end."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from penstock.model.decide import Deferred, End, Facts, Skipped, decide, end_of, timed_out
from penstock.model.errors import EngineUnavailable
from penstock.model.failure import Failure, described
from penstock.model.outcome import Failed
from penstock.runtime.backoff import Backoff
from penstock.table.context import RowContext, SyncRowContext
from penstock.table.crew import Crew
from penstock.table.settler import Settler
from penstock.table.store import Store
from penstock.table.values import Ended, Ending, Output, Taken

log = logging.getLogger("penstock.table")

T = TypeVar("T")

# Of `stuck_after`: an async handler is stopped before others take its row for stuck.
IN_TIME = 0.9


class Run:
    """The run of one claimed row. `stopping` says whether a cancellation is the worker's doing."""

    def __init__(self, store: Store, crew: Crew, settler: Settler, taken: Taken, claimed_at: float) -> None:
        self._store = store
        self._settler = settler
        self._table = store.table
        self._crew = crew
        self._taken = taken
        self._stuck_at = claimed_at + self._table.stuck_after  # by time.monotonic()
        self._limit = IN_TIME * self._table.stuck_after
        self._until = claimed_at + self._limit
        self.stopping = False

    async def live(self) -> None:
        """From claim to end. Raises nothing but the cancellation that it was stopped by."""
        try:
            await self._live()
        except asyncio.CancelledError:
            await self._stopped()
            raise
        except Exception:
            log.exception("%s: its end could not be written; it comes back when it is stuck", self._name)

    @property
    def _name(self) -> str:
        return f"row {self._taken.id} of {self._table.name}"

    async def _live(self) -> None:
        if self._taken.made:
            await self._complete(None)
            return
        if self._taken.unreadable is not None:
            await self._unreadable(self._taken.unreadable)
            return
        context = self._context()
        try:
            output = await self._handle(context)
        except asyncio.CancelledError as error:
            if self.stopping and not context.settled:
                raise
            await self._failed(context, error)
        except TimeoutError as error:
            late = time.monotonic() >= self._until
            await self._failed(context, timed_out(self._limit, self._table.retry) if late else error)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the run has ended
            await self._failed(context, error)
        else:
            await self._returned(context, output)

    def _context(self) -> RowContext | SyncRowContext:
        if self._table.is_async:
            return RowContext(self._store, self._taken, self._crew)
        return SyncRowContext(self._store, self._taken)

    async def _handle(self, context: RowContext | SyncRowContext) -> Any:
        handler, row = self._table.handler, self._taken.row
        if not self._table.is_async:
            return await self._crew.do(handler, context, row)  # nobody can stop a thread
        async with asyncio.timeout(self._until - time.monotonic()):
            return await handler(context, row)

    # -- how it ended ---------------------------------------------------------------------------------
    async def _returned(self, context: RowContext | SyncRowContext, output: Output) -> None:
        if not context.settled:
            try:
                await self._complete(output)
            except Exception as error:  # noqa: BLE001 - an output that cannot be written
                await self._failed(context, error)
        elif output is not None:
            log.warning("%s was completed in its transaction; what was returned is not stored", self._name)

    async def _complete(self, output: Output) -> None:
        ready = self._store.ready(self._taken, output)
        ended = await self._insist(lambda: self._settler.complete(ready))
        if ended is Ended.DUPLICATE:
            log.warning("duplicate prevented: %s has its output already", self._name)
        elif ended is Ended.LOST:
            self._lost()

    async def _failed(self, context: RowContext | SyncRowContext, error: BaseException | Failure) -> None:
        end = error if isinstance(error, Failure) else end_of(error, self._table.retry, self._table.classify)
        if context.settled:
            self._too_late(end, error)
        elif isinstance(end, Skipped):
            log.info("%s: nothing to do: %s", self._name, end.reason)
            await self._complete(None)
        else:
            ending = self._ending(end)
            if not await self._end(ending):
                self._lost()

    def _ending(self, end: End) -> Ending:
        attempts = self._table.retry.attempts
        facts = Facts(self._taken.attempt, attempts, 0, 0.0, "", random.random())
        outcome = decide(facts, end, self._table.retry)
        if isinstance(end, Deferred):
            log.info("%s: again in %g s: %s", self._name, end.seconds, end.reason)
            return Ending(status=self._table.words.queued, delay=round(end.seconds, 3), refund=1)
        assert isinstance(end, Failure)
        error = f"{end.type}: {end.message}"
        try_of = f"attempt {self._taken.attempt} of {attempts}"
        if isinstance(outcome, Failed):
            log.error("%s failed for good (%s): %s\n%s", self._name, try_of, error, end.traceback or "")
            return Ending(status=self._table.words.failed, error=error)
        log.warning("%s failed (%s), again in %.1f s: %s", self._name, try_of, outcome.delay, error)
        return Ending(status=self._table.words.queued, error=error, delay=round(outcome.delay, 3))

    async def _unreadable(self, why: str) -> None:
        """No attempt would read it: it fails without one."""
        error = f"the row cannot be read: {why}"
        log.error("%s failed for good: %s", self._name, error)
        if not await self._end(Ending(status=self._table.words.failed, error=error)):
            self._lost()

    async def _stopped(self) -> None:
        """Handed back as if it had never been taken, unless its handler goes on."""
        if not self._table.is_async:
            log.warning(
                "%s still runs in its thread, which nobody can stop; it comes back when it is stuck",
                self._name,
            )
            return
        back = Ending(status=self._table.words.queued, refund=1)
        await self._end(back)

    def _too_late(self, end: End, error: BaseException | Failure) -> None:
        if isinstance(end, Skipped):  # among them: the transaction found the output
            log.warning("duplicate prevented: %s", end.reason)
        elif isinstance(error, BaseException):
            log.warning(
                "%s is completed; what was raised after that changes nothing: %s",
                self._name,
                described(error),
                exc_info=error,
            )

    def _lost(self) -> None:
        log.warning(
            "%s has passed on: it ran longer than %g s, or its end had been written already; this run's end "
            "is refused",
            self._name,
            self._table.stuck_after,
        )

    async def _end(self, ending: Ending) -> bool:
        return await self._insist(lambda: self._crew.finish(self._store.end, self._taken, ending))

    async def _insist(self, verb: Callable[[], Awaitable[T]]) -> T:
        """Until it is done, or until others take the row for stuck anyway."""
        backoff = Backoff(cap=2.0)
        while True:
            try:
                return await verb()
            except EngineUnavailable as error:
                if time.monotonic() > self._stuck_at:
                    raise
                log.warning("%s: %s; trying again", self._name, error)
                await asyncio.sleep(backoff.next())
