"""Asking the engine how all is."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta

from penstock.engine import Engine, Minute
from penstock.health.judge import Ends, Sight, judge, unreachable
from penstock.health.probes import Readiness
from penstock.health.report import Health, Thresholds
from penstock.model.errors import EngineError, EngineUnavailable
from penstock.patience import within
from penstock.tasks.ids import new_id

PATIENCE = 5.0  # seconds for all that is asked of the engine
PROBE_PATIENCE = 2.0
ENGINE_PATIENCE = 0.5  # of those, for an engine that may be away: the ledger is asked in the rest
PROBE_KIND, PROBE_KEY = "probe", "readiness"
MINUTE = timedelta(minutes=1)
ENDS = ("completed", "failed", "retried", "snoozed", "cancelled")


class HealthCheck:
    """Every question is bounded in time: what does not answer counts as away."""

    def __init__(
        self, engine: Engine, thresholds: Thresholds | None = None, *, ledgered: bool = False
    ) -> None:
        self._engine = engine
        self._thresholds = thresholds or Thresholds()
        self._ledgered = ledgered  # jobs are accepted without the engine

    async def report(self) -> Health:
        """How all is; an engine that is away is told, not raised."""
        try:
            return judge(await within(PATIENCE, self._look()), self._thresholds)
        except TimeoutError:
            return unreachable(f"no answer in {PATIENCE:g} s")
        except EngineError as error:
            return unreachable(str(error))

    async def _look(self) -> Sight:
        began = time.monotonic()
        engine = self._engine
        now = (await engine.due_schedules(0)).now
        parked: Counter[str] = Counter()
        for lane in await engine.parked():
            parked[lane.queue] += lane.jobs
        lately = timedelta(seconds=self._thresholds.stalled_after)
        minutes = await engine.series(now - max(lately, 2 * MINUTE), now + MINUTE)
        return Sight(
            now=now,
            queues=await engine.queues(),
            workers=await engine.workers(),
            dead_letters=await engine.dead_count(),
            parked=parked,
            ends=ends_of(minutes, now),
            answered_in=time.monotonic() - began,
        )

    async def readiness(self) -> Readiness:
        """Whether jobs can be put in: something small is written, for what only reads takes none.

        With a ledger beside it Redis may be away: jobs are accepted all the same.
        """
        began = time.monotonic()
        try:
            error = await within(PROBE_PATIENCE, self._refusal())
        except TimeoutError:
            return Readiness(ready=False, took=PROBE_PATIENCE, error=f"no answer in {PROBE_PATIENCE:g} s")
        except EngineError as problem:
            return Readiness(ready=False, took=time.monotonic() - began, error=str(problem))
        return Readiness(ready=True, took=time.monotonic() - began, error=error)

    async def _refusal(self) -> str | None:
        if not self._ledgered:
            await self._write()
            return None
        try:
            await within(ENGINE_PATIENCE, self._write())
        except (EngineUnavailable, TimeoutError) as error:
            await self._engine.history(new_id())  # which the ledger answers by itself
            return str(error) or f"no answer in {ENGINE_PATIENCE:g} s"
        return None

    async def _write(self) -> None:
        await self._engine.put_note(PROBE_KIND, PROBE_KEY, "{}", ttl=60.0)


def ends_of(minutes: list[Minute], now: datetime) -> Mapping[str, Ends]:
    """What the series tells of each queue; of the minute in which the last sixty seconds begin, a share."""
    found: dict[str, Ends] = defaultdict(Ends)
    for minute in minutes:
        share = min(1.0, max(0.0, (minute.at + 2 * MINUTE - now) / MINUTE))
        told, before = minute.measures, found[minute.queue]
        found[minute.queue] = Ends(
            lately=before.lately + sum(told.get(name, 0.0) for name in ENDS),
            completed=before.completed + share * told.get("completed", 0.0),
            failed=before.failed + share * told.get("failed", 0.0),
        )
    return found
