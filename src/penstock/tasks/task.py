"""A task: a registered function, and the typed ways to make jobs of it."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from penstock.lent import AsyncConnection, Lent, SyncConnection, lent
from penstock.model.access import check_owner
from penstock.model.errors import Disabled, Duration, InvalidOption, in_seconds
from penstock.model.job import RECORD, NewJob, Window
from penstock.model.names import check_text
from penstock.model.priority import Priority, PriorityOption
from penstock.model.redaction import Clean
from penstock.model.retry import Retry
from penstock.tasks import overrides
from penstock.tasks.arguments import Arguments
from penstock.tasks.call import Call
from penstock.tasks.context import Context, SyncContext
from penstock.tasks.declared import Declared, Execute
from penstock.tasks.effects import effects_for
from penstock.tasks.ids import new_id
from penstock.tasks.inherit import (
    INHERIT,
    Inherited,
    RetryOption,
    nearest,
    policy,
    time_limit,
)
from penstock.tasks.privacy import Privacy, hiding, privacy_of
from penstock.tasks.results import Results
from penstock.tasks.run_link import RunLink
from penstock.tasks.signature import Unreadable
from penstock.tasks.unique import UniqueOption, window_of
from penstock.tasks.using_connection import UsingAsyncConnection, UsingConnection
from penstock.telemetry import tracing

if TYPE_CHECKING:
    from penstock.tasks.client import Client
    from penstock.tasks.handle import JobHandle

__all__ = ["Execute", "Options", "Plan", "Sendable", "Task", "Using", "task_kind"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Plan:
    """How a call travels: by its task's options, or by what `using()` put in their place."""

    priority: int
    max_attempts: int
    delay: float = 0.0
    owner: str | None = None
    key: str | None = None
    expire_after: float | None = None
    options: str | None = None
    window: Window = RECORD
    order: str | None = None


class Options(TypedDict, total=False):
    """What `using()` may put in the place of a task's own options."""

    delay: Duration | None
    priority: PriorityOption | None
    owner: str | None
    key: str | None
    retry: RetryOption | None
    timeout: Duration | Inherited | None
    expire_after: Duration | None
    unique: UniqueOption | None
    order: str | None
    tags: Sequence[str] | None


