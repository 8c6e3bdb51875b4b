"""What a worker process needs of an app: made by the front door, used by the loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.engine import Engine
from penstock.runtime.options import WorkerOptions
from penstock.tasks.registry import Registry
from penstock.tasks.task import Task


class Beside(Protocol):
    """What a worker process does beside its jobs, until it is told to drain."""

    async def open(self) -> None: ...

    async def work(self) -> object: ...

    def drain(self, *, now: bool = False) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHost:
    engine: Engine
    registry: Registry
    options: WorkerOptions
    url: str = field(
        repr=False
    )  # with its credentials: it travels by pipe to the supervisor and nowhere else
    schema: str
    beside: Beside | None = None


class WorkerSource(Protocol):
    """An app, as far as a worker process is concerned."""

    @property
    def tasks(self) -> Mapping[str, Task[Any, Any]]: ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *_: object) -> None: ...

    def worker_host(self, *, app_ref: str | None, **wishes: Any) -> WorkerHost: ...
