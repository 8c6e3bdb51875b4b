"""An engine and its ledger: opening both, and reading of jobs from whichever knows them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from penstock.engine import Finding, HistoryFilter, Level
from penstock.ledger.books import Books
from penstock.ledger.database import Database
from penstock.ledger.delegate import Fenced
from penstock.ledger.kept import Kept
from penstock.ledger.notes import LedgerNotes
from penstock.ledger.rows import letter_of, record_of, seen
from penstock.ledger.settings import Settings
from penstock.model.clock import Clock
from penstock.model.errors import EngineUnavailable, SchemaMissing
from penstock.model.ids import is_id
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record

log = logging.getLogger("penstock.ledger")


class Base(Kept):
    """What all verbs stand on."""

    def __init__(self, engine: Fenced, database: Database, clock: Clock) -> None:
        self._inner = engine
        self._books = Books(database)
        self._settings = Settings(database)
        self._notes = LedgerNotes(database)
        self._clock = clock
        self._is_open = False  # the engine, as far as it was there
        self._in_doubt = False  # the ledger was away: look before something is claimed
        self._claims_for: set[str] = set()  # workers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r}, {self._books.database!r})"

    # -- life ------------------------------------------------------------------------------------------
    async def open(self) -> None:
        """Without the engine, jobs can still be accepted; without the ledger nothing can be done."""
        await self._books.database.open()
        try:
            await self._engine()
        except EngineUnavailable as error:
            log.warning("Redis is away; jobs are accepted and dispatched later: %s", error)
        except BaseException:
            await self._books.database.close()
            raise

    async def close(self) -> None:
        try:
            await self._inner.close()
        finally:
            self._is_open = False
            await self._books.database.close()

    async def migrate(self) -> list[str]:
        return [*await self._books.database.migrate(), *await self._inner.migrate()]

    async def examine(self) -> list[Finding]:
        theirs = await self._books.database.examine()
        ledger = [Finding(f"ledger-{name}", level, f"ledger: {text}") for name, level, text in theirs]
        return [*map(_with_ledger, await self._inner.examine()), *ledger]

    async def _engine(self) -> Fenced:
        if not self._is_open:
            try:
                await self._inner.open()
            except SchemaMissing:  # keys were lost with all the others
                await self._inner.migrate()
                await self._inner.open()
            self._is_open = True
        return self._inner

    # -- inspect ---------------------------------------------------------------------------------------
    async def get(self, job_id: str) -> Job | None:
        """From the engine; what it lacks though it has not ended, or while it is away, from the row."""
        away = False
        try:
            found = await (await self._engine()).get(job_id)
        except EngineUnavailable:
            found, away = None, True
        if found is not None or not is_id(job_id):
            return found
        line = (await self._books.lines([job_id])).get(job_id)
        if line is None or (line.ended and not away):
            return None
        return seen(line, await self._books.database.now())

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        """From the engine; what it has lost, from the row, without its steps and its time."""
        found = await super().dead_letter(job_id)
        if found is not None or not is_id(job_id):
            return found
        line = (await self._books.lines([job_id])).get(job_id)
        return letter_of(line) if line is not None and line.has_letter else None

    async def remove_dead_letters(self, ids: Sequence[str]) -> int:
        """How many the engine had, or had lost."""
        removed = await super().remove_dead_letters(ids)
        return max(removed, await self._books.drop_letters([job_id for job_id in ids if is_id(job_id)]))

    async def history(self, job_id: str) -> Record | None:
        line = (await self._books.lines([job_id])).get(job_id)
        return record_of(line) if line is not None and line.ended else None

    async def histories(self, where: HistoryFilter, limit: int, after: str | None = None) -> list[Record]:
        told = self._clock.now() is None
        return [record_of(line) for line in await self._books.ended(where, limit, after, ids_tell_time=told)]

    # -- from the engine to the rows -------------------------------------------------------------------
    async def _adopt(self, ids: Sequence[str]) -> None:
        await self._books.adopt(await self._jobs_of(ids))

    async def _end_of(self, ids: Iterable[str]) -> None:
        if ended := [job for job in await self._jobs_of(list(ids)) if job.state.finished]:
            await self._books.end(ended)

    async def _jobs_of(self, ids: Sequence[str]) -> list[Job]:
        engine = await self._engine() if ids else None
        found = [await engine.get(job_id) for job_id in ids] if engine else []
        return [job for job in found if job is not None]

    async def _move(self, ids: Sequence[str]) -> None:
        """Write when these are due by now."""
        found = await self._jobs_of([job_id for job_id in ids if is_id(job_id)])
        await self._books.move([job for job in found if not job.state.finished])


def _with_ledger(finding: Finding) -> Finding:
    """What Redis can lose is dispatched again: that keeps no worker from starting."""
    if finding.name == "persistence" and finding.level is Level.UNSAFE:
        return Finding(finding.name, Level.WARNING, f"{finding.text}; the ledger has every job")
    return finding