class Sendable(Generic[P, R]):
    """What makes jobs: a task, or a task with other options for some calls."""

    _task: Task[P, R]
    _plan: Plan

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Validate the arguments and make a call, to be enqueued together with others."""
        return self._task.make(self._plan, args, kwargs)

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Put one job in. Inside a running event loop use `aenqueue`."""
        task = self._task
        return task.client.send(task.make(self._plan, args, kwargs))

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Put one job in; calls made at the same time share a commit."""
        task = self._task
        return await task.client.asend(task.make(self._plan, args, kwargs))

    @overload
    def using(self, *, connection: None = None, **options: Unpack[Options]) -> Using[P, R]: ...
    @overload
    def using(self, *, connection: SyncConnection, **options: Unpack[Options]) -> UsingConnection[P, R]: ...
    @overload
    def using(
        self, *, connection: AsyncConnection, **options: Unpack[Options]
    ) -> UsingAsyncConnection[P, R]: ...
    def using(
        self,
        *,
        connection: object = None,
        delay: Duration | None = None,
        priority: PriorityOption | None = None,
        owner: str | None = None,
        key: str | None = None,
        retry: RetryOption | None = None,
        timeout: Duration | Inherited | None = INHERIT,
        expire_after: Duration | None = None,
        unique: UniqueOption | None = None,
        order: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Using[P, R] | UsingAsyncConnection[P, R]:
        """The same task with other options for the calls made through it; what is not given stays.

        With a `connection` to the database in which the jobs live, they are put in as a part of its
        transaction: sqlite3, psycopg, asyncpg, SQLAlchemy's or Django's. Where the app has an outbox, they
        are written there; those with the same `order` then reach the engine in the order of their rows.
        """
        if order is not None:
            self._task.client.check_order()
        given: dict[str, Any] = {
            "delay": None if delay is None else in_seconds("delay", delay),
            "priority": None if priority is None else Priority.of(priority),
            "owner": None if owner is None else check_owner(owner),
            "key": None if key is None else check_text("key", key),
            "expire_after": None if expire_after is None else in_seconds("expire_after", expire_after),
            "window": None if unique is None else window_of(f"task {self._task.name!r}", unique),
            "order": None if order is None else check_text("order", order),
        }
        plan = replace(self._plan, **{name: value for name, value in given.items() if value is not None})
        using = Using(self._task, self._task.overridden(plan, retry, timeout, tags))
        if connection is None:
            return using
        found = lent(connection)
        return (UsingConnection if isinstance(found, Lent) else UsingAsyncConnection)(using, found)


class Using(Sendable[P, R]):
    """A task with other options for some calls."""

    def __init__(self, task: Task[P, R], plan: Plan) -> None:
        self._task = task
        self._plan = plan


class Task(Sendable[P, R]):
    """A registered function. Calling it runs the function in place; nothing is enqueued."""

    def __init__(self, declared: Declared, client: Client, max_args: int, max_result: int) -> None:
        self._task = self
        self._plan = Plan(
            declared.priority,
            declared.retry.attempts,
            expire_after=declared.expire_after,
            window=declared.window,
        )
        self._gates = [g for g in (declared.gate, declared.queue.gate) if not g.always_open]
        self.client = client
        self.declared = declared
        self.fn = declared.fn
        self.name = declared.name
        self.queue = declared.queue.name
        self.execute = declared.execute
        self.takes_context = declared.signature.takes_context
        self.is_async = declared.signature.is_async
        self.timeout = declared.timeout
        self.retry = declared.retry
        self.classify = declared.classify
        self.arguments = Arguments(self.name, declared.signature, max_args)
        results = Results(self.name, declared.signature, max_result)
        self._key = declared.key
        self._lane = declared.lane
        self.is_gated = bool(self._gates)  # whether the task or its queue can be switched off
        self.is_limited = declared.lane is not None  # whether its jobs belong into lanes of their own
        self.needs = () if declared.lane is None else declared.lane.group.needs
        self._encode = self.arguments.encode
        self.decode = self.arguments.decode
        self.encode_result = results.encode
        self.decode_result = results.decode

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function here and now, as if it were not a task."""
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name} on {self.queue}>"

    @property
    def fingerprint(self) -> str:
        """Names the shape of the payload; workers tell it to the engine with every claim."""
        return self.arguments.fingerprint

    @cached_property
    def privacy(self) -> Privacy:
        """Which of its arguments are secret, and which can be searched by."""
        return privacy_of(self.declared)

    def cleaner(self, payload: str) -> Clean:
        """What takes secrets out of the errors of a job with this payload.

        Of arguments whose types cannot be read, everything: an error must be stored, whatever is in it.
        """
        try:
            return self.privacy.cleaner(payload)
        except Unreadable:
            return hiding(self.declared.signature.names).cleaner(payload)

    def validate(self, args: Mapping[str, Any]) -> str:
        """Check arguments given by name, and write them as the payload of a job."""
        return self._encode((), dict(args))[0]

    async def run(self, link: RunLink, args: dict[str, Any]) -> Any:
        """Run an async handler with decoded arguments."""
        ctx = Context(link, self) if self.takes_context else None
        handling = self.fn(**args) if ctx is None else self.fn(ctx, **args)
        try:
            if not tracing.is_on():
                return await handling
            with tracing.running(link.claim, self.cleaner):
                return await handling
        finally:
            if ctx is not None:
                ctx.tell_log()

    def run_sync(self, link: RunLink, args: dict[str, Any]) -> Any:
        """Run a sync handler with decoded arguments."""
        ctx = SyncContext(link, self) if self.takes_context else None
        try:
            with tracing.running(link.claim, self.cleaner) if tracing.is_on() else nullcontext():
                return self.fn(**args) if ctx is None else self.fn(ctx, **args)
        finally:
            if ctx is not None:
                ctx.tell_log()

    def closed(self) -> str | None:
        """Why its jobs must not run now; None while the gates of the task and its queue are open."""
        for gate in self._gates:
            if reason := gate.closed():
                return reason
        return None

    def refuses(self) -> str | None:
        """Why new jobs are refused now; None while they are let in, be it to be kept aside."""
        for gate in self._gates:
            if gate.when_disabled == "refuse" and (reason := gate.closed()):
                return f"{reason}; nothing was enqueued"
        return None

    def admit(self) -> None:
        """Disabled where new jobs are refused."""
        if reason := self.refuses():
            raise Disabled(
                f"{reason}. Enqueue it again when it is on, or declare when_disabled='park' to keep such jobs"
            )

    def lane_for(self, values: Mapping[str, Any]) -> str | None:
        """The limited lane of a job with these arguments; None: any lane will do."""
        return None if self._lane is None else self._lane.lane(values)

    def policy_for(self, options: str | None) -> Retry:
        """The retry policy of a job with these stored options."""
        return self.retry if options is None else policy(overrides.read(options).retry, self.retry)

    def timeout_for(self, options: str | None) -> float | None:
        """The seconds that a run of a job with these stored options may take; None: no limit."""
        return self.timeout if options is None else nearest(overrides.read(options).timeout, self.timeout)

    @property
    def needs_key(self) -> bool:
        """Whether a call must bring the key that it is unique by."""
        return self._key is None and self._plan.window is not RECORD

    def make(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call[R]:
        """A call of this task that travels by `plan`."""
        text, values = self._encode(args, kwargs)
        job_id = new_id()
        key, unique = plan.key, True
        if key is None:
            key, unique = (job_id, False) if self._key is None else (self._key.render(values), True)
        if not unique and plan.window is not RECORD:
            raise InvalidOption(
                f"unique= of task {self.name!r} needs a key to be unique by; give the task key=, "
                "or the call using(key=…)"
            )
        job = tuple.__new__(NewJob, (  # by its own name it takes three times as long
            job_id, self.queue, self.name, text, key, unique, plan.priority, plan.delay,
            plan.max_attempts, plan.owner, plan.expire_after, plan.options,
            None if self._lane is None else self._lane.lane(values), plan.window, None, plan.order,
        ))  # fmt: skip
        return Call(self, job)

    def overridden(
        self,
        plan: Plan,
        retry: RetryOption | None,
        timeout: Duration | Inherited | None,
        tags: Sequence[str] | None = None,
    ) -> Plan:
        """`plan` with another retry policy or timeout, or other tags, which travel with the job."""
        if retry is None and timeout is INHERIT and tags is None:
            return plan
        before = overrides.read(plan.options) if plan.options else overrides.Overrides()
        limit = before.timeout if timeout is INHERIT else time_limit("timeout", timeout)
        chosen = before.retry if retry is None else retry
        words = before.tags if tags is None else overrides.check_tags(tags)
        tries = policy(chosen, self.retry)
        if self.takes_context:
            self._effects_for(tries, nearest(limit, self.timeout))  # refuses what is too short for these
        return replace(plan, max_attempts=tries.attempts, options=overrides.write(chosen, limit, words))

    def effects_for(self, options: str | None) -> float:
        """The seconds for which the effects of a job with these stored options are remembered."""
        return self._effects_for(self.policy_for(options), self.timeout_for(options))

    def _effects_for(self, retry: Retry, timeout: float | None) -> float:
        declared = self.declared
        what = f"a job of task {self.name!r}"
        return effects_for(what, declared.effects_for, declared.lifetimes, retry, timeout)


# The four below differ only in what calling the task in place takes and returns.


class AsyncTask(Task[P, R]):
    """A task made of an async function."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Run the function here and now."""
        return super().__call__(*args, **kwargs)  # type: ignore[no-any-return]


class AsyncContextTask(Task[P, R]):
    """A task made of an async function that takes its context."""

    def __call__(self, ctx: Context, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Run the function here and now, with this context."""
        return super().__call__(ctx, *args, **kwargs)  # type: ignore[no-any-return]


class SyncTask(Task[P, R]):
    """A task made of a sync function."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now."""
        return super().__call__(*args, **kwargs)  # type: ignore[no-any-return]


class SyncContextTask(Task[P, R]):
    """A task made of a sync function that takes its context."""

    def __call__(self, ctx: SyncContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now, with this context."""
        return super().__call__(ctx, *args, **kwargs)  # type: ignore[no-any-return]


def task_kind(declared: Declared) -> type[Task[Any, Any]]:
    """The class of a task, by the kind of its function."""
    if declared.signature.is_async:
        return AsyncContextTask if declared.signature.takes_context else AsyncTask
    return SyncContextTask if declared.signature.takes_context else SyncTask
