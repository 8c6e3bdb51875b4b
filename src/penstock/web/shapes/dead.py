"""Dead letters, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from penstock.web.shapes.fields import CAUSE, Count, Instant, Name, Number, Rate, Text, Why


class DeadView(BaseModel):
    """A dead letter; `payload` and `traceback` only for those who may see them."""

    job_id: str
    queue: str
    task: str
    reason: str
    error: str | None
    code: str | None
    attempts: int
    max_attempts: int
    first_started_at: datetime | None
    ran_for: float  # seconds, over all attempts
    failed_at: datetime
    recovered_at: datetime | None
    recovered_as: str | None
    owner: str | None
    key: str | None
    payload: Any = None
    traceback: str | None = None


class DeadPage(BaseModel):
    dead_letters: list[DeadView]
    next: str | None


class DeadCount(BaseModel):
    """How many match, and the word that confirms that these are meant."""

    count: Count
    confirm: str


class Recover(Why):
    """Recover one dead letter, with other arguments where `payload` is given."""

    payload: dict[str, Any] | None = None


class Bulk(Why):
    """Which dead letters, how many those are exactly, and the word that GET /dead-letters/count gave."""

    queue: Name | None = None
    task: Name | None = None
    failed_as: Text | None = None
    since: Instant | None = None
    until: Instant | None = None
    cause: Annotated[str, Field(pattern=CAUSE)] | None = None
    count: Number
    confirm: Annotated[str, Field(max_length=64)]


class BulkRecover(Bulk):
    rate: Rate = 50.0


class RecoveredView(BaseModel):
    job_id: str
    already: bool  # it had been recovered before, as this job


class BulkRecovered(BaseModel):
    recovered: Count
    job_ids: list[str]


class Purged(BaseModel):
    purged: Count
