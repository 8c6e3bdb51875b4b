"""Dead letters: look at them, recover them, remove them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Request

from penstock.engine import DeadFilter
from penstock.model.access import Principal, Scope
from penstock.model.job import DeadLetter
from penstock.web.doorway import ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.pages import After, Limit, following
from penstock.web.refusals import RESPONSES, not_found
from penstock.web.shapes import (
    Bulk,
    BulkRecover,
    BulkRecovered,
    DeadCount,
    DeadPage,
    DeadView,
    Instant,
    Name,
    Purged,
    Recover,
    RecoveredView,
    Text,
    Why,
)
from penstock.web.views import dead_view, owner_filter


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["dead letters"]}
    narrow = options | {"response_model_exclude_unset": True}
    service.get("/dead-letters", response_model=DeadPage, **narrow)(dead_letters)
    service.get("/dead-letters/count", response_model=DeadCount, **options)(count)
    service.post("/dead-letters/bulk/recover", response_model=BulkRecovered, **options)(recover_many)
    service.post("/dead-letters/bulk/purge", response_model=Purged, **options)(purge_many)
    service.get("/dead-letters/{job_id}", response_model=DeadView, **narrow)(dead_letter)
    service.post("/dead-letters/{job_id}/recover", response_model=RecoveredView, **options)(recover)
    service.post("/dead-letters/{job_id}/purge", response_model=Purged, **options)(purge)


def _asked(
    request: Request,
    queue: Name | None = None,
    task: Name | None = None,
    failed_as: Text | None = None,
    owner: Text | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
) -> DeadFilter:
    return DeadFilter(
        queue=queue,
        task=task,
        owner=owner_filter(principal_of(request), owner),
        reason=failed_as,
        since=since,
        until=until,
    )


Asked = Annotated[DeadFilter, Depends(_asked)]


@needs(Scope.READ)
async def dead_letters(
    request: Request, where: Asked, recovered: bool = False, limit: Limit = 50, after: After | None = None
) -> DeadPage:
    """Jobs that could not be done, newest first."""
    principal = principal_of(request)
    wanted = replace(where, recovered=recovered, payloads=principal.may(Scope.PAYLOAD))
    found = await (await ops_of(request)).dead_letters(wanted, limit, after)
    views = [dead_view(principal, letter) for letter in found]
    return DeadPage(dead_letters=views, next=following([letter.job_id for letter in found], limit))


@needs(Scope.READ)
async def count(request: Request, where: Asked, action: Literal["recover", "purge"]) -> DeadCount:
    """How many dead letters match exactly, and the word that confirms doing something to all of them."""
    found = await (await ops_of(request)).bulk.chosen(action, where)
    return DeadCount(count=len(found.ids), confirm=found.confirm)


@needs(Scope.READ)
async def dead_letter(request: Request, job_id: str) -> DeadView:
    """One dead letter, by the id of the job that failed."""
    return dead_view(principal_of(request), await _seen(request, job_id))


@needs(Scope.OPERATE)
async def recover(request: Request, job_id: str, wish: Recover | None = None) -> RecoveredView:
    """Make a new job of a dead letter, its attempts reset; the second time it is that same job."""
    await _seen(request, job_id)
    done = await (await ops_of(request, wish)).recover(job_id, wish.payload if wish else None)
    return RecoveredView.model_validate(done._asdict())


@needs(Scope.OPERATE)
async def purge(request: Request, job_id: str, why: Why | None = None) -> Purged:
    """Remove a dead letter: its job cannot be recovered any more."""
    await _seen(request, job_id)
    await (await ops_of(request, why)).purge(job_id)
    return Purged(purged=1)


@needs(Scope.OPERATE)
async def recover_many(request: Request, wish: BulkRecover) -> BulkRecovered:
    """Recover every dead letter that matches; 409 where those are not exactly the confirmed ones."""
    where = _meant(principal_of(request), wish)
    ops = await ops_of(request, wish)
    made = await ops.bulk.recover(where, wish.count, wish.confirm, rate=wish.rate)
    return BulkRecovered(recovered=len(made), job_ids=made)


@needs(Scope.OPERATE)
async def purge_many(request: Request, wish: Bulk) -> Purged:
    """Remove every dead letter that matches; 409 where those are not exactly the confirmed ones."""
    where = _meant(principal_of(request), wish)
    ops = await ops_of(request, wish)
    return Purged(purged=await ops.bulk.purge(where, wish.count, wish.confirm))


def _meant(principal: Principal, wish: Bulk) -> DeadFilter:
    return DeadFilter(
        queue=wish.queue,
        task=wish.task,
        owner=owner_filter(principal, None),
        reason=wish.failed_as,
        since=wish.since,
        until=wish.until,
    )


async def _seen(request: Request, job_id: str) -> DeadLetter:
    """A dead letter that is the asker's business; else it is as if it were not there."""
    found = await (await ops_of(request)).dead_letter(job_id)
    if not principal_of(request).sees(found.owner):
        raise not_found()
    return found
