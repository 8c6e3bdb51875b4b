"""What a person may ask about alerts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from penstock.alerts import gauges
from penstock.alerts.backtest import Tried, backtest
from penstock.alerts.book import Book, ChannelState, Entry
from penstock.alerts.config import Alerting
from penstock.alerts.gauges import Gauge
from penstock.alerts.life import Phase, Standing
from penstock.engine import Engine

# Of a time: how many steps it has, and how long each is.
_STEPS = {"hour": (60, timedelta(minutes=1)), "day": (96, timedelta(minutes=15))}
_ORDER = {Phase.FIRING: 0, Phase.PENDING: 1, Phase.RESOLVED: 2}


class AlertDesk:
    """Reads what the watch keeps."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._book = Book(engine)

    async def standing(self) -> list[Standing]:
        """Every alert that is not over: those that fire first, the worst of them first."""
        found = [kept.standing for kept in (await self._book.read()).values() if kept.standing is not None]
        return sorted(found, key=lambda each: (_ORDER[each.phase], -each.severity.weight, each.since))

    async def history(self, limit: int = 50) -> list[Entry]:
        """What has happened, newest first."""
        return await self._book.history(limit)

    async def channels(self) -> list[ChannelState]:
        """How the channels were last reached."""
        return await self._book.channels()

    async def gauges(self, span: Literal["hour", "day"], queue: str | None = None) -> list[Gauge]:
        """What stood in the last hour or day in equal steps, oldest first, as the watch has looked."""
        many, step = _STEPS[span]
        now = (await self._engine.due_schedules(0)).now
        until = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        first = until - many * step
        return gauges.in_steps(await gauges.kept(self._engine, first, until), first, step, many, queue)

    async def test(self, alerting: Alerting, since: datetime | None = None) -> Tried:
        """What these rules would have told of in the past, at most of a week."""
        return await backtest(self._engine, alerting, since)
