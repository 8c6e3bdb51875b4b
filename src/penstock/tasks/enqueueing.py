"""Putting jobs in: many at once, for an event, as a flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.lent import AsyncConnection, SyncConnection, lent
from penstock.tasks.call import Call
from penstock.tasks.events import calls_for
from penstock.tasks.flow import Flow
from penstock.tasks.handle import JobHandle

if TYPE_CHECKING:
    from penstock.tasks.client import Client
    from penstock.tasks.registry import Registry

T = TypeVar("T")


class Enqueueing:
    """The part of an app that puts in jobs of several tasks."""

    registry: Registry
    _client: Client

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

        A list is checked as a whole before the first job goes in. From an iterator the calls are drawn as the
        jobs go in, a group while the one before is written: where it raises, the groups before are in.
        With a `connection` to the engine's database, all of them as a part of its transaction.
        """
        if connection is None:
            return await self._client.asend_many(calls)
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
