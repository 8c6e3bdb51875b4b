"""The errands of running handlers, as the worker does them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from penstock.engine import Engine
from penstock.model.errors import EngineUnavailable
from penstock.model.job import Claim, Job
from penstock.tasks.errands import Errand

T = TypeVar("T")

TRIES = 6
FEW = 20  # upstream jobs that are read one by one; of more, the whole flow is read
FIRST_PAUSE = 0.05  # seconds before asking again; doubles each time


async def do_errand(engine: Engine, claim: Claim, errand: Errand) -> Any:
    """The answer, as JSON can carry it. All of these may be asked again where the answer was lost."""
    match errand.verb:
        case "steps":
            return await _patiently(lambda: engine.steps(claim.id))
        case "save_step":
            save = (claim.id, claim.token, errand.name, errand.value)
            return await _patiently(lambda: engine.save_step(*save))
        case "upstream":
            return [_row(job) for job in await _patiently(lambda: _upstream(engine, claim.id))]


async def _patiently(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    for attempt in range(TRIES - 1):
        try:
            return await ask()
        except EngineUnavailable:
            await asyncio.sleep(FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.5))
    return await ask()


async def _upstream(engine: Engine, job_id: str) -> list[Job]:
    """Those for which it waited that have a record; in place of one that was recovered, its heir."""
    job = await engine.get(job_id)
    if job is None or not job.after:
        return []
    flow = await engine.flow(job.flow) if job.flow is not None and len(job.after) > FEW else None
    near = {} if flow is None else {member.id: member for member in flow.jobs}
    found = [near.get(upstream) or await engine.get(upstream) for upstream in job.after]
    return [await _latest(engine, each) for each in found if each is not None]


async def _latest(engine: Engine, job: Job) -> Job:
    while job.recovered_as is not None and (heir := await engine.get(job.recovered_as)) is not None:
        job = heir
    return job


def _row(job: Job) -> dict[str, Any]:
    return {"id": job.id, "task": job.task, "state": job.state, "result": job.result_json, "note": job.note}
