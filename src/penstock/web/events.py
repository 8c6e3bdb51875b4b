"""Live events over HTTP: `GET /events` for many jobs, `GET /jobs/{id}/events` for one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Header, HTTPException, Query, Request
from starlette.responses import Response

from penstock.feed.events import FINAL, NAMES
from penstock.feed.follow import MAX_TOKEN
from penstock.feed.reader import Feed
from penstock.feed.subscription import EventFilter, Happened, Subscription
from penstock.model.errors import JobNotFound
from penstock.model.record import Record
from penstock.ops import Ops
from penstock.web.origins import is_foreign
from penstock.web.stream import TICK, EventStream, May, all_events, frame, frame_of

CHECK_EVERY = 1.5  # seconds between looks whether the one who listens still may
LOOK_AGAIN = (3.0, 6.0, 15.0)  # seconds after which a job is looked at, whatever the feed says; then the last
END = "end"  # the cursor of a job that has ended: there is nothing to go on from

GONE = "gone"  # there is no record of it any more
ENDED = FINAL | {GONE}


class Viewer(Protocol):
    """Who asks."""

    @property
    def sees(self) -> str | None:
        """The owner whose jobs may be seen; None: everybody's."""


class Source(Protocol):
    """The app."""

    @property
    def feed(self) -> Feed: ...

    @property
    def ops(self) -> Ops: ...


Authenticate = Callable[[Request], Awaitable[Viewer | None]]

LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=100)]
Owner = Annotated[str | None, Query(max_length=200)]
Queue = Annotated[str | None, Query(max_length=200)]
Wanted = Annotated[list[str] | None, Query(max_length=len(NAMES), description=", ".join(NAMES))]
Token = Annotated[str | None, Query(max_length=MAX_TOKEN)]


def events_router(source: Source, authenticate: Authenticate) -> APIRouter:
    """The routes. Who loses the right loses the stream: `authenticate` is asked again and again."""
    router = APIRouter(tags=["events"])
    stream: dict[int | str, dict[str, Any]] = {
        200: {"description": "Server-sent events", "content": {"text/event-stream": {}}}
    }

    @router.get("/events", response_class=EventStream, responses=stream)
    async def events(
        request: Request,
        queue: Queue = None,
        owner: Owner = None,
        event: Wanted = None,
        last_event_id: LastEventId = None,
    ) -> Response:
        """What happens to jobs from now on, or from the last event that was heard."""
        viewer = await _seen(request, authenticate)
        wanted = EventFilter(owner=_owner(viewer, owner), queue=queue, events=event)
        await source.feed.start()
        may = _every(CHECK_EVERY, _still(request, authenticate, viewer))
        return EventStream(source.feed.subscribe(wanted, last_event_id), all_events, may)

    @router.get("/jobs/{job_id}/events", response_class=EventStream, responses=stream)
    async def job_events(
        request: Request, job_id: str, token: Token = None, last_event_id: LastEventId = None
    ) -> Response:
        """How a job is now, and what happens to it until it has ended."""
        may = await _may_follow(request, job_id, token, source, authenticate)
        if last_event_id == END:
            return Response(status_code=204)  # browsers come again until they are told so
        await source.feed.start()
        follower = _Follower(source.ops, job_id)
        wanted = EventFilter(job_id=job_id)
        return EventStream(source.feed.subscribe(wanted, last_event_id), follower.frames, may)

    return router


# -- who may ------------------------------------------------------------------------------------------------
async def _seen(request: Request, authenticate: Authenticate) -> Viewer:
    if is_foreign(request):
        raise HTTPException(403)
    viewer = await authenticate(request)
    if viewer is None:
        raise HTTPException(401)
    return viewer


def _owner(viewer: Viewer, asked: str | None) -> str | None:
    if viewer.sees is None:
        return asked
    if asked not in (None, viewer.sees):
        raise HTTPException(404)
    return viewer.sees


def _still(request: Request, authenticate: Authenticate, before: Viewer) -> May:
    async def may() -> bool:
        viewer = await authenticate(request)
        return viewer is not None and viewer.sees == before.sees

    return may


def _every(seconds: float, may: May) -> May:
    checked_at = time.monotonic()

    async def now_and_then() -> bool:
        nonlocal checked_at
        if time.monotonic() - checked_at < seconds:
            return True
        checked_at = time.monotonic()
        return await may()

    return now_and_then


async def _may_follow(
    request: Request, job_id: str, token: str | None, source: Source, authenticate: Authenticate
) -> May:
    """By a follow token, in the query or as a bearer; else as one who sees the job."""
    follow = token or _bearer(request)
    if follow is not None:
        _hide_query(request)
        left = None if is_foreign(request) else await source.feed.tokens.check(follow, job_id)
        if left is None:
            raise HTTPException(401)
        until = time.monotonic() + left

        async def may() -> bool:
            return time.monotonic() < until

        return may
    viewer = await _seen(request, authenticate)
    record = await _record(source.ops, job_id)
    if record is None or viewer.sees not in (None, record.owner):
        raise HTTPException(404)
    return _every(CHECK_EVERY, _still(request, authenticate, viewer))


def _bearer(request: Request) -> str | None:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" and token.startswith("psf_") else None


def _hide_query(request: Request) -> None:
    """The server logs the query once the answer begins, and the token must not be in it."""
    request.scope["query_string"] = b""


# -- one job -------------------------------------------------------------------------------------------------
class _Follower:
    """Tells how a job is, each time that has changed unsaid, and ends when the job has.

    The feed may miss something: a process can die before it has told. The job's own record cannot.
    """

    def __init__(self, ops: Ops, job_id: str) -> None:
        self._ops = ops
        self._job_id = job_id
        self._status = ""
        self._looks = iter(LOOK_AGAIN)
        self._look_at = 0.0

    async def frames(self, listener: Subscription) -> AsyncIterator[list[bytes]]:
        yield await self._look()
        while self._status not in ENDED:
            heard = await listener.take(TICK)
            if not heard and listener.cut:
                return
            yield [frame_of(each) for each in heard]
            last = heard[-1] if heard else None
            if isinstance(last, Happened) and last.event.event in FINAL:
                yield self._found(last.event.event)
            elif time.monotonic() >= self._look_at:
                yield await self._look()

    async def _look(self) -> list[bytes]:
        self._look_at = time.monotonic() + next(self._looks, LOOK_AGAIN[-1])
        record = await _record(self._ops, self._job_id)
        return self._found(GONE if record is None else record.status)

    def _found(self, status: str) -> list[bytes]:
        if status == self._status:
            return []
        self._status = status
        cursor = END if status in ENDED else None
        return [frame("state", {"job_id": self._job_id, "status": status}, cursor)]


async def _record(ops: Ops, job_id: str) -> Record | None:
    try:
        return await ops.record(job_id)
    except JobNotFound:
        return None
