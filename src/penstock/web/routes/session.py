"""Who a browser is: begun with a token, kept in a cookie that no script can read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from pydantic import Field

from penstock.model.access import EVERYBODY, Principal, Scope
from penstock.sessions import LASTS, SeesNothing, proof_of
from penstock.web.auth import cookie_name
from penstock.web.doorway import Doorway, principal_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES, Refusal
from penstock.web.shapes.fields import Said
from penstock.web.shapes.session import SessionView


class Enter(Said):
    token: Annotated[str, Field(max_length=200)]


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["session"]}
    service.get("/session", response_model=SessionView, **options)(session)
    service.post("/session", response_model=SessionView, **options)(enter)
    service.delete("/session", status_code=204, **options)(leave)


@needs(Scope.READ)
async def session(request: Request) -> SessionView:
    """Who asks, and what they may do."""
    return _view(request, principal_of(request), request.cookies.get(cookie_name(request)))


@needs(None)
async def enter(request: Request, response: Response, who: Enter) -> SessionView:
    """Begin a session with a token."""
    doorway: Doorway = request.app.state.doorway
    doorway.hold_strangers(request)
    try:
        begun = await (await doorway.open()).ops.sessions.begin(who.token)
    except SeesNothing as error:
        raise Refusal(403, "forbidden", str(error)) from None
    if begun is None:
        raise doorway.stranger(request)
    doorway.hold(begun.principal)
    response.set_cookie(
        cookie_name(request),
        begun.secret,
        max_age=int(LASTS),
        path=request.scope.get("root_path", "").rstrip("/") or "/",
        secure=_came_by_tls(request),
        httponly=True,
        samesite="strict",
    )
    return _view(request, begun.principal, begun.secret)


@needs(None)
async def leave(request: Request, response: Response) -> None:
    """End the session that this request shows: whoever could begin it may, whatever else they may not."""
    doorway: Doorway = request.app.state.doorway
    if await doorway.principal(request) is None:
        raise doorway.stranger(request, wrong="authorization" in request.headers)
    secret = request.cookies.get(cookie_name(request))
    if secret is not None:
        await (await doorway.open()).ops.sessions.end(secret)
        doorway.forget(secret)
    response.delete_cookie(cookie_name(request), path=request.scope.get("root_path", "").rstrip("/") or "/")


def _came_by_tls(request: Request) -> bool:
    """As this process sees it, or as a proxy or the page itself tells: a cookie is never less safe for it."""
    told = (
        request.url.scheme,
        request.headers.get("x-forwarded-proto", ""),
        request.headers.get("origin", ""),
    )
    return any(each.lower().startswith("https") for each in told)


def _view(request: Request, principal: Principal, secret: str | None) -> SessionView:
    doorway: Doorway = request.app.state.doorway
    return SessionView(
        name=principal.name,
        owner=EVERYBODY if principal.all_owners else principal.owner,
        scopes=sorted(principal.scopes),
        engine=doorway.app.url.partition("://")[0],
        proof=None if secret is None else proof_of(secret),
    )
