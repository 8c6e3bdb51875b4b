"""The registry: every queue and task of an app. What is not in it can be neither enqueued nor run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from penstock.engine import Group
from penstock.model.errors import InvalidOption, UnknownQueue, UnknownTask
from penstock.tasks import catalogue
from penstock.tasks.breakers import CircuitBreaker
from penstock.tasks.declared import TaskOptions, resolve, task_name
from penstock.tasks.effects import Lifetimes
from penstock.tasks.hooks import Hook
from penstock.tasks.limited import groups_of
from penstock.tasks.queue import DEFAULT_QUEUE, Queue
from penstock.tasks.schedules import Schedules
from penstock.tasks.signature import Unreadable
from penstock.tasks.task import Task, task_kind

if TYPE_CHECKING:
    from penstock.tasks.client import Client
    from penstock.tasks.settings import Settings


class Registry:
    """Queues and tasks by name."""

    def __init__(self, settings: Settings, client: Client, default: Queue) -> None:
        self._settings = settings
        self._client = client
        self._tasks: dict[str, Task[Any, Any]] = {}
        self._queues = {DEFAULT_QUEUE: default}
        self.breakers: dict[str, CircuitBreaker] = {}
        self.schedules = Schedules()
        self.hooks: dict[str, Hook] = {}
        self._known: dict[str, str] = {}  # name -> fingerprint, built when a worker first asks
        self._gated: list[Task[Any, Any]] = []
        self._implied = True  # the default queue is there without having been declared

    @property
    def tasks(self) -> Mapping[str, Task[Any, Any]]:
        return MappingProxyType(self._tasks)

    @property
    def queues(self) -> Mapping[str, Queue]:
        return MappingProxyType(self._queues)

    def task(self, name: str) -> Task[Any, Any]:
        """The task of this name, or UnknownTask with the closest names."""
        if name in self._tasks:
            return self._tasks[name]
        raise UnknownTask(f"no task {name!r} is registered; {_closest(name, self._tasks, 'tasks')}")

    def queue(self, name: str) -> Queue:
        """The queue of this name, or UnknownQueue with the closest names."""
        if name in self._queues:
            return self._queues[name]
        raise UnknownQueue(f"no queue {name!r} is declared; {_closest(name, self._queues, 'queues')}")

    def add_queue(self, queue: Queue) -> Queue:
        """Declare a queue. Again in the same way is fine; in another way is refused."""
        known = self._queues.get(queue.name)
        if known == queue:
            return known
        if known is not None and not (queue.name == DEFAULT_QUEUE and self._implied):
            raise InvalidOption(f"queue {queue.name!r} is declared already, with other options")
        used = next((t.name for t in self._tasks.values() if t.queue == queue.name), None)
        if used is not None:
            raise InvalidOption(f"declare queue {queue.name!r} before task {used!r}, which inherits from it")
        self._implied = self._implied and queue.name != DEFAULT_QUEUE
        self._queues[queue.name] = queue
        return queue

    def add_task(self, fn: Callable[..., Any], options: TaskOptions) -> Task[Any, Any]:
        """Register a function as a task."""
        name = task_name(fn, options)
        if name in self._tasks:
            raise InvalidOption(f"a task {name!r} is registered already; give one of them another name=")
        if options.queue not in self._queues:
            raise UnknownQueue(
                f"task {name!r} goes to queue {options.queue!r}, which is not declared; write "
                f"app.queue({options.queue!r}) before it ({_closest(options.queue, self._queues, 'queues')})"
            )
        settings = self._settings
        kept = Lifetimes(settings.keep_effects_for, settings.keep_dead_letters_for)
        declared = resolve(fn, options, self._queues[options.queue], kept)
        limits = settings.max_args_bytes, settings.max_result_bytes
        task = task_kind(declared)(declared, self._client, *limits)
        with suppress(Unreadable):  # what an annotation names may come later: then it is checked later
            task.privacy  # noqa: B018 - refuses what would show a secret
        self._tasks[name] = task
        return task

    def get(self, name: str) -> Task[Any, Any] | None:
        """The task of this name, if it is registered."""
        return self._tasks.get(name)

    def fingerprints(self) -> Mapping[str, str]:
        """The fingerprint of every task whose gates are open now: what a worker says it can run."""
        if len(self._known) != len(self._tasks):
            self._known = {task.name: task.fingerprint for task in self._tasks.values()}
            self._gated = [task for task in self._tasks.values() if task.is_gated]
        off = {task.name for task in self._gated if task.closed()}
        return {name: told for name, told in self._known.items() if name not in off} if off else self._known

    def groups(self) -> tuple[Group, ...]:
        """The limits that queues and tasks declare, for the engine."""
        return groups_of(self._queues.values(), [task.declared.lane for task in self._tasks.values()])

    def triggered_by(self, event: str) -> list[Task[Any, Any]]:
        """The tasks that an event makes jobs of, by name."""
        return [task for _, task in sorted(self._tasks.items()) if task.declared.on == event]

    def add_breaker(self, breaker: CircuitBreaker) -> CircuitBreaker:
        """Declare a breaker. Again in the same way is fine; in another way is refused."""
        known = self.breakers.setdefault(breaker.name, breaker)
        if known.declared != breaker.declared:
            raise InvalidOption(f"breaker {breaker.name!r} is declared already, with other numbers")
        return known

    def check_needs(self) -> None:
        """InvalidOption where a task needs a breaker that nobody has declared."""
        for task in self._tasks.values():
            for name in task.needs:
                if name not in self.breakers:
                    raise InvalidOption(
                        f"task {task.name!r} needs breaker {name!r}, which is not declared; write "
                        f"app.breaker({name!r}) ({_closest(name, self.breakers, 'breakers')})"
                    )

    def catalogue(self) -> list[dict[str, Any]]:
        """Every task with its options and payload schema, as plain rows sorted by name."""
        return [
            catalogue.row(task, self.schedules.of_task(name)) for name, task in sorted(self._tasks.items())
        ]


def _closest(name: str, known: Iterable[str], what: str) -> str:
    names = sorted(known)
    close = get_close_matches(name, names, 3)
    if close:
        return f"did you mean {' or '.join(repr(n) for n in close)}?"
    return f"the {what} are {', '.join(names)}" if names else f"there are no {what} yet"
