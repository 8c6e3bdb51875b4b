"""The line from a running handler to the worker that runs it."""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

from penstock.engine import Settlement
from penstock.model.errors import ValueTooLarge
from penstock.model.failure import shorten
from penstock.model.job import Claim, NewJob
from penstock.model.values import dumps
from penstock.tasks.errands import Errand
from penstock.tasks.joblog import Line

MAX_PROGRESS_BYTES = 4_096
# In characters, longest first. One takes up to six bytes of JSON, so the last fits whatever it holds.
_MESSAGE_LENGTHS = (MAX_PROGRESS_BYTES - 50, 2_000, 1_000, 600)


class RunLink(Protocol):
    """The line from a running handler to the worker that runs it."""

    @property
    def claim(self) -> Claim:
        """The job in hand."""

    @property
    def worker(self) -> str:
        """The id of the worker that runs it."""

    @property
    def deadline(self) -> float | None:
        """When the run is ended for taking too long, by `time.monotonic()`; None: no limit."""

    @property
    def lease(self) -> float:
        """Seconds without a heartbeat after which the worker is given up."""

    def lease_lost(self) -> bool:
        """Whether the job belongs to another worker by now."""
        ...

    def cancelled(self) -> bool:
        """Whether somebody asked the job to stop."""
        ...

    async def progress(self, percent: float, message: str) -> None:
        """Store how far the run is."""

    def progress_sync(self, percent: float, message: str) -> None:
        """The same, from a handler's own thread or process."""

    async def do(self, errand: Errand) -> Any:
        """Have the engine asked; EngineUnavailable where it does not answer."""

    def do_sync(self, errand: Errand) -> Any:
        """The same, from a handler's own thread or process."""

    def follow(self, job: NewJob) -> None:
        """Put this job in when the run completes."""

    def logged(self, lines: list[Line]) -> None:
        """Keep what the run has logged so far: best effort, and without waiting. From any thread."""

    def completion(self, value: Any) -> Settlement:
        """The end of this run as completed with this result, and with what follows from it."""

    def committed(self, *, answered: bool) -> None:
        """The run has been settled so, in a transaction of the handler's; `answered`: its result was set."""


def progress_text(percent: float, message: str) -> str:
    """The JSON text that engines store as a job's progress; a message that is too long is cut."""
    for length in _MESSAGE_LENGTHS:
        told = {"percent": percent, "message": shorten(str(message), length)}
        with contextlib.suppress(ValueTooLarge):
            return dumps(told, MAX_PROGRESS_BYTES, "progress")
    raise AssertionError("the shortest always fits")
