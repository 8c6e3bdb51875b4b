"""Penstock: the front door."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from penstock.audit import Actor
from penstock.engine import Engine
from penstock.lent import AsyncConnection, SyncConnection, lent
from penstock.model.clock import Clock, EngineClock
from penstock.model.errors import Duration, EngineError, OutcomeUnknown, in_seconds
from penstock.model.limits import NO_LIMIT
from penstock.model.names import check_schema
from penstock.model.priority import PriorityOption
from penstock.opening import make_engine, on_lent, open_engine
from penstock.ops import Diagnosis, Ops
from penstock.outbox.box import Outbox, needed
from penstock.outbox.relay import Relay
from penstock.runtime.host import WorkerHost
from penstock.runtime.inprocess import InProcessWorker
from penstock.runtime.options import WorkerOptions
from penstock.table.declared import Table
from penstock.table.declaring import Tabling
from penstock.tasks.access import Access
from penstock.tasks.breakers import CircuitBreaker, make_breaker
from penstock.tasks.call import Call
from penstock.tasks.client import Client, Putting
from penstock.tasks.declare import Declare
from penstock.tasks.declared import TaskOptions
from penstock.tasks.events import calls_for
from penstock.tasks.flow import Flow
from penstock.tasks.gate import Switch, WhenDisabled
from penstock.tasks.handle import JobHandle
from penstock.tasks.home import Opened
from penstock.tasks.hooks import Hooking
from penstock.tasks.inherit import INHERIT, MAX_SLOTS, Inherited, RetryOption, count
from penstock.tasks.loading import ref_of
from penstock.tasks.queue import DEFAULT_QUEUE, Queue
from penstock.tasks.queues import make_queue, under_environment
from penstock.tasks.registry import Registry
from penstock.tasks.schedules import name_of
from penstock.tasks.scheduling import Scheduling
from penstock.tasks.task import Task
from penstock.tasks.urls import check_ledger, check_url, in_memory, is_redis, is_sqlite, masked
from penstock.transacting import AppTransactions, StandIn, Where

if TYPE_CHECKING:
    from penstock.tasks.settings import Settings

T = TypeVar("T")


class Penstock(Scheduling, Tabling, Hooking):
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
            self._outbox = Outbox(self.settings.outbox, self._clock, self.settings.keep_outbox_for)
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

    # -- declare --------------------------------------------------------------------------------------
    @property
    def task(self) -> Declare:
        """Make a task of a function: `@app.task`, or `@app.task(queue="email", timeout=30)`.

        Options: queue, name, description, timeout, key, retry, priority, execute, expire_after, classify,
        enabled, when_disabled, rate, rate_key, concurrency, needs, on, unique and effects_for. `rate` and
        `concurrency` hold over all workers, with `rate_key` for each key by itself; `needs` names breakers,
        `on` an event; `unique` says for how long a key keeps others out, `effects_for` for how long
        `ctx.once()` remembers. What is not given is inherited from the queue, then from the settings.
        """
        return self._declare

    def queue(
        self,
        name: str,
        *,
        concurrency: int | None = None,
        retry: RetryOption | None = None,
        timeout: Duration | Inherited | None = INHERIT,
        priority: PriorityOption | None = None,
        keep_completed: int | Inherited | None = INHERIT,
        keep_failed: int | Inherited | None = INHERIT,
        keep_for: Duration | Inherited | None = INHERIT,
        enabled: Switch = True,
        when_disabled: WhenDisabled = "refuse",
        rate: str | None = None,
        rate_key: str | None = None,
        max_active: int | None = None,
    ) -> Queue:
        """Declare a queue, before its tasks. `PENSTOCK_QUEUE_<NAME>_<OPTION>` overrides what is given here.

        `concurrency` bounds how many of its jobs one worker process runs at once; `max_active` how many run
        at once in all workers together, and `rate` ("30/s", "1/2s") how many start in a time. With
        `rate_key`, a template over arguments that all its tasks take ("{tenant}"), those two count for each
        key by itself.
        `keep_…` bound its finished jobs by count and by age; None is no bound. `enabled` is a bool, or a
        function asked each time.
        """
        options: dict[str, Any] = {
            "concurrency": concurrency,
            "retry": retry,
            "timeout": timeout,
            "priority": priority,
            "keep_completed": keep_completed,
            "keep_failed": keep_failed,
            "keep_for": keep_for,
            "enabled": enabled,
            "when_disabled": when_disabled,
            "rate": rate,
            "rate_key": rate_key,
            "max_active": max_active,
        }
        return self.registry.add_queue(make_queue(self.settings, name, **under_environment(name, options)))

    def breaker(
        self,
        name: str,
        *,
        threshold: int = 5,
        reset: Duration = 60.0,
        probes: int = 1,
        failure_rate: float | None = None,
        window: Duration = 60.0,
        minimum: int = 20,
    ) -> CircuitBreaker:
        """Declare a circuit breaker, shared by all workers; tasks name it in `needs=`.

        It opens after `threshold` failures in a row, or, with `failure_rate`, when that share of at least
        `minimum` runs within `window` seconds failed. After `reset` seconds `probes` jobs at once try the
        service again: a success closes it, a failure opens it again.
        """
        numbers = make_breaker(
            name,
            threshold=threshold,
            reset=reset,
            probes=probes,
            failure_rate=failure_rate,
            window=window,
            minimum=minimum,
        )
        return self.registry.add_breaker(CircuitBreaker(numbers, self._access))

    @property
    def tasks(self) -> Mapping[str, Task[Any, Any]]:
        """Every registered task, by name."""
        return self.registry.tasks

    @property
    def queues(self) -> Mapping[str, Queue]:
        """Every declared queue, by name."""
        return self.registry.queues

    # -- enqueue --------------------------------------------------------------------------------------
    def enqueue_many(
        self, calls: Iterable[Call[T]], *, connection: SyncConnection | None = None
    ) -> list[JobHandle[T]]:
        """Put many jobs in, in order, in groups of at most 5,000 that are each all or nothing.

        With a `connection` to the engine's database, all of them as a part of its transaction.
        """
        if connection is None:
            return self._client.send_many(list(calls))
        return self._client.send_lent(list(calls), lent(connection))

    async def aenqueue_many(
        self, calls: Iterable[Call[T]], *, connection: SyncConnection | AsyncConnection | None = None
    ) -> list[JobHandle[T]]:
        """Put many jobs in, in order, in groups of at most 5,000 that are each all or nothing.

        With a `connection` to the engine's database, all of them as a part of its transaction.
        """
        if connection is None:
            return await self._client.asend_many(list(calls))
        return await self._client.asend_lent(list(calls), lent(connection))

    def emit(
        self,
        event: str,
        payload: Mapping[str, Any] | None = None,
        *,
        connection: SyncConnection | None = None,
    ) -> list[JobHandle[Any]]:
        """Put in a job of every task with `on=event`, all or none, with what each takes of the payload."""
        return self.enqueue_many(calls_for(self.registry, event, payload), connection=connection)

    async def aemit(
        self,
        event: str,
        payload: Mapping[str, Any] | None = None,
        *,
        connection: SyncConnection | AsyncConnection | None = None,
    ) -> list[JobHandle[Any]]:
        """Put in a job of every task with `on=event`, all or none, with what each takes of the payload."""
        calls = calls_for(self.registry, event, payload)
        return await self.aenqueue_many(calls, connection=connection)

    def flow(self, name: str) -> Flow:
        """A new flow: jobs with edges between them, enqueued as one."""
        return Flow(self._client, name)

    def call_by_name(self, task: str, args: Mapping[str, Any]) -> Call[Any]:
        """A call of the task of this name; UnknownTask or InvalidArguments where it cannot be."""
        return self.registry.task(task).call(**args)

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

    async def examine(self) -> Diagnosis:
        """What is safe and what is not about the place where jobs live; the app need not be open."""
        engine = make_engine(self.url, self.schema, self._clock, self._ledger)
        try:
            found = await engine.examine()
        finally:
            await engine.close()
        if self._outbox is not None:
            found = [*found, await self._outbox.examine()]
        return Diagnosis(found, self.settings.accepted)

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

    async def _connect(self) -> Engine:
        return await open_engine(
            self.url, self.schema, clock=self._clock, migrate=self.settings.migrate, ledger=self._ledger
        )

    def _putting(self) -> Putting:
        if self._put_lent is None and self._outbox is not None:
            return self._outbox.writer
        return self._put_lent or on_lent(self.url, self.schema, self._clock)

    def _where(self) -> Where:
        return Where(self.url, self.schema, self._clock, self.settings.outbox is not None)

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
    def ops(self) -> Ops:
        """Everything a person may ask or do, over the open engine."""
        return self.ops_as(None)

    def ops_as(self, actor: Actor | None, *, reveal: bool = False) -> Ops:
        """The same in somebody's name, which the audit log gets; `reveal` shows secret arguments."""
        return Ops(self.engine, self.registry, actor, reveal=reveal)

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
            unkept=frozenset(q.name for q in self.queues.values() if q.retention.keep_completed == 0),
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

    @property
    def outbox(self) -> Outbox:
        """The app's outbox; InvalidOption where it has none."""
        return needed(self._outbox)

    def relay(self) -> Relay:
        """A relay inside this process: `await app.relay().run()`; any number may run, anywhere."""
        return self.outbox.relay(self._relay_engine)

    @asynccontextmanager
    async def _relay_engine(self) -> AsyncIterator[Engine]:
        """The app's engine where it is open here, else one of its own."""
        if self._access.is_open_here:
            yield self.engine
            return
        async with self._another_engine() as engine:
            yield engine

    @asynccontextmanager
    async def _heart_engine(self) -> AsyncIterator[Engine]:
        """An engine for the heartbeat's own loop; a database in memory has only the one."""
        if in_memory(self.url):
            yield self.engine
            return
        async with self._another_engine() as engine:
            yield engine

    @asynccontextmanager
    async def _another_engine(self) -> AsyncIterator[Engine]:
        engine = await self._connect()
        try:
            yield engine
        finally:
            await engine.close()


def _settings(given: Settings | None, **named: str | None) -> Settings:
    from penstock.tasks.settings import Settings  # noqa: PLC0415 - pydantic, when an app is made

    chosen: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    return Settings(**chosen) if given is None else given.model_copy(update=chosen)


def _warn_of_unread(declared: Iterable[str] | None = None) -> None:
    from penstock.tasks.variables import warn_of_unread  # noqa: PLC0415 - as above

    warn_of_unread(declared)
