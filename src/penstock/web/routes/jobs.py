"""Jobs: one, a page of them, and acting on one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Request

from penstock.engine import HistoryFilter, JobFilter
from penstock.model.access import Scope
from penstock.model.job import Job
from penstock.model.record import Record
from penstock.model.states import State, Status
from penstock.ops import Ops
from penstock.searching import Fit, Found, NotSearchable
from penstock.web.doorway import ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.keys import stored_key
from penstock.web.pages import After, Limit, following
from penstock.web.refusals import RESPONSES, Field, invalid, not_found
from penstock.web.shapes.fields import Instant, Name, Text, Why
from penstock.web.shapes.jobs import CancelledView, DeletedView, JobPage, JobView, PromotedView, RetriedView
from penstock.web.views import job_view, owner_filter

ARGS = "args."


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["jobs"]}
    service.get("/jobs", response_model=JobPage, response_model_exclude_unset=True, **options)(jobs)
    service.get("/history", response_model=JobPage, response_model_exclude_unset=True, **options)(history)
    service.get("/jobs/{id}", response_model=JobView, response_model_exclude_unset=True, **options)(job)
    service.post("/jobs/{job_id}/cancel", response_model=CancelledView, **options)(cancel)
    service.post("/jobs/{job_id}/delete", response_model=DeletedView, **options)(delete)
    service.post("/jobs/{job_id}/retry", response_model=RetriedView, **options)(retry)
    service.post("/jobs/{job_id}/promote", response_model=PromotedView, **options)(promote)


@needs(Scope.READ)
async def job(request: Request, job_id: Annotated[str, Path(alias="id")]) -> JobView:
    """One job, also when its own record has been pruned."""
    return job_view(principal_of(request), await seen(request, job_id))


def _fit(request: Request, tag: Name | None = None, recovered: bool | None = None) -> Fit:
    """With what is asked of the arguments: `args.NAME=VALUE`."""
    given = request.query_params.multi_items()
    args = {name.removeprefix(ARGS): value for name, value in given if name.startswith(ARGS)}
    return Fit(args, tag, recovered)


AskedFit = Annotated[Fit, Depends(_fit)]


def _asked(
    request: Request,
    queue: Name | None = None,
    task: Name | None = None,
    state: State | None = None,
    owner: Text | None = None,
    key: Text | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    parked: bool | None = None,
) -> JobFilter:
    principal = principal_of(request)
    return JobFilter(
        queue=queue,
        task=task,
        state=state,
        owner=owner_filter(principal, owner),
        key=stored_key(principal, key),
        since=since,
        until=until,
        parked=parked,
        payloads=principal.may(Scope.PAYLOAD),
    )


Asked = Annotated[JobFilter, Depends(_asked)]


@needs(Scope.READ, free=ARGS)
async def jobs(
    request: Request,
    where: Asked,
    fit: AskedFit,
    limit: Limit = 50,
    after: After | None = None,
) -> JobPage:
    """Jobs, newest first; also by a tag, by whether they were `recovered` as other jobs, or, with `task`, by
    an argument it declares searchable: `args.order_id=7`.

    Such a page can be short, or empty, and `next` still say where to go on.
    """
    principal = principal_of(request)
    ops = await ops_of(request)
    if fit:
        page = await _search(ops, where, fit, limit, after)
        return JobPage(jobs=[job_view(principal, each) for each in page.jobs], next=page.next)
    found = await ops.jobs(where, limit, after)
    views = [job_view(principal, each) for each in found]
    return JobPage(jobs=views, next=following([each.id for each in found], limit))


async def _search(ops: Ops, where: JobFilter, fit: Fit, limit: int, after: str | None) -> Found:
    try:
        return await ops.search(where, fit, limit, after)
    except NotSearchable as error:
        raise invalid(str(error), Field("args", str(error))) from error


@needs(Scope.READ)
async def history(
    request: Request,
    queue: Name | None = None,
    task: Name | None = None,
    status: Status | None = None,
    owner: Text | None = None,
    key: Text | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    limit: Limit = 50,
    after: After | None = None,
) -> JobPage:
    """Jobs that have ended, newest first, also when their own records have been pruned."""
    principal = principal_of(request)
    where = HistoryFilter(
        queue=queue,
        task=task,
        status=status,
        owner=owner_filter(principal, owner),
        key=stored_key(principal, key),
        since=since,
        until=until,
        payloads=principal.may(Scope.PAYLOAD),
    )
    found = await (await ops_of(request)).history(where, limit, after)
    views = [job_view(principal, each) for each in found]
    return JobPage(jobs=views, next=following([each.id for each in found], limit))


@needs(Scope.OPERATE)
async def cancel(request: Request, job_id: str, why: Why | None = None) -> CancelledView:
    """Cancel a job that has not ended; one that is running is asked to stop."""
    await seen(request, job_id)
    ops = await ops_of(request, why)
    done = await ops.cancel(job_id, (why and why.reason) or "cancelled by an operator")
    return CancelledView(job_id=job_id, status="stopping" if done.state is State.ACTIVE else "cancelled")


@needs(Scope.OPERATE)
async def retry(request: Request, job_id: str, why: Why | None = None) -> RetriedView:
    """Run a job again without waiting: a delayed one is made due, a failed one is recovered as a new job."""
    await seen(request, job_id)
    done = await (await ops_of(request, why)).retry(job_id)
    return RetriedView.model_validate(done._asdict())


@needs(Scope.OPERATE)
async def promote(request: Request, job_id: str, why: Why | None = None) -> PromotedView:
    """Make a delayed job due now."""
    await seen(request, job_id)
    done = await (await ops_of(request, why)).promote(job_id)
    return PromotedView(job_id=job_id, state=done.state, due_at=done.due_at)


@needs(Scope.OPERATE)
async def delete(request: Request, job_id: str, why: Why | None = None) -> DeletedView:
    """Remove the record of a job that has ended, also from the history. Its dead letter stays."""
    await seen(request, job_id)
    await (await ops_of(request, why)).delete(job_id)
    return DeletedView(job_id=job_id)


async def seen(request: Request, job_id: str) -> Job | Record:
    """A job that is the asker's business; else it is as if it were not there."""
    ops = await ops_of(request)
    found = await ops.known(job_id)
    if not principal_of(request).sees(found.owner):
        if isinstance(found, Job):
            await ops.looked_up_in_vain(job_id)
        raise not_found()
    return found
