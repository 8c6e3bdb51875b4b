"""The audit log."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from fastapi import FastAPI, Request

from penstock.audit import DeedFilter
from penstock.model.access import Scope
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.pages import After, Limit
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.audit import AuditPage, DeedView
from penstock.web.shapes.fields import Instant, Text


def register(service: FastAPI) -> None:
    service.get("/audit", response_model=AuditPage, responses=RESPONSES, tags=["audit"])(audit)


@needs(Scope.ADMIN)
async def audit(
    request: Request,
    who: Text | None = None,
    action: Text | None = None,
    target: Text | None = None,
    outcome: Literal["done", "refused", "begun"] | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    limit: Limit = 50,
    after: After | None = None,
) -> AuditPage:
    """What people and programs did, newest first; a page may hold fewer than asked for, and have a next."""
    where = DeedFilter(who=who, action=action, target=target, outcome=outcome, since=since, until=until)
    found = await (await ops_of(request)).audit.search(where, limit, after)
    return AuditPage(entries=[DeedView(**asdict(deed)) for deed in found.entries], next=found.next)
