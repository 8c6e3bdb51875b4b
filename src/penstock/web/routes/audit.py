"""The audit log."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import FastAPI, Request

from penstock.model.access import Scope
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.pages import After, Limit, following
from penstock.web.refusals import RESPONSES
from penstock.web.shapes import AuditPage, DeedView


def register(service: FastAPI) -> None:
    service.get("/audit", response_model=AuditPage, responses=RESPONSES, tags=["audit"])(audit)


@needs(Scope.ADMIN)
async def audit(request: Request, limit: Limit = 50, after: After | None = None) -> AuditPage:
    """What people and programs did, newest first."""
    found = await (await ops_of(request)).audit.entries(limit, after)
    views = [DeedView(**asdict(deed)) for deed in found]
    return AuditPage(entries=views, next=following([deed.id for deed in found], limit))
