"""Why a job does not run, and all there is of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fastapi import FastAPI, Request

from penstock.engine import EffectFilter, EffectRecord
from penstock.model.access import Principal, Scope
from penstock.model.errors import JobNotFound
from penstock.model.values import readable
from penstock.ops import MAX_PAGE, Ops, Story
from penstock.web.doorway import ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES, not_found
from penstock.web.routes.jobs import seen
from penstock.web.shapes.story import EffectView, ExplanationView, LoggedView, StoryView

SHOWN = ("type", "message", "code", "class", "attempt", "at", "ran_for", "note")
PRIVATE = ("traceback", "causes")
OF_ALL = ("worker",)  # for those who see the work of all owners
MOST_TIES = 50  # jobs that are looked up one by one


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["jobs"]}
    service.get("/jobs/{job_id}/why", response_model=ExplanationView, **options)(why)
    service.get("/jobs/{job_id}/story", response_model=StoryView, **options)(story)


@needs(Scope.READ, everything=True)
async def why(request: Request, job_id: str) -> ExplanationView:
    """Every cause, the decisive one first, each with the command to type next."""
    await seen(request, job_id)
    return ExplanationView.model_validate((await (await ops_of(request)).why(job_id)).as_dict())


@needs(Scope.READ)
async def story(request: Request, job_id: str) -> StoryView:
    """What people see of a job that has its record: its errors, steps, effects and ties.

    Stacks, log lines and the results of steps only with the scope for payloads; to a token of one owner no
    worker, and no job of another owner.
    """
    await seen(request, job_id)
    ops, principal = await ops_of(request), principal_of(request)
    told = await ops.told(job_id)
    if not isinstance(told, Story):
        raise not_found()
    private, whole = principal.may(Scope.PAYLOAD), principal.sees_all
    job = told.job
    logged = await ops.logged(job) if private else {}
    effects = await ops.effects(EffectFilter(task=job.task, key=job.key), MAX_PAGE)
    after = await _own(ops, principal, job.after)
    return StoryView(
        errors=[_error(error, private=private, whole=whole) for error in job.errors],
        steps={name: readable(value) if private else None for name, value in told.steps.items()},
        logs=[LoggedView.model_validate({"attempt": n, "lines": lines}) for n, lines in logged.items()],
        effects=[_effect(each) for each in effects if whole or each.job_id == job.id],
        worker=job.worker if whole else None,
        origin=job.origin,
        note=job.note,
        flow=job.flow,
        after=after,
        blocked_by=[each for each in job.blocked_by if each in after],
        recovered_from=job.recovered_from,
        recovered_as=job.recovered_as,
        claimed_at=job.claimed_at,
        expires_at=job.expires_at,
        deadline_at=job.deadline_at,
        priority=job.priority.name.lower(),
        dead_letter=told.dead_letter is not None,
        ran_for=job.ran_for,
        rescues=job.rescues,
    )


async def _own(ops: Ops, principal: Principal, ids: Sequence[str]) -> list[str]:
    """Those of these jobs that are the asker's business; of a token of one owner, of the first ones."""
    if principal.sees_all:
        return list(ids)
    found = []
    for job_id in ids[:MOST_TIES]:
        with suppress(JobNotFound):
            if principal.sees((await ops.known(job_id)).owner):
                found.append(job_id)
    return found


def _effect(effect: EffectRecord) -> EffectView:
    return EffectView(
        name=effect.name, job_id=effect.job_id, first_at=effect.first_at, expires_at=effect.expires_at
    )


def _error(error: dict[str, Any], *, private: bool, whole: bool) -> dict[str, Any]:
    shown = (*SHOWN, *(PRIVATE if private else ()), *(OF_ALL if whole else ()))
    return {name: error[name] for name in shown if name in error}
