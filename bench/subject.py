"""The app that is measured: one task that does nothing."""

from __future__ import annotations

from penstock import Penstock
from penstock.tasks.inherit import INHERIT
from penstock.tasks.settings import Settings
from penstock.tasks.task import Task

QUEUE = "bench"


def make(url: str, schema: str, *, keep: bool = True) -> Penstock:
    """An app; not `keep`: completed jobs leave no record, nor anything in the history."""
    app = Penstock(url, schema=schema, settings=Settings() if keep else Settings(keep_history=0))
    app.queue(QUEUE, keep_completed=INHERIT if keep else 0)
    app.task(queue=QUEUE, name="noop")(noop)
    return app


async def noop(t: float) -> None:
    """Enqueued here, run in the worker: see `worker_app`."""


def task_of(app: Penstock) -> Task[..., None]:
    return app.registry.task("noop")
