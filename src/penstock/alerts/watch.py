"""The watch: looks at what is measured, moves alerts on, has their channels told. One at a time, anywhere."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from penstock.alerts import couriers, gauges
from penstock.alerts.book import Book, Entry, Kept, key_of
from penstock.alerts.channels import Told
from penstock.alerts.config import Alerting
from penstock.alerts.life import Phase, Standing, ended, not_told, step, told
from penstock.alerts.names import Scope
from penstock.alerts.readings import gather
from penstock.alerts.rules import Hit, Rule, Severity, Subject
from penstock.alerts.sender import Item, Result, Send, Sender
from penstock.alerts.turn import Turn
from penstock.engine import Engine
from penstock.model.errors import EngineError
from penstock.tasks.registry import Registry

log = logging.getLogger("penstock.alerts")

MOST_OF_RULE = 100  # alerts of one rule; what is beyond is one more, with their number
OTHERS = "others"
STAGED = 500  # jobs that are made to wait in one look
LONGEST_PAUSE = 600.0  # seconds between tries of a channel that cannot be reached
LOGGED = 10  # lines of one round


class AlertWatch:
    """Any number may run: who has the turn looks. Touched by one event loop only."""

    def __init__(
        self,
        engine: Engine,
        registry: Registry,
        alerting: Alerting,
        holder: str,
        send: Send = couriers.send,
        *,
        stages: bool = True,
    ) -> None:
        """`stages`: what is due is made to wait first, which in a worker its sweeper does."""
        self._engine = engine
        self._registry = registry
        self._alerting = alerting
        self._stages = stages
        self._book = Book(engine)
        self._gauges = gauges.Keeper(engine)
        self._turn = Turn(engine, holder, 3 * alerting.every)
        self._sender = Sender(alerting.channels, send)
        self._by_scope = _by_scope(alerting.rules)
        self._rules = {rule.name: rule for rule in alerting.rules}
        self._telling: dict[tuple[str, str], Standing] = {}  # what is on its way, by alert and channel
        self._open_at: dict[str, datetime] = {}  # when a channel may be told again
        self._failures: dict[str, int] = {}  # of a channel, in a row

    @property
    def sender(self) -> Sender:
        return self._sender

    async def run(self, beat: Callable[[], None] = lambda: None) -> None:
        """Until cancelled; then another may watch at once. `beat` is called each time round."""
        try:
            while True:
                beat()
                await self._listen(self._alerting.every * random.uniform(0.8, 1.0))
                await self._try(self.round)
        finally:
            await self._sender.close()
            with suppress(EngineError):
                await self._turn.give_back()

    async def _listen(self, seconds: float) -> None:
        """What has come of messages is written at once: who watches next must not send them again."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._sender.news.wait()
                await self._try(self.hear)

    async def _try(self, what: Callable[[], Awaitable[object]]) -> None:
        try:
            await what()
        except EngineError as error:
            log.warning("alerts put off: %s", error)
        except Exception:
            # What breaks here must not take the running jobs with it.
            log.exception("looking for alerts failed; trying again later")

    async def round(self) -> bool:
        """Look once; False where another has the turn."""
        if not await self._turn.take():
            return False
        if self._stages:
            await self._engine.stage(STAGED)
        readings = await gather(self._engine, self._registry, self._alerting, self._turn.seen)
        now = self._turn.seen = readings.now
        await self._gauges.keep(now, readings.subjects)
        kept = await self._book.read()
        standing = await self._move_on(kept, self._hits(readings.subjects, kept), now)
        self._tell(standing, now)
        return True

    # -- looking --------------------------------------------------------------------------------------
    def _hits(self, subjects: Sequence[Subject], kept: Mapping[str, Kept]) -> dict[str, Hit]:
        """What is so, by the key of its alert; of one rule a bounded number."""
        found: dict[str, dict[str, Hit]] = defaultdict(dict)
        for subject in subjects:
            for rule in self._by_scope[subject.scope]:
                hit = rule.judge(subject)
                if hit is not None:
                    found[rule.name][key_of(rule.name, subject.key)] = hit
        return {key: hit for hits in found.values() for key, hit in _bounded(hits, kept).items()}

    # -- moving on ------------------------------------------------------------------------------------
    async def _move_on(
        self, kept: Mapping[str, Kept], hits: Mapping[str, Hit], now: datetime
    ) -> dict[str, Standing]:
        """How every alert stands now, as it could be written."""
        standing: dict[str, Standing] = {}
        entries: list[Entry] = []
        for key in {**kept, **hits}:
            before, version = kept.get(key, Kept(None, 0))
            before = before and self._reachable(before)
            hit = hits.get(key)
            channels = () if hit is None else self._alerting.told(hit.rule)
            after, event = step(before, hit, channels, now, self._alerting.pace)
            if after != before and not await self._book.write(key, version, after):
                continue  # another has been here: it tells
            if after is not None:
                standing[key] = after
            if event is not None and (subject := after or before) is not None:
                entries.append(Entry(now, event, *_told_of(subject)))
        _log(entries)
        await self._book.log(entries)
        return standing

    def _reachable(self, alert: Standing) -> Standing:
        """Without the channels that are not declared any more."""
        owed, told_ = (
            tuple(c for c in each if c in self._alerting.channels) for each in (alert.owed, alert.told)
        )
        return replace(alert, owed=owed, told=told_) if (owed, told_) != (alert.owed, alert.told) else alert

    # -- telling --------------------------------------------------------------------------------------
    def _tell(self, standing: Mapping[str, Standing], now: datetime) -> None:
        """Hand what is owed to the sender: to each channel together, and not too often."""
        owed: dict[str, list[tuple[Item, Standing]]] = defaultdict(list)
        for key, alert in sorted(standing.items(), key=lambda each: -each[1].severity.weight):
            if self._alerting.quiet is not None and self._alerting.quiet.hold(alert.severity, now):
                continue
            for channel in alert.owed:
                if channel in self._alerting.channels and (key, channel) not in self._telling:
                    owed[channel].append((Item(key, _told(alert)), alert))
        for channel, items in owed.items():
            if now < self._open_at.get(channel, now):
                continue
            taken = self._sender.offer(channel, [item for item, _ in items])
            self._open_at[channel] = now + timedelta(seconds=self._alerting.group_every)
            self._telling |= {(item.key, channel): alert for item, alert in items[:taken]}

    async def hear(self) -> None:
        """Write who knows by now."""
        results = [(result, self._no_longer_telling(result)) for result in self._sender.results()]
        now = (await self._engine.due_schedules(0)).now
        for result, alerts in results:
            self._pace(result, now)
            await self._book.reached(result.channel, now, result.problem)
            kept = await self._book.read()
            for key, alert in alerts.items():
                before, version = kept.get(key, Kept(None, 0))
                after = _after(before, alert, result, now)
                if after != before:
                    await self._book.write(key, version, after)

    def _no_longer_telling(self, result: Result) -> dict[str, Standing]:
        return {item.key: self._telling.pop((item.key, result.channel)) for item in result.items}

    def _pace(self, result: Result, now: datetime) -> None:
        failures = 0 if result.problem is None else self._failures.get(result.channel, 0) + 1
        self._failures[result.channel] = failures
        if failures:
            first = max(self._alerting.group_every, self._alerting.every)
            pause = min(LONGEST_PAUSE, first * 2.0 ** min(failures - 1, 10))
            self._open_at[result.channel] = now + timedelta(seconds=pause)


