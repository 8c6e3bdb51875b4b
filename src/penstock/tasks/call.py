"""A call: one job, validated and ready to be enqueued, alone or with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.model.errors import InvalidOption
from penstock.model.job import NewJob

if TYPE_CHECKING:
    from penstock.tasks.task import Task

R_co = TypeVar("R_co", covariant=True)


class Call(Generic[R_co]):
    """What `task.call(...)` returns. Its id is made already: enqueueing it twice is enqueueing it once."""

    __slots__ = ("job", "sent", "task")

    def __init__(self, task: Task[Any, R_co], job: NewJob) -> None:
        self.task = task
        self.job = job
        self.sent = False  # an enqueue of it was begun: the engine may know its id

    def refuse_order(self) -> None:
        """InvalidOption where it asks for a place in an outbox that it does not go through."""
        if self.job.order is not None:
            raise InvalidOption(f"{self!r} has an order=, which is for the outbox: give connection= too")

    def __repr__(self) -> str:
        return f"<call of {self.job.task} {self.job.id}>"
