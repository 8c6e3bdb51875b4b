"""The feed: what happens to jobs, for those who watch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from penstock.model.errors import InvalidOption
from penstock.model.names import check_name, check_text
from penstock.model.values import check_json

EVENTS = frozenset({"added", "started", "progress", "completed", "failed", "retrying", "cancelled"})

FEED_KEPT = 10_000
LISTENER_KIND, LISTENER_KEY = "listener", "feed"  # the note of those who watch, while they do
MAX_EVENTS = 1_000  # in one call
MAX_EVENT_BYTES = 4_096  # of a body


class JobEvent(NamedTuple):
    """Something that happened to a job."""

    event: str  # one of EVENTS
    job_id: str
    queue: str
    task: str
    owner: str | None = None
    body: str = "{}"  # JSON text of an object; never the payload


class FeedPage(NamedTuple):
    """A piece of the feed."""

    events: list[tuple[int, datetime, JobEvent]]  # number, when, what; in order
    cursor: int  # go on from here
    gap: bool = False  # not all that came after the asked number is there: look at the jobs themselves


def check_events(events: Sequence[JobEvent]) -> None:
    """Raise InvalidOption where these cannot be published."""
    if len(events) > MAX_EVENTS:
        raise InvalidOption(f"at most {MAX_EVENTS:,} events are published at once, not {len(events):,}")
    for event in events:
        if event.event not in EVENTS:
            raise InvalidOption(f"event {event.event!r} is not one of {', '.join(sorted(EVENTS))}")
        check_text("the job of an event", event.job_id)
        check_name("queue", event.queue)
        check_name("task", event.task)
        if event.owner is not None:
            check_text("the owner of an event", event.owner)
        check_json("the body of an event", event.body, MAX_EVENT_BYTES, kind=dict)


def has_gap(after: int, *, first: int, last: int, dropped: int) -> bool:
    """Whether something that came after this number is not there any more.

    Kept are those from `dropped`, exclusive, to `last`; `first` is where this feed began. A number that lies
    outside is of a feed that was, but for 0, which is before all of them.
    """
    return dropped > first if after == 0 else not dropped <= after <= last
