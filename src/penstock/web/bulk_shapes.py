"""What goes in and out where many jobs, or dead letters, are acted on; and notes on dead letters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from penstock.model.matched import Act
from penstock.model.states import State
from penstock.remarks import MAX_TEXT
from penstock.searching import MAX_ARGS
from penstock.web.shapes import NO_NUL, Count, Instant, JobView, Name, Said, Text, Why, storable

Id = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
CauseId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Rate = Annotated[float, Field(gt=0, le=100_000)]  # jobs per second
Remarked = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=NO_NUL), AfterValidator(storable)]


# -- all jobs that match -----------------------------------------------------------------------------------
class PreviewView(BaseModel):
    """What an action would be done to; `cut_off`, `count` and `confirm` go with the action."""

    act: Act
    cut_off: datetime
    count: Count
    more: bool  # and more than that
    examples: list[JobView]
    confirm: str


class MatchingStep(Why):
    """Which jobs, what the preview said of them, and where to go on."""

    queue: Name | None = None
    task: Name | None = None
    state: State | None = None
    owner: Text | None = None
    key: Text | None = None
    since: Instant | None = None
    until: Instant | None = None
    parked: bool | None = None
    tag: Name | None = None
    args: Annotated[dict[Annotated[str, Field(max_length=200)], Text], Field(max_length=MAX_ARGS)] | None = (
        None
    )
    cut_off: Instant
    count: Count
    confirm: Annotated[str, Field(max_length=64)]
    after: Annotated[str, Field(max_length=60, pattern=NO_NUL)] | None = None  # the `next` of the step before
    done: Count = 0  # by the steps before
    rate: Rate = 50.0  # at which failed jobs come back


class StepView(BaseModel):
    """What a step has done; where `next` is given, there may be more to do."""

    done: Count
    left: Count  # they were not eligible any more
    next: str | None


class DeletedView(BaseModel):
    job_id: str


# -- dead letters ------------------------------------------------------------------------------------------
class DeadCauseView(BaseModel):
    """Dead letters that are alike: the same task and the same error, but for what differs in each."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    task: str
    error: str
    latest: str
    count: Count
    first_at: datetime
    last_at: datetime
    by_hour: list[int]  # of the last day, the oldest first


class CausesView(BaseModel):
    causes: list[DeadCauseView]  # the most frequent first
    more: bool  # only the newest dead letters were looked at


class RecoverSome(Why):
    """Just these dead letters."""

    job_ids: Annotated[list[Id], Field(min_length=1, max_length=200)]
    rate: Rate = 50.0


class RecoveredSomeView(BaseModel):
    job_ids: list[str]  # of the new jobs
    already: Count
    gone: Count  # there is no such dead letter, or it is somebody else's


class NewRemark(Said):
    text: Remarked


class RemarkView(BaseModel):
    id: str
    at: datetime
    who: str
    text: str


class Remarks(BaseModel):
    notes: list[RemarkView]
