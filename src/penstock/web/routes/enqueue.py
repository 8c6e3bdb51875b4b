"""Jobs in."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import FastAPI, Header, Path, Request
from fastapi.responses import Response

from penstock.model.access import Principal, Scope
from penstock.model.errors import EngineError, InvalidOption
from penstock.model.states import status_of
from penstock.patience import within
from penstock.tasks.task import Task
from penstock.web.doorway import Doorway, ops_of, principal_of
from penstock.web.guard import needs
from penstock.web.keys import stored_key
from penstock.web.refusals import RESPONSES, Field, Refusal, invalid, unavailable
from penstock.web.shapes.fields import Text
from penstock.web.shapes.jobs import Accepted, NewJob

# One template for both: OpenAPI knows no two that differ only in the names of their parts.
QueueName = Annotated[str, Path(alias="id", description="The name of a queue")]

ANSWER_WITHIN = 4.0  # seconds

_encode = json.JSONEncoder(separators=(",", ":")).encode  # made once
_UNKNOWN = "it is not known yet whether the job was accepted; ask again with the same key"


def register(service: FastAPI) -> None:
    service.post("/jobs/{id}", status_code=202, response_model=Accepted, responses=RESPONSES, tags=["jobs"])(
        enqueue
    )


@needs(Scope.ENQUEUE)
async def enqueue(
    request: Request, queue: QueueName, job: NewJob, idempotency_key: Annotated[Text | None, Header()] = None
) -> Response:
    """Enqueue a job of one of the queue's tasks. It is durably accepted with the answer."""
    principal = principal_of(request)
    doorway: Doorway = request.app.state.doorway
    task = _task(doorway, queue, job)
    owner = _owner(principal, job)
    using: Any = {"delay": job.delay, "priority": job.priority, "owner": owner}
    using["tags"] = job.tags
    using["key"] = stored_key(principal, _key(task, job, idempotency_key))
    try:
        told = await within(ANSWER_WITHIN, _put_in(request, task, using, job.payload), give_up=False)
    except InvalidOption as error:
        raise invalid("the job cannot be enqueued with these options") from error
    except TimeoutError:
        raise unavailable(_UNKNOWN) from None
    return Response(_encode(told), status_code=202, media_type="application/json")


async def _put_in(
    request: Request, task: Task[Any, Any], using: dict[str, Any], payload: dict[str, Any]
) -> dict[str, Any]:
    doorway: Doorway = request.app.state.doorway
    await doorway.open()
    if (principal := principal_of(request)).sees_all:  # whose is only known now
        await doorway.admit_job(principal, using["owner"])
    handle = await task.using(**using).aenqueue(**payload)
    if handle.duplicate and not principal.sees_all:
        await _check_mine(request, handle.id)
    status = status_of(handle.state, started=False)
    told = {"job_id": handle.id, "status": status, "duplicate": handle.duplicate}
    return {**told, "follow": await _follow(doorway, handle.id)}


async def _follow(doorway: Doorway, job_id: str) -> str | None:
    """None where the secret cannot be had now: the job is accepted all the same."""
    try:
        return await (await doorway.feed()).tokens.make(job_id)
    except EngineError:
        return None


def _task(doorway: Doorway, queue: str, job: NewJob) -> Task[Any, Any]:
    registry = doorway.app.registry
    wrong = [] if queue in registry.queues else [Field("queue", "there is no such queue")]
    name = job.task or job.job_type
    task = None if name is None else registry.get(name)
    if name is None:
        wrong.append(Field("task", "is missing"))
    elif job.job_type not in (None, name):
        wrong.append(Field("job_type", "differs from task; give one of them"))
    elif task is None:
        wrong.append(Field("task", "there is no such task"))
    elif not wrong and task.queue != queue:
        wrong.append(Field("task", "is not a task of this queue"))
    if wrong or task is None:
        raise invalid("there is no such job; GET /tasks lists what there is", *wrong)
    return task


def _key(task: Task[Any, Any], job: NewJob, header: str | None) -> str | None:
    if None not in (job.key, header) and job.key != header:
        raise invalid("there are two keys", Field("key", "differs from the header Idempotency-Key"))
    key = job.key or header
    if key is None and task.needs_key:
        raise invalid("there is no key", Field("key", "is missing; jobs of this task are unique by it"))
    return key


def _owner(principal: Principal, job: NewJob) -> str | None:
    if principal.sees_all:
        return job.owner
    if job.owner not in (None, principal.owner):
        raise Refusal(403, "forbidden", "only a token for all owners may enqueue for somebody else")
    return principal.owner


async def _check_mine(request: Request, job_id: str) -> None:
    """A key that the task makes of its arguments is one for all owners."""
    holder = await (await ops_of(request)).known(job_id)
    if not principal_of(request).sees(holder.owner):
        raise Refusal(409, "conflict", "a job with these arguments is there already, and is not yours")
