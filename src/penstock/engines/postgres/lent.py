"""Verbs inside the caller's own transaction: each one call of a SQL function, over his driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from penstock.engine import Effect, Settlement
from penstock.engines.postgres.catalog import catalog
from penstock.engines.postgres.homes import homes
from penstock.engines.postgres.new_jobs import as_json, decode
from penstock.lent import AsyncLent, Dialect, Lent, Value, require
from penstock.lent.failures import sqlstate
from penstock.model.clock import Clock
from penstock.model.errors import AccessRefused, InvalidOption, SchemaMissing
from penstock.model.ids import is_id
from penstock.model.job import Enqueued, NewJob

_NO_SCHEMA = {"3F000", "42883", "42P01"}  # no such schema, function, table
_NO_RIGHT = "42501"
_ELSEWHERE = "PSTCK"  # raised by `at_home`


class PostgresOnLent:
    """See `penstock.engine.OnLent`."""

    dialect: Dialect = "postgresql"

    def __init__(self, schema: str, clock: Clock, url: str | None = None) -> None:
        self._url = url  # None: the connections are the engine's own, and lead there
        self._schema = schema
        self._clock = clock
        self._sql = catalog(schema)

    def enqueue(self, lent: Lent, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:
        require(lent, self.dialect)
        with self._explained():
            values = as_json(jobs), again, self._now(), self._home()
            return decode(lent.fetch(self._sql["enqueue_lent"], *values))

    async def aenqueue(
        self, lent: AsyncLent, jobs: Sequence[NewJob], *, again: bool = False
    ) -> Sequence[Enqueued]:
        require(lent, self.dialect)
        with self._explained():
            values = as_json(jobs), again, self._now(), await self._ahome()
            return decode(await lent.fetch(self._sql["enqueue_lent"], *values))

    def settle(self, lent: Lent, end: Settlement) -> bool:
        require(lent, self.dialect)
        with self._explained():
            return _is_id(end) and bool(lent.fetch(self._sql["settle_lent"], *self._end(end))[0][0])

    async def asettle(self, lent: AsyncLent, end: Settlement) -> bool:
        require(lent, self.dialect)
        with self._explained():
            return _is_id(end) and bool((await lent.fetch(self._sql["settle_lent"], *self._end(end)))[0][0])

    def once(self, lent: Lent, effect: Effect) -> bool:
        require(lent, self.dialect)
        with self._explained():
            return bool(lent.fetch(self._sql["once_lent"], *effect, self._now(), self._home())[0][0])

    async def aonce(self, lent: AsyncLent, effect: Effect) -> bool:
        require(lent, self.dialect)
        with self._explained():
            values = *effect, self._now(), await self._ahome()
            return bool((await lent.fetch(self._sql["once_lent"], *values))[0][0])

    def _home(self) -> str | None:
        return None if self._url is None else homes.name(self._url, self._schema)

    async def _ahome(self) -> str | None:
        return None if self._url is None else await homes.aname(self._url, self._schema)

    def _end(self, end: Settlement) -> tuple[Value, ...]:
        outcome, then = end.outcome, as_json(end.then) if end.then else None
        told = (outcome.result, outcome.note, end.ran_for, end.keep, outcome.healthy)
        return (end.id, end.token, *told, then, self._now())

    def _now(self) -> Value:
        now = self._clock.now()
        return None if now is None else now.isoformat()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What is wrong with the database itself is said in our words; the rest is the caller's."""
        try:
            yield
        except Exception as error:
            if sqlstate(error) in _NO_SCHEMA:
                raise SchemaMissing(
                    f"the database of this connection has no schema {self._schema!r} that fits: run "
                    "`penstock migrate`; or, where your jobs live in another database, give the app "
                    f"outbox=…: {_first_line(error)}"
                ) from error
            if sqlstate(error) == _ELSEWHERE:
                raise InvalidOption(
                    "this connection is to another database than that of the jobs: a transaction cannot span "
                    "both. Roll this one back, and lend a connection to the jobs' own database; or give the "
                    "app outbox=…, the database of your own tables"
                ) from error
            if sqlstate(error) == _NO_RIGHT:
                raise AccessRefused(
                    "the role of this connection lacks a right, see PostgreSQL in docs/operating.md: "
                    f"{_first_line(error)}"
                ) from error
            raise


def _first_line(error: Exception) -> str:
    """Without what SQLAlchemy adds: the statement, and with it the arguments of the job."""
    return str(error).partition("\n")[0]


def _is_id(end: Settlement) -> bool:
    """Whether it can be a job's: what is no id is held by nobody."""
    return is_id(end.id) and is_id(end.token)
