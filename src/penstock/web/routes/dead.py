"""Dead letters: look at them, recover them, remove them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Request

from penstock.engine import DeadFilter
from penstock.model.access import Principal, Scope
from penstock.model.errors import JobNotFound
from penstock.model.job import DeadLetter
from penstock.ops import Ops
from penstock.web.doorway import ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.pages import After, Limit, following
from penstock.web.refusals import RESPONSES, not_found
from penstock.web.shapes.causes import (
    CauseId,
    CausesView,
    DeadCauseView,
    NamedView,
    RecoveredSomeView,
    RecoverSome,
    Some,
)
from penstock.web.shapes.dead import (
    Bulk,
    BulkRecover,
    BulkRecovered,
    DeadCount,
    DeadPage,
    DeadView,
    Purged,
    Recover,
    RecoveredView,
)
from penstock.web.shapes.fields import Instant, Name, Text, Why
from penstock.web.shapes.remarks import NewRemark, Remarks, RemarkView
from penstock.web.views import dead_view, owner_filter


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["dead letters"]}
    narrow = options | {"response_model_exclude_unset": True}
    service.get("/dead-letters", response_model=DeadPage, **narrow)(dead_letters)
    service.get("/dead-letters/causes", response_model=CausesView, **options)(causes)
    service.get("/dead-letters/causes/{cause}/notes", response_model=Remarks, **options)(cause_notes)
    service.post("/dead-letters/causes/{cause}/notes", response_model=RemarkView, **options)(note_cause)
    service.post("/dead-letters/recover", response_model=RecoveredSomeView, **options)(recover_some)
    service.post("/dead-letters/purge", response_model=Purged, **options)(purge_some)
    service.get("/dead-letters/ids", response_model=NamedView, **options)(ids)
    service.get("/dead-letters/count", response_model=DeadCount, **options)(count)
    service.post("/dead-letters/bulk/recover", response_model=BulkRecovered, **options)(recover_many)
    service.post("/dead-letters/bulk/purge", response_model=Purged, **options)(purge_many)
    service.get("/dead-letters/{job_id}", response_model=DeadView, **narrow)(dead_letter)
    service.post("/dead-letters/{job_id}/recover", response_model=RecoveredView, **options)(recover)
    service.post("/dead-letters/{job_id}/purge", response_model=Purged, **options)(purge)
    service.get("/dead-letters/{job_id}/notes", response_model=Remarks, **options)(notes)
    service.post("/dead-letters/{job_id}/notes", response_model=RemarkView, **options)(note)


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
    request: Request,
    where: Asked,
    recovered: bool = False,
    cause: CauseId | None = None,
    limit: Limit = 50,
    after: After | None = None,
) -> DeadPage:
    """Jobs that could not be done, newest first.

    Of one `cause`, a page can be short, or empty, and `next` still say where to go on.
    """
    principal = principal_of(request)
    wanted = replace(where, recovered=recovered, payloads=principal.may(Scope.PAYLOAD))
    ops = await ops_of(request)
    if cause is not None:
        alike = await ops.dead_letters_of(wanted, cause, limit, after)
        return DeadPage(dead_letters=[dead_view(principal, each) for each in alike.letters], next=alike.next)
    found = await ops.dead_letters(wanted, limit, after)
    views = [dead_view(principal, letter) for letter in found]
    return DeadPage(dead_letters=views, next=following([letter.job_id for letter in found], limit))


@needs(Scope.READ)
async def causes(request: Request, where: Asked, after: After | None = None) -> CausesView:
    """Dead letters by what they died of, the most frequent first: the same task and, but for ids and
    numbers, the same error.

    One look takes two thousand dead letters: go on with `after`, and add up, while there is a `next`.
    """
    found = await (await ops_of(request)).causes.all(where, after)
    views = [DeadCauseView.model_validate(cause) for cause in found.causes]
    return CausesView(causes=views, looked=found.looked, next=found.next)


@needs(Scope.READ)
async def ids(
    request: Request,
    where: Asked,
    recovered: bool = False,
    cause: CauseId | None = None,
    after: After | None = None,
) -> NamedView:
    """The ids of dead letters that match, newest first: what to recover or purge by name.

    One look takes two thousand dead letters: go on with `after` while there is a `next`.
    """
    wanted = replace(where, recovered=recovered)
    found = await (await ops_of(request)).causes.ids(wanted, cause, after)
    return NamedView(job_ids=list(found.ids), next=found.next)


@needs(Scope.READ, everything=True)
async def cause_notes(request: Request, cause: CauseId) -> Remarks:
    """What people have written down about a cause."""
    return await _notes(request, cause)


@needs(Scope.OPERATE, everything=True)
async def note_cause(request: Request, cause: CauseId, new: NewRemark) -> RemarkView:
    """Write something down about a cause, for those who look at it next."""
    return RemarkView(**(await (await ops_of(request)).remarks.add(cause, new.text))._asdict())


@needs(Scope.READ)
async def notes(request: Request, job_id: str) -> Remarks:
    """What people have written down about a dead letter."""
    await _seen(request, job_id)
    return await _notes(request, job_id)


@needs(Scope.OPERATE)
async def note(request: Request, job_id: str, new: NewRemark) -> RemarkView:
    """Write something down about a dead letter."""
    await _seen(request, job_id)
    return RemarkView(**(await (await ops_of(request)).remarks.add(job_id, new.text))._asdict())


async def _notes(request: Request, subject: str) -> Remarks:
    found = await (await ops_of(request)).remarks.about(subject)
    return Remarks(notes=[RemarkView(**each._asdict()) for each in found])


@needs(Scope.READ)
async def count(
    request: Request, where: Asked, action: Literal["recover", "purge"], cause: CauseId | None = None
) -> DeadCount:
    """How many dead letters match exactly, and the word that confirms doing something to all of them."""
    found = await (await ops_of(request)).bulk.chosen(action, where, cause)
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


@needs(Scope.OPERATE, slow=True)
async def recover_some(request: Request, wish: RecoverSome) -> RecoveredSomeView:
    """Recover just these dead letters; what is gone, or somebody else's, is counted."""
    principal, ops = principal_of(request), await ops_of(request, wish)
    ids = wish.job_ids if principal.sees_all else await _own(ops, principal, wish.job_ids)
    if not ids:
        return RecoveredSomeView(job_ids=[], already=0, gone=len(wish.job_ids))
    done = await ops.recover_some(ids, wish.rate, behind=wish.behind)
    gone = done.gone + len(wish.job_ids) - len(ids)
    return RecoveredSomeView(job_ids=list(done.job_ids), already=done.already, gone=gone)


