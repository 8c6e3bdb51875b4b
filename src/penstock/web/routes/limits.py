"""What limits queues, tasks and keys, and how much of it is used."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from pydantic import AfterValidator

from penstock.engine import GroupState
from penstock.model.access import Scope
from penstock.model.limits import Limit as Bound
from penstock.model.names import MAX_TEXT
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.pages import Limit
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.fields import NO_NUL, Text, storable
from penstock.web.shapes.limits import BoundView, Lanes, Limits, LimitView

Group = Annotated[str, Query(min_length=1, max_length=2 * MAX_TEXT, pattern=NO_NUL), AfterValidator(storable)]


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["limits"]}
    service.get("/limits", response_model=Limits, **options)(limits)
    service.get("/limits/keys", response_model=Lanes, **options)(keys)


@needs(Scope.READ, everything=True)
async def limits(request: Request) -> Limits:
    """Every declared limit, by name."""
    return Limits(limits=[_view(state) for state in await (await ops_of(request)).groups()])


@needs(Scope.READ, everything=True)
async def keys(
    request: Request, group: Group, limit: Limit = 50, after: Text | None = None
) -> dict[str, Any]:
    """The keys under one limit that hold jobs, by name."""
    found = await (await ops_of(request)).lanes(group, limit, after)
    return {"keys": found, "next": found[-1].lane if len(found) == limit else None}


def _view(state: GroupState) -> LimitView:
    group = state.group
    return LimitView(
        name=group.name,
        limit=_bound(group.limit),
        per_key=_bound(group.per_key),
        needs=list(group.needs),
        active=state.active,
        cooled_for=state.cooled_for,
    )


def _bound(limit: Bound) -> BoundView:
    return BoundView(said=limit.said, rate=limit.rate, burst=limit.burst, concurrency=limit.concurrency)
