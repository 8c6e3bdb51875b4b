"""Flows: jobs with edges between them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request

from penstock.engine import Flow
from penstock.model.access import Principal, Scope
from penstock.model.job import Job
from penstock.web.doorway import ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.pages import After, Limit, following
from penstock.web.refusals import RESPONSES, not_found
from penstock.web.shapes.fields import Why
from penstock.web.shapes.flows import FlowCancelledView, FlowDetail, FlowJobView, FlowPage, FlowView
from penstock.web.views import job_view


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["flows"]}
    service.get("/flows", response_model=FlowPage, **options)(flows)
    service.get("/flows/{flow_id}", response_model=FlowDetail, response_model_exclude_unset=True, **options)(
        flow
    )
    service.post("/flows/{flow_id}/cancel", response_model=FlowCancelledView, **options)(cancel)


@needs(Scope.READ, everything=True)
async def flows(request: Request, limit: Limit = 50, after: After | None = None) -> FlowPage:
    """Flows, newest first."""
    found = await (await ops_of(request)).flows.flows(limit, after)
    views = [FlowView(**_told(each)) for each in found]
    return FlowPage(flows=views, next=following([each.id for each in found], limit))


@needs(Scope.READ)
async def flow(request: Request, flow_id: str) -> FlowDetail:
    """One flow and its jobs; of a token's own owner where all of its jobs are."""
    found, principal = await _seen(request, flow_id), principal_of(request)
    return FlowDetail(**_told(found), jobs=[_member(principal, job) for job in found.jobs])


@needs(Scope.OPERATE)
async def cancel(request: Request, flow_id: str, why: Why | None = None) -> FlowCancelledView:
    """Cancel what has not ended of a flow; what runs is asked to stop."""
    await _seen(request, flow_id)
    reason = (why and why.reason) or "cancelled by an operator"
    done = await (await ops_of(request, why)).flows.cancel(flow_id, reason)
    return FlowCancelledView.model_validate(done._asdict())


async def _seen(request: Request, flow_id: str) -> Flow:
    found = await (await ops_of(request)).flows.flow(flow_id)
    principal = principal_of(request)
    if not principal.sees_all and not all(principal.sees(job.owner) for job in found.jobs):
        raise not_found()
    return found


def _member(principal: Principal, job: Job) -> FlowJobView:
    known = job_view(principal, job).model_dump(exclude_unset=True)
    return FlowJobView(**known, after=list(job.after), blocked_by=list(job.blocked_by))


def _told(flow: Flow) -> dict[str, Any]:
    return {
        "id": flow.id,
        "name": flow.name,
        "created_at": flow.created_at,
        "unfinished": flow.unfinished,
    }
