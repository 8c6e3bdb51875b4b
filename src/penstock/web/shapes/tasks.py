"""The catalogue of tasks, over HTTP."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class TaskView(BaseModel):
    name: str
    queue: str
    description: str | None
    priority: str
    timeout: float | None
    retry: str
    concurrency: int | None
    limit: str | None
    needs: str | None
    schedules: list[str] | None  # NAME: WHEN; null for who does not see the jobs of all owners
    on: str | None
    execute: str
    key: str | None
    unique: str | None
    enabled: bool
    secret: list[str]  # arguments that are not shown
    searchable: list[str]  # arguments by which GET /jobs finds its jobs, as args.NAME
    payload: dict[str, Any]  # the JSON schema of its arguments


class Tasks(BaseModel):
    tasks: list[TaskView]
