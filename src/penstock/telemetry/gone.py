"""Workers that were lost, remembered for an hour: when, why, and what was taken back from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from penstock.engine import Engine, Note, Rescued
from penstock.model.errors import EngineError
from penstock.model.values import loads

KIND = "lost-worker"
KEPT = 3_600.0  # seconds
NAMED = 20  # jobs of each
SHOWN = 50


class TakenBack(NamedTuple):
    """A job that such a worker held."""

    job_id: str
    task: str
    state: str  # that it was put into


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A worker that was lost."""

    id: str
    name: str | None  # None: only its heartbeat was missed
    at: datetime
    why: str
    rescued: int
    jobs: tuple[TakenBack, ...]  # the first of them


async def remember(
    engine: Engine, worker: str, why: str, rescued: Sequence[Rescued], name: str | None = None
) -> None:
    """Tell of a worker that was lost; best effort, for people only."""
    jobs = [TakenBack(job.id, job.task, job.state.value) for job in rescued]
    with suppress(EngineError):
        before = await engine.note(KIND, worker)
        told: dict[str, Any] = loads(before.body) if before else {"rescued": 0, "jobs": []}
        body = {
            "name": name,
            "why": why,
            "rescued": told["rescued"] + len(jobs),
            "jobs": [*told["jobs"], *jobs][:NAMED],
        }
        await engine.put_note(KIND, worker, json.dumps(body), ttl=KEPT)


async def gone(engine: Engine) -> list[Gone]:
    """The workers that were lost in the last hour, the latest first."""
    found = [_gone(note) for note in await engine.notes(KIND, SHOWN)]
    return sorted(found, key=lambda each: each.at, reverse=True)


def _gone(note: Note) -> Gone:
    told = loads(note.body)
    return Gone(
        id=note.key,
        name=told["name"],
        at=note.at,
        why=told["why"],
        rescued=told["rescued"],
        jobs=tuple(TakenBack(*job) for job in told["jobs"]),
    )
