"""Effects that handlers have recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class Effect(NamedTuple):
    """An effect about to be made."""

    task: str
    key: str  # the job's
    name: str
    job_id: str
    keep_for: float  # seconds that its record is kept, at least


class EffectRecord(NamedTuple):
    """An effect that was made."""

    task: str
    key: str
    name: str
    job_id: str  # the job that made it, or the one that was recovered from it
    first_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectFilter:
    """Which effects to list. Empty means all; sorted by task, key and name."""

    task: str | None = None
    key: str | None = None
    name: str | None = None


class EffectName(NamedTuple):
    """What tells one effect from the others."""

    task: str
    key: str
    name: str
