"""Rooms: who is in one hears what happens to the jobs it is about."""

from __future__ import annotations

from penstock.engine import JobEvent

RESYNC = "resync"


def job_room(job_id: str) -> str:
    return f"job:{job_id}"


def owner_room(owner: str) -> str:
    return f"owner:{owner}"


def queue_room(queue: str) -> str:
    return f"queue:{queue}"


def rooms_of(event: JobEvent) -> list[str]:
    """The rooms in which an event is told."""
    rooms = [job_room(event.job_id), queue_room(event.queue)]
    return rooms if event.owner is None else [*rooms, owner_room(event.owner)]