@needs(Scope.OPERATE, slow=True)
async def purge_some(request: Request, wish: Some) -> Purged:
    """Remove just these dead letters: their jobs cannot be recovered any more."""
    principal, ops = principal_of(request), await ops_of(request, wish)
    ids = wish.job_ids if principal.sees_all else await _own(ops, principal, wish.job_ids)
    return Purged(purged=await ops.purge_some(ids) if ids else 0)


async def _own(ops: Ops, principal: Principal, ids: list[str]) -> list[str]:
    found = []
    for job_id in ids:
        with suppress(JobNotFound):
            if principal.sees((await ops.dead_letter(job_id)).owner):
                found.append(job_id)
    return found


@needs(Scope.OPERATE, slow=True)
async def recover_many(request: Request, wish: BulkRecover) -> BulkRecovered:
    """Recover every dead letter that matches; 409 where those are not exactly the confirmed ones."""
    where = _meant(principal_of(request), wish)
    ops = await ops_of(request, wish)
    made = await ops.bulk.recover(where, wish.count, wish.confirm, rate=wish.rate, cause=wish.cause)
    return BulkRecovered(recovered=len(made), job_ids=made)


@needs(Scope.OPERATE, slow=True)
async def purge_many(request: Request, wish: Bulk) -> Purged:
    """Remove every dead letter that matches; 409 where those are not exactly the confirmed ones."""
    where = _meant(principal_of(request), wish)
    ops = await ops_of(request, wish)
    return Purged(purged=await ops.bulk.purge(where, wish.count, wish.confirm, cause=wish.cause))


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
