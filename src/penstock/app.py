"""Penstock: the front door."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from penstock.alerts.config import Alerting
from penstock.alerts.examining import examine as examine_channels
from penstock.alerts.loading import load as load_alerting
from penstock.audit import Actor
from penstock.engine import Engine, Finding, Level
from penstock.feed.reader import Feed
from penstock.health import Health, HealthCheck, Thresholds, unreachable
from penstock.model.clock import Clock, EngineClock
from penstock.model.errors import (
    Duration,
    EngineError,
    EngineUnavailable,
    InvalidOption,
    OutcomeUnknown,
    in_seconds,
)
from penstock.model.limits import NO_LIMIT
from penstock.model.names import check_schema
from penstock.opening import make_engine, on_lent, open_engine
from penstock.ops import Diagnosis, Ops
from penstock.ops_answers import away
from penstock.outbox.box import Outbox
from penstock.relaying import Relaying
from penstock.runtime.host import WorkerHost
from penstock.runtime.inprocess import InProcessWorker
from penstock.runtime.options import WorkerOptions
from penstock.table.declared import Table
from penstock.table.declaring import Tabling
from penstock.tasks.access import Access
from penstock.tasks.client import Client, Putting
from penstock.tasks.declare import Declare
from penstock.tasks.declared import TaskOptions
from penstock.tasks.declaring import Declaring
from penstock.tasks.enqueueing import Enqueueing
from penstock.tasks.home import Opened
from penstock.tasks.hooks import Hooking
from penstock.tasks.inherit import MAX_SLOTS, count
from penstock.tasks.loading import ref_of
from penstock.tasks.queue import DEFAULT_QUEUE
from penstock.tasks.queues import make_queue, under_environment
from penstock.tasks.registry import Registry
from penstock.tasks.schedules import name_of
from penstock.tasks.scheduling import Scheduling
from penstock.tasks.urls import check_ledger, check_outbox, check_url, is_redis, is_sqlite, masked, place_of
from penstock.telemetry.metrics import Metrics
from penstock.transacting import AppTransactions, StandIn, Where

if TYPE_CHECKING:
    from penstock.tasks.settings import Settings

T = TypeVar("T")

LONGEST_LOOK = 15.0  # seconds in which an engine is opened and tells how it is


class Penstock(Declaring, Enqueueing, Scheduling, Tabling, Hooking, Relaying):
    """An app: its queues, its tasks and the engine where their jobs live.

    The engine is opened by `async with app:` or `with app:`, or by the first call that needs it.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        outbox: str | None = None,
        ledger: str | None = None,
        schema: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        name: str | None = None,
    ) -> None:
        """Settings come from the environment where they are not given here.

        `outbox` is the URL of your own database, where that is not the engine's: what is enqueued with
        `connection=` is then written there, and brought to the engine by `penstock relay`.
        `ledger` is the URL of a database that has the durable record of every job, where the engine is Redis.
        Declared schedules are kept under the app's `name`, by default that of its module and variable. Two
        apps on one engine that are made in the same place need one each.
        """
        self._name = name
        self._made_in: str = sys._getframe(1).f_globals.get("__name__", "")
        self.settings = _settings(settings, url=url, schema_name=schema, outbox=outbox, ledger=ledger)
        self.url = self.settings.url
        self.schema = check_schema(self.settings.schema_name)
        self._clock = clock or EngineClock()
        check_url(self.url)
        if self.settings.ledger is not None:
            check_ledger(self.url, self.settings.ledger)
        self._outbox: Outbox | None = None
        if self.settings.outbox is not None:
            check_outbox(self.url, self.settings.outbox)
            self._outbox = self._outbox_of(self.settings.outbox)
        self._access = Access(self._connect, portable=is_sqlite(self.url))
        self._put_lent: StandIn | None = None  # in the place of the engine's own verbs
        self._transactions = AppTransactions(self._where, lambda: self.engine, self.settings.concurrency)
        self._client = Client(
            self._access, self._putting, self._transactions, relayed=self._outbox is not None
        )
        default = make_queue(self.settings, DEFAULT_QUEUE, **under_environment(DEFAULT_QUEUE, {}))
        self.registry = Registry(self.settings, self._client, default)
        self.registry.schedules.source = lambda: self.name
        self._declare = Declare(self.registry.add_task, TaskOptions())
        self._tables: dict[str, Table] = {}
        _warn_of_unread()

    def __repr__(self) -> str:
        return f"<Penstock {self.safe_url}>"

    @property
    def name(self) -> str:
        """What the app is called: as it was given, else by the module and the variable that hold it."""
        return self._name or name_of(self, self._made_in)

    @property
    def safe_url(self) -> str:
        """The engine's URL without its secrets."""
        return masked(self.url)

    # -- life -----------------------------------------------------------------------------------------
    @property
    def engine(self) -> Engine:
        """The open engine, to be used on the loop that opened it; EngineError where it is not open there."""
        return self._access.engine

    @property
    def is_open_here(self) -> bool:
        """Whether the engine is open, and can be used on the event loop that runs here."""
        return self._access.is_open_here

    async def migrate(self) -> list[str]:
        """Bring the engine's schema up to date; the names of the migrations applied."""
        engine = make_engine(self.url, self.schema, self._clock, self._ledger)
        try:
            return await engine.migrate()
        finally:
            await engine.close()

    async def examine(self, *, send_alerts: bool = False) -> Diagnosis:
        """What is safe and what is not about the place where jobs live; the app need not be open.

        Also whether the channels of alerts can be reached: with `send_alerts` each of them gets a message.
        """
        found = await self._examine_engine()
        if self._outbox is not None:
            found = [*found, await self._outbox.examine()]
        return Diagnosis([*found, *await self._examine_alerts(send=send_alerts)], self.settings.accepted)

    async def _examine_engine(self) -> list[Finding]:
        engine = make_engine(self.url, self.schema, self._clock, self._ledger)
        try:
            return await engine.examine()
        except EngineUnavailable as error:
            return [away(error)]
        finally:
            await engine.close()

    async def _examine_alerts(self, *, send: bool) -> list[Finding]:
        try:
            alerting = self.alerting
        except InvalidOption as error:  # which keeps workers from starting, too
            return [Finding("alerts", Level.UNUSABLE, str(error))]
        if alerting is None:
            return [Finding("alerts", Level.OK, "nobody looks for alerts: PENSTOCK_ALERTS is `off`")]
        return await examine_channels(alerting, send=send)

    async def health(self) -> Health:
        """How all is: an engine that is away is told, not raised; the app need not be open."""
        try:
            async with asyncio.timeout(LONGEST_LOOK), self:
                return await self.ops.health.report()
        except TimeoutError:
            return unreachable(f"no answer in {LONGEST_LOOK:g} s")
        except EngineError as error:
            return unreachable(str(error))

    def _thresholds(self) -> Thresholds:
        settings = self.settings
        return Thresholds(
            backlogged=settings.health_backlogged,
            stalled=settings.health_stalled,
            stalled_after=settings.health_stalled_after,
            error_rate=settings.health_error_rate,
        )

    async def aopen(self) -> None:
        """Open the engine on the running event loop."""
        await self._access.aopen()

    async def aclose(self) -> None:
        """Close the engine; inside nested blocks, the outermost does."""
        await self._access.aclose()
        self._transactions.close()

    def open(self) -> None:
        """Open the engine in a program without an event loop."""
        self._access.open()

    def close(self) -> None:
        """Close the engine; inside nested blocks, the outermost does."""
        self._access.close()
        self._transactions.close()

    async def __aenter__(self) -> Self:
        await self.aopen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _ledger(self) -> str | None:
        return self.settings.ledger if is_redis(self.url) else None

    @property
    def can_forget(self) -> bool:
        """Whether tokens and the audit can be lost with all else: they can in Redis without a ledger."""
        return is_redis(self.url) and self._ledger is None

    async def _connect(self) -> Engine:
        return await open_engine(
            self.url, self.schema, clock=self._clock, migrate=self.settings.migrate, ledger=self._ledger
        )

    def _putting(self) -> Putting:
        if self._put_lent is None and self._outbox is not None:
            return self._outbox.writer
        return self._put_lent or on_lent(self.url, self.schema, self._clock)

    def _outbox_of(self, url: str) -> Outbox:
        destination = self.settings.outbox_name or place_of(self.url, self.schema)
        return Outbox(url, self._clock, self.settings.keep_outbox_for, destination)

    def _where(self) -> Where:
        has_outbox = self.settings.outbox is not None
        return Where(self.url, self.schema, self._clock, has_outbox, self.effects_name)

    @property
    def effects_name(self) -> str:
        """Under which `ctx.once` records in a database that is not the jobs'."""
        return self.settings.outbox_name or self.schema

    @property
    def transactions(self) -> AppTransactions:
        """What its handlers may do in transactions."""
        return self._transactions

    def move_to(
        self, url: str, clock: Clock, put_lent: StandIn | None = None
    ) -> tuple[str, Clock, StandIn | None]:
        """Point a closed app at another engine; where it was, to move back. For tests."""
        if self._access.is_open:
            raise EngineError("the app is open; close it before it moves to another engine")
        check_url(url)
        before = self.url, self._clock, self._put_lent
        self.url, self._clock, self._put_lent = url, clock, put_lent
        if self.settings.outbox is not None:
            self._outbox = self._outbox_of(self.settings.outbox)
        self._transactions.stand_in = put_lent
        self._access.portable = is_sqlite(url)
        return before

    def run_on_engine(self, work: Callable[[Engine], Coroutine[Any, Any, T]], twin: str) -> T:
        """Do `work` with the engine and wait; inside a running loop it refuses and names the async twin."""

        async def once(opened: Opened, again: bool) -> T:
            if again:
                raise OutcomeUnknown("the app was closed under this call; look what became of it")
            return await work(opened.engine)

        return self._access.run(once, twin)

    # -- work -----------------------------------------------------------------------------------------
    @property
    def feed(self) -> Feed:
        """What happens to jobs, as it happens; for an app that is open on the running event loop."""
        return self._access.feed

    @property
    def ops(self) -> Ops:
        """Everything a person may ask or do, over the open engine."""
        return self.ops_as(None)

    def ops_as(self, actor: Actor | None, *, reveal: bool = False) -> Ops:
        """The same in somebody's name, which the audit log gets; `reveal` shows secret arguments."""
        lag = None if self._outbox is None else self._outbox.lag
        return Ops(
            self.engine,
            self.registry,
            actor=actor,
            reveal=reveal,
            health=HealthCheck(self.engine, self._thresholds(), ledgered=self._ledger is not None),
            metrics=Metrics(self.engine, self.queues, self._now, lag),
        )

    def _now(self) -> datetime:
        return self._clock.now() or datetime.now(UTC)

    def worker_host(
        self,
        *,
        app_ref: str | None = None,
        queues: Iterable[str] | None = None,
        slots: int | None = None,
        lease: Duration | None = None,
        grace: Duration | None = None,
        tables: bool | Sequence[str] = False,
    ) -> WorkerHost:
        """What a worker needs: this app's engine where it is open here, else a new one, opened by it.

        With `tables` its process works on the rows of these too, True: of all that are declared.
        """
        _warn_of_unread(self.queues)
        chosen = [self.registry.queue(name) for name in (queues or self.queues)]
        self.registry.check_needs()
        self.registry.fingerprints()  # refuses here where a task's annotations cannot be read
        options = WorkerOptions(
            queues={queue.name: queue.concurrency for queue in chosen},
            slots=self.settings.concurrency if slots is None else count("slots", slots, 1, MAX_SLOTS),
            lease=self.settings.lease if lease is None else in_seconds("lease", lease),
            grace=self.settings.grace if grace is None else in_seconds("grace", grace),
            fingerprints=self.registry.fingerprints,
            retentions=tuple(queue.retention for queue in self.queues.values()),
            clean_up_at=self.settings.clean_up_at,
            keep_dead=self.settings.keep_dead_letters_for,
            keep_audit=self.settings.keep_audit_for,
            keep_history=self.settings.keep_history,
            keep_history_for=self.settings.keep_history_for,
            app_ref=app_ref,
            accept=self.settings.accepted,
            limited=frozenset(q.name for q in chosen if q.concurrency is not None or q.limit != NO_LIMIT),
            alerts=self.alerting,
            unkept=frozenset(q.name for q in self.queues.values() if q.retention.keep_completed == 0),
            metrics=self.settings.metrics,
            now=_seconds_by(self._clock),
        )
        self._transactions.most = options.slots
        here = self._access.is_open_here
        engine = self.engine if here else make_engine(self.url, self.schema, self._clock, self._ledger)
        wanted = tables if isinstance(tables, Sequence) else list(self.tables if tables else ())
        return WorkerHost(
            engine=engine,
            registry=self.registry,
            options=options,
            url=self.url,
            schema=self.schema,
            beside=self.table_worker(wanted, grace=options.grace) if wanted else None,
        )

    @cached_property
    def alerting(self) -> Alerting | None:
        """The rules and channels of alerts, from penstock.yaml where there is one; None: switched off."""
        found = load_alerting(self.settings.alerts)
        if found is None or self._outbox is None:
            return found
        return replace(found, relay_lag=self._outbox.lag)

    def worker(
        self,
        *,
        queues: Iterable[str] | None = None,
        slots: int | None = None,
        lease: Duration | None = None,
        grace: Duration | None = None,
    ) -> InProcessWorker:
        """A worker inside this process, for an app that is open: `await app.worker().run()`."""
        self.engine  # noqa: B018 - refuses here where the app is not open
        app_ref = ref_of(self, (task.fn.__module__ for task in self.tasks.values()))
        host = self.worker_host(app_ref=app_ref, queues=queues, slots=slots, lease=lease, grace=grace)
        return InProcessWorker(host, self._heart_engine)


def _settings(given: Settings | None, **named: str | None) -> Settings:
    from penstock.tasks.settings import Settings  # noqa: PLC0415 - pydantic, when an app is made

    chosen: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    return Settings(**chosen) if given is None else given.model_copy(update=chosen)


def _seconds_by(clock: Clock) -> Callable[[], float]:
    """The time by an injected clock, else by this host's, which should be near the engine's."""

    def injected() -> float:
        now = clock.now()
        return time.time() if now is None else now.timestamp()

    return time.time if clock.now() is None else injected


def _warn_of_unread(declared: Iterable[str] | None = None) -> None:
    from penstock.tasks.variables import warn_of_unread  # noqa: PLC0415 - as above

    warn_of_unread(declared)
