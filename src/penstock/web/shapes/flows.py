"""Flows, over HTTP."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from penstock.web.shapes.fields import Count
from penstock.web.shapes.jobs import JobView


class FlowView(BaseModel):
    id: str
    name: str
    created_at: datetime
    unfinished: Count


class FlowPage(BaseModel):
    flows: list[FlowView]
    next: str | None


class FlowJobView(JobView):
    """A job of a flow, and those it waits for."""

    after: list[str]
    blocked_by: list[str]


class FlowDetail(FlowView):
    jobs: list[FlowJobView]


class FlowCancelledView(BaseModel):
    flow_id: str
    cancelled: Count
    stopping: Count