def _after(before: Standing | None, alert: Standing, result: Result, now: datetime) -> Standing | None:
    """How an alert stands when a channel was told of it, or was not."""
    if result.problem is not None:
        return None if before is None else not_told(before, now)
    if before is None:  # it was over before this channel knew that it fired
        return ended(alert, result.channel, now) if alert.phase is Phase.FIRING else None
    return told(before, result.channel, alert.phase, now)


def _bounded(hits: dict[str, Hit], kept: Mapping[str, Kept]) -> dict[str, Hit]:
    """Those known already first; what is beyond the bound is one alert with their number."""
    if len(hits) <= MOST_OF_RULE:
        return hits
    ordered = sorted(hits, key=lambda key: (key not in kept, -hits[key].severity.weight))
    first = {key: hits[key] for key in ordered[:MOST_OF_RULE]}
    worst = max((hits[key] for key in ordered[MOST_OF_RULE:]), key=lambda hit: hit.severity.weight)
    others = worst._replace(subject=OTHERS, message=f"{worst.message} … and others like it")
    return first | {key_of(worst.rule.name, OTHERS): others}


def _by_scope(rules: Iterable[Rule]) -> dict[Scope, list[Rule]]:
    found: dict[Scope, list[Rule]] = {scope: [] for scope in Scope}
    for rule in rules:
        found[rule.scope].append(rule)
    return found


def _told_of(alert: Standing) -> tuple[str, str, Severity, str]:
    return alert.rule, alert.subject, alert.severity, alert.message


def _told(alert: Standing) -> Told:
    return Told(
        alert.rule, alert.subject, alert.severity, alert.phase, alert.message, alert.since.isoformat()
    )


def _log(entries: Sequence[Entry]) -> None:
    for entry in entries[:LOGGED]:
        log.warning("alert %s (%s) %s: %s", entry.rule, entry.severity, entry.event, entry.message)
    if len(entries) > LOGGED:
        log.warning("… and %d more alerts: penstock alerts", len(entries) - LOGGED)
