"""What a worker process needs of an app: made by the front door, used by the loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.engine import Engine
from penstock.runtime.options import WorkerOptions
from penstock.tasks.registry import Registry
from penstock.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHost:
    engine: Engine
    registry: Registry
    options: WorkerOptions
    url: str = field(
        repr=False
    )  # with its credentials: it travels by pipe to the supervisor and nowhere else
    schema: str


class WorkerSource(Protocol):
    """An app, as far as a worker process is concerned."""

    @property
    def tasks(self) -> Mapping[str, Task[Any, Any]]: ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *_: object) -> None: ...

    def worker_host(self, *, app_ref: str | None, **wishes: Any) -> WorkerHost: ...
