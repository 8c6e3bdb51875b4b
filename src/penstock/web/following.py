"""One job as a stream: how it is, what happens, and its end, whatever the feed has missed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from penstock.feed.events import FINAL
from penstock.feed.subscription import Happened, Subscription
from penstock.model.errors import JobNotFound
from penstock.ops import Ops
from penstock.web.stream import frame, frame_of

LOOK_AGAIN = (3.0, 6.0, 15.0)  # seconds after which a job is looked at, whatever the feed says; then the last
END = "end"  # the cursor of a job that has ended: there is nothing to go on from
GONE = "gone"  # there is no record of it any more
ENDED = FINAL | {GONE}


class Follower:
    """Tells how a job is, each time that has changed unsaid, and ends when the job has.

    The feed may miss something: a process can die before it has told. The job's own record cannot.
    """

    def __init__(self, ops: Ops, job_id: str) -> None:
        self._ops = ops
        self._job_id = job_id
        self._status = ""
        self._looks = iter(LOOK_AGAIN)
        self._look_at = 0.0

    async def frames(self, listener: Subscription, tick: float) -> AsyncIterator[list[bytes]]:
        yield await self._look()
        while self._status not in ENDED:
            heard = await listener.take(tick)
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
        try:
            return self._found((await self._ops.record(self._job_id)).status)
        except JobNotFound:
            return self._found(GONE)

    def _found(self, status: str) -> list[bytes]:
        if status == self._status:
            return []
        self._status = status
        cursor = END if status in ENDED else None
        return [frame("state", {"job_id": self._job_id, "status": status}, cursor)]
