"""Dead letters by what killed them, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from penstock.web.shapes.fields import CAUSE, Count, Id, Number, Rate, Why

CauseId = Annotated[str, Field(pattern=CAUSE)]


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
    """The causes among some thousands of dead letters, the newest first; of one cause there may be more."""

    causes: list[DeadCauseView]  # the most frequent first
    looked: Count  # dead letters that were looked at
    next: str | None  # give it as `after`; None: that were all


class NamedView(BaseModel):
    """The ids of those that match among some thousands of dead letters."""

    job_ids: list[str]
    next: str | None  # give it as `after`; None: that were all


class Some(Why):
    """Just these dead letters."""

    job_ids: Annotated[list[Id], Field(min_length=1, max_length=200)]


class RecoverSome(Some):
    rate: Rate = 50.0
    behind: Number = 0  # so many of the same wish are due before them


class RecoveredSomeView(BaseModel):
    job_ids: list[str]  # of the new jobs
    already: Count
    gone: Count  # there is no such dead letter, or it is somebody else's
