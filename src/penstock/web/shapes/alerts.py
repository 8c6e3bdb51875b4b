"""Alerts, over HTTP."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class AlertView(BaseModel):
    """An alert that is not over."""

    model_config = ConfigDict(from_attributes=True)

    rule: str
    subject: str
    severity: str
    message: str
    phase: str
    since: datetime
    fired_at: datetime | None
    clear_at: datetime | None  # since when it is not so any more; if it stays so, the alert is over
    told: list[str]


class ChannelView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    told_at: datetime | None
    failed_at: datetime | None
    problem: str | None


class Alerts(BaseModel):
    alerts: list[AlertView]
    channels: list[ChannelView]


class AlertEntryView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    at: datetime
    event: str
    rule: str
    subject: str
    severity: str
    message: str


class AlertEntries(BaseModel):
    entries: list[AlertEntryView]


class RuleView(BaseModel):
    rule: str
    severity: str
    condition: str
    channels: list[str]
    built_in: bool


class Rules(BaseModel):
    rules: list[RuleView]
