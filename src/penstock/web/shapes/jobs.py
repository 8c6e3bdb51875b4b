"""Jobs, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from penstock.model.access import check_owner
from penstock.model.errors import MAX_SECONDS
from penstock.model.states import State, Status
from penstock.web.shapes.fields import Name, Said, Text


class NewJob(Said):
    """A job to enqueue: `task`, or `job_type`, which is the same."""

    task: Name | None = None
    job_type: Name | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    key: Text | None = None  # as the header Idempotency-Key
    delay: Annotated[float, Field(ge=0, le=MAX_SECONDS)] | None = None  # seconds
    priority: Literal["critical", "high", "medium", "low"] | None = None
    owner: Annotated[Text, AfterValidator(check_owner)] | None = None  # for those who see the jobs of all
    tags: Annotated[list[Name], Field(max_length=10)] | None = None  # words to find it by


class Accepted(BaseModel):
    job_id: str
    status: Status
    duplicate: bool  # the key was taken: this is the job that holds it
    follow: str | None = None  # a token for `GET /jobs/{job_id}/events`, for an hour


class JobView(BaseModel):
    """A job as the outside may know it; `payload` and `result` only for those who may see them."""

    job_id: str
    queue: str
    task: str
    status: Status
    state: State | None  # None: its own record is pruned, and this is what the history has
    attempts_made: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    updated_at: datetime
    next_attempt_at: datetime | None
    progress: dict[str, Any] | None
    error: str | None
    owner: str | None
    key: str | None
    tags: list[str] = []
    recovered_as: str | None = None  # of a failed one: the job that was made of it
    result: Any = None
    payload: Any = None


class JobPage(BaseModel):
    jobs: list[JobView]
    next: str | None  # give it as `after`; None: that was all


class CancelledView(BaseModel):
    job_id: str
    status: Literal["cancelled", "stopping"]  # stopping: its worker was asked to stop it


class PromotedView(BaseModel):
    job_id: str
    state: State
    due_at: datetime


class RetriedView(BaseModel):
    job_id: str
    how: Literal["due now", "recovered", "recovered already"]


class DeletedView(BaseModel):
    job_id: str
