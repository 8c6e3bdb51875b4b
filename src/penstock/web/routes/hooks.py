"""Inbound webhooks: signed requests of other programs, as events."""

from __future__ import annotations

import hashlib
import time
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request

from penstock.model.signing import WINDOW, is_timely, signed_at
from penstock.tasks.events import calls_for
from penstock.tasks.hooks import Hook
from penstock.web.bodies import strict
from penstock.web.doorway import Doorway
from penstock.web.guard import needs
from penstock.web.promptly import ANSWER_WITHIN, promptly
from penstock.web.refusals import RESPONSES, Refusal, invalid
from penstock.web.shapes.hooks import Heard

KIND = "hook"
_ANY_OBJECT: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
}


def register(service: FastAPI) -> None:
    service.post(
        "/hooks/{source}",
        status_code=202,
        response_model=Heard,
        responses=RESPONSES,
        openapi_extra=_ANY_OBJECT,
        tags=["webhooks"],
    )(hear)


@needs(None, slow=True, free="")  # the signature is what it needs, and before the body its time
async def hear(
    request: Request,
    source: str,
    penstock_signature: Annotated[str, Header(max_length=2_000)] = "",
) -> Heard:
    """Take a signed request as the event that its source is declared to emit."""
    doorway: Doorway = request.app.state.doorway
    registry = doorway.app.registry
    hook = registry.hooks.get(source)
    if hook is None or not is_timely(penstock_signature, time.time()):
        raise _unsigned()
    body = await request.body()
    if not hook.is_signed(penstock_signature, body, time.time()):
        raise _unsigned()
    payload = strict(body)
    if not isinstance(payload, dict):
        raise invalid("the body must be a JSON object")
    return await promptly(
        ANSWER_WITHIN, _emit(doorway, hook, payload, body, penstock_signature), give_up=False
    )


async def _emit(doorway: Doorway, hook: Hook, payload: dict[str, Any], body: bytes, signature: str) -> Heard:
    app = await doorway.open()
    registry, source = app.registry, hook.source
    seen = hashlib.sha256(f"{source}\n{signed_at(signature)}\n".encode() + body).hexdigest()
    if await app.engine.note(KIND, seen) is not None:
        raise Refusal(409, "conflict", "this request was made before")
    key = f"{source}:{hook.id_in(payload) or seen}"
    made = await app.aenqueue_many(calls_for(registry, hook.event, payload, key))
    # Only now: a request whose jobs could not be made may be made again.
    await app.engine.put_note(KIND, seen, "{}", ttl=2 * WINDOW, expect=0)
    return Heard(accepted=len(made))


def _unsigned() -> Refusal:
    return Refusal(401, "unauthorized", "the signature is not valid, or no longer")
