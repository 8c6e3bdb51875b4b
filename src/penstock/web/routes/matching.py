"""Acting on all jobs that match: a look that is kept to, and then step by step."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request

from penstock.engine import JobFilter
from penstock.matching import Sure
from penstock.model.access import Principal, Scope
from penstock.model.matched import Act
from penstock.searching import Fit, NotSearchable
from penstock.web.doorway import ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.keys import stored_key
from penstock.web.refusals import RESPONSES, Field, invalid
from penstock.web.routes.jobs import ARGS, Asked, AskedFit
from penstock.web.shapes.fields import NO_NUL
from penstock.web.shapes.matching import MatchingStep, PreviewView, StepView
from penstock.web.views import job_view, owner_filter

T = TypeVar("T")


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["jobs"]}
    service.get("/jobs/matching", response_model=PreviewView, response_model_exclude_unset=True, **options)(
        preview
    )
    service.post("/jobs/matching/{act}", response_model=StepView, **options)(step)


@needs(Scope.OPERATE, free=ARGS)
async def preview(
    request: Request,
    act: Act,
    where: Asked,
    fit: AskedFit,
    after: Annotated[str, Query(max_length=300, pattern=NO_NUL)] | None = None,
) -> PreviewView:
    """What an action would be done to: how many jobs, by state, three of them, and the moment that counts.

    One look counts some thousands: go on with `after` while there is a `next`. Then the count is exact, and
    there is a `confirm`. Nothing that is enqueued, or comes into its state, after `cut_off` is acted on.
    """
    seen = await _searchable((await ops_of(request)).matching.preview(act, where, fit, after))
    examples = [job_view(principal_of(request), job) for job in seen.examples]
    return PreviewView(
        act=act,
        cut_off=seen.cut_off,
        count=seen.count,
        by_state=dict(seen.by_state),
        examples=examples,
        next=seen.next,
        confirm=seen.confirm,
    )


@needs(Scope.OPERATE, slow=True)
async def step(request: Request, act: Act, wish: MatchingStep) -> StepView:
    """Act on the next thousand or so of the previewed jobs; go on with `after` while there is a `next`.

    409 where the preview was of something else.
    """
    ops = await ops_of(request, wish)
    sure = Sure(wish.cut_off, wish.count, wish.confirm)
    done = await _searchable(
        ops.matching.step(
            act,
            _meant(principal_of(request), wish),
            Fit(wish.args or {}, wish.tag, wish.recovered),
            sure,
            after=wish.after,
            done=wish.done,
            rate=wish.rate,
            reason=wish.reason,
        )
    )
    return StepView(**done._asdict())


def _meant(principal: Principal, wish: MatchingStep) -> JobFilter:
    return JobFilter(
        queue=wish.queue,
        task=wish.task,
        state=wish.state,
        owner=owner_filter(principal, wish.owner),
        key=stored_key(principal, wish.key),
        since=wish.since,
        until=wish.until,
        parked=wish.parked,
        payloads=False,
    )


async def _searchable(done: Awaitable[T]) -> T:
    try:
        return await done
    except NotSearchable as error:
        raise invalid(str(error), Field("args", str(error))) from error
