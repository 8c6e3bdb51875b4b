"""The audit log, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel


class DeedView(BaseModel):
    """One thing that somebody did."""

    id: str
    at: datetime
    who: str
    via: str
    action: str
    target: str
    why: str | None
    outcome: str
    before: dict[str, Any]
    after: dict[str, Any]


class AuditPage(BaseModel):
    entries: list[DeedView]
    next: str | None
