"""`app.task`, `app.queue` and `app.breaker`: what an app is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.model.errors import Duration
from penstock.model.priority import PriorityOption
from penstock.tasks.breakers import CircuitBreaker, make_breaker
from penstock.tasks.declare import Declare
from penstock.tasks.gate import Switch, WhenDisabled
from penstock.tasks.inherit import INHERIT, Inherited, RetryOption
from penstock.tasks.queue import Queue
from penstock.tasks.queues import make_queue, under_environment
from penstock.tasks.task import Task

if TYPE_CHECKING:
    from penstock.tasks.access import Access
    from penstock.tasks.registry import Registry
    from penstock.tasks.settings import Settings


class Declaring:
    """The part of an app that says what there is."""

    registry: Registry
    settings: Settings
    _access: Access
    _declare: Declare

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
