"""The catalogue: what can be enqueued, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request

from penstock.model.access import Scope
from penstock.web.doorway import ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES, not_found
from penstock.web.shapes.tasks import Tasks, TaskView


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["tasks"]}
    service.get("/tasks", response_model=Tasks, **options)(tasks)
    service.get("/tasks/{name}", response_model=TaskView, **options)(task)


@needs(Scope.READ)
async def tasks(request: Request) -> Tasks:
    """Every task with its options and the JSON schema of its payload."""
    return Tasks(tasks=[_view(request, row) for row in (await ops_of(request)).tasks()])


@needs(Scope.READ)
async def task(request: Request, name: str) -> TaskView:
    """One task."""
    for row in (await ops_of(request)).tasks():
        if row["name"] == name:
            return _view(request, row)
    raise not_found()


def _view(request: Request, row: Mapping[str, Any]) -> TaskView:
    """Schedules may be named after owners: they are told to those who may see them all."""
    seen = row["schedules"] if principal_of(request).sees_all else None
    return TaskView(**{**row, "schedules": seen})
