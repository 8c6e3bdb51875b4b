"""What happens to jobs, as it happens: of many, and of one until it has ended."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request
from starlette.responses import Response

from penstock.feed.events import NAMES
from penstock.feed.follow import MAX_TOKEN
from penstock.feed.subscription import EventFilter
from penstock.model.access import Principal, Scope
from penstock.web.doorway import Doorway, ops_of, principal_of
from penstock.web.following import END, Follower
from penstock.web.guard import needs
from penstock.web.origins import is_foreign
from penstock.web.refusals import RESPONSES, Refusal, invalid, not_found
from penstock.web.shapes.fields import Name, Text
from penstock.web.stream import EventStream, May, all_events
from penstock.web.views import owner_filter

CHECK_EVERY = 1.5  # seconds between looks whether the one who listens still may
DAY = 86_400.0

LastEventId = Annotated[str | None, Header(max_length=100, description="Go on after this event")]
Wanted = Annotated[list[str] | None, Query(max_length=len(NAMES), description=", ".join(NAMES))]
Token = Annotated[str | None, Query(max_length=MAX_TOKEN, description="A follow token, in place of another")]
Seconds = Annotated[float, Query(ge=0, le=DAY, description="After how long the stream ends by itself")]


def register(service: FastAPI) -> None:
    told = {200: {"description": "Server-sent events", "content": {"text/event-stream": {}}}}
    options: dict[str, Any] = {
        "response_class": Response,
        "responses": {**RESPONSES, **told},
        "tags": ["events"],
    }
    service.get("/events", **options)(events)
    nothing_more = {204: {"description": "The job has ended, and that was told"}}
    options["responses"] |= nothing_more
    service.get("/jobs/{job_id}/events", **options)(job_events)


@needs(Scope.READ)
async def events(
    request: Request,
    queue: Name | None = None,
    owner: Text | None = None,
    event: Wanted = None,
    last_event_id: LastEventId = None,
    seconds: Seconds = DAY,
) -> Response:
    """What happens to jobs from now on, or since the last event that was heard."""
    _check_listener(request)
    wanted = EventFilter(owner=owner_filter(principal_of(request), owner), queue=queue, events=event)
    feed = await _doorway(request).feed()
    await feed.start()
    listening = feed.subscribe(wanted, last_event_id)
    seat = _seat(request, principal_of(request).name)
    return EventStream(listening, all_events, _still(request), seconds, seat)


@needs(Scope.READ, follow=True)
async def job_events(
    request: Request,
    job_id: str,
    token: Token = None,  # noqa: ARG001 - the guard has read it
    last_event_id: LastEventId = None,
    seconds: Seconds = DAY,
) -> Response:
    """How a job is, and what happens to it until it has ended; with a token for it, or a follow token."""
    _check_listener(request)
    may = await _may_follow(request, job_id)
    if last_event_id == END:
        return Response(status_code=204)  # browsers come again until they are told so
    doorway = _doorway(request)
    feed = await doorway.feed()
    await feed.start()
    follower = Follower(doorway.app.ops, job_id)
    listening = feed.subscribe(EventFilter(job_id=job_id), last_event_id)
    principal: Principal | None = getattr(request.state, "principal", None)
    seat = _seat(request, f"job:{job_id}" if principal is None else principal.name)
    return EventStream(listening, follower.frames, may, seconds, seat)


def _doorway(request: Request) -> Doorway:
    found: Doorway = request.app.state.doorway
    return found


def _check_listener(request: Request) -> None:
    if is_foreign(request):
        raise Refusal(403, "forbidden", "a page of another site may not listen")
    headers = request.headers
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        raise invalid("who listens sends no body")


def _seat(request: Request, name: str) -> AbstractContextManager[None]:
    """Asked for last, so that nobody comes between the look and the taking."""
    seats = _doorway(request).seats
    seats.check(name)
    return seats.taken(name)


async def _may_follow(request: Request, job_id: str) -> May:
    until: float | None = getattr(request.state, "follows_until", None)
    if until is not None:
        return _before(until)
    job = await (await ops_of(request)).known(job_id)
    if not principal_of(request).sees(job.owner):
        raise not_found()
    return _still(request)


def _before(until: float) -> May:
    async def may() -> bool:
        return time.monotonic() < until

    return may


def _still(request: Request) -> May:
    """Who loses the right loses the stream."""
    doorway, before = _doorway(request), principal_of(request)
    checked_at = time.monotonic()

    async def may() -> bool:
        nonlocal checked_at
        if time.monotonic() - checked_at < CHECK_EVERY:
            return True
        checked_at = time.monotonic()
        return await doorway.principal(request) == before

    return may
