"""Who comes in, how often, and to which engine."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import urlencode

from starlette.requests import Request

from penstock.app import Penstock
from penstock.audit import Actor
from penstock.feed.follow import PREFIX
from penstock.feed.reader import Feed
from penstock.health import Pulse
from penstock.model.access import Principal, Scope
from penstock.model.errors import EngineError
from penstock.model.limits import Limit, client_rate
from penstock.ops import Ops
from penstock.patience import to_the_end
from penstock.web.auth import TokenAuth, is_from_here
from penstock.web.guard import Need
from penstock.web.limits import Limits
from penstock.web.origins import is_foreign
from penstock.web.promptly import LOOK_WITHIN, promptly
from penstock.web.quotas import Quotas
from penstock.web.rates import Rates
from penstock.web.refusals import Refusal, limited
from penstock.web.seats import Seats
from penstock.web.shapes.fields import Why

Authenticate: TypeAlias = Callable[[Request], Principal | Awaitable[Principal | None] | None]

READY_FOR = 1.0  # seconds for which it is not asked again whether jobs can be put in
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="penstock"'}


class Doorway:
    """One for each service."""

    def __init__(
        self, app: Penstock, auth: Authenticate | None, limits: Limits, *, local: bool = False
    ) -> None:
        self.app = app
        self.pulse = Pulse()  # of the loops of this process
        self._auth: Authenticate = auth or TokenAuth(
            self._unnamed_ops, self.hold_strangers, local=local and not app.can_forget
        )
        self._opening = asyncio.Lock()
        self._opened = 0
        self.seats = Seats(limits.streams_each, limits.streams)
        self._looking = asyncio.Lock()
        self._looked_at = float("-inf")
        self._is_ready = False
        self._addresses = Rates(_limit("per_address", limits.per_address))
        self._tokens = Rates(_limit("per_token", limits.per_token))
        self._quotas = Quotas(self._unfinished_of)
        self._wrong = Rates(_limit("wrong_tokens", limits.wrong_tokens))

    async def admit(self, request: Request, need: Need) -> None:
        """Let a request in, with its principal in its state; Refusal where it may not."""
        address = request.client.host if request.client else ""
        token = follow_token(request) if need.follow else None
        if token is not None:
            _hide(request)
        _hold(self._addresses, address)
        if request.method != "GET" and _may_be_forged(request):
            raise Refusal(403, "forbidden", "a page of another site may change nothing here")
        if need.scope is None:
            return
        if token is not None:
            request.state.follows_until = await self._follows(request, token)
            return
        principal = await self.principal(request)
        if principal is None:
            raise self.stranger(request, wrong="authorization" in request.headers)
        _hold(self._tokens, principal.name, principal.rate)
        if not principal.may(need.scope):
            raise Refusal(403, "forbidden", f"this needs a token with the scope {need.scope}")
        if not principal.sees_all and (need.everything or not principal.has_owner):
            raise Refusal(403, "forbidden", "this shows the work of all owners; it needs a token for all")
        if need.scope is Scope.ENQUEUE and not principal.sees_all:
            await self.admit_job(principal, principal.owner)
        request.state.principal = principal

    async def admit_job(self, principal: Principal, owner: str | None) -> None:
        """Let one job more of this owner in; Refusal where it has as many as it may."""
        most = principal.max_waiting or self.app.settings.max_waiting
        if owner is not None and most is not None:
            await self._quotas.admit(owner, most)

    async def _unfinished_of(self, owner: str, most: int) -> int:
        return await (await self._unnamed_ops()).unfinished_of(owner, most)

    def hold_strangers(self, request: Request) -> None:
        """Before the engine is asked who somebody is: not for those who were wrong again and again."""
        if wait := self._wrong.wait(request.client.host if request.client else ""):
            raise limited(wait)

    def stranger(self, request: Request, *, wrong: bool = True) -> Refusal:
        """What somebody is told whom nobody knows; not for long, where they are wrong again and again."""
        if wrong:
            _hold(self._wrong, request.client.host if request.client else "")
        return Refusal(401, "unauthorized", "a valid token is needed", headers=_CHALLENGE)

    async def _follows(self, request: Request, token: str) -> float:
        """Until when the job of the path may be followed with this token, by `time.monotonic()`."""
        left = await promptly(LOOK_WITHIN, self._left(token, request.path_params["job_id"]))
        if left is None:
            raise self.stranger(request)
        return time.monotonic() + left

    async def _left(self, token: str, job_id: str) -> float | None:
        return await (await self.feed()).tokens.check(token, job_id)

    async def principal(self, request: Request) -> Principal | None:
        """Who asks; asked again while a stream is open."""
        found = self._auth(request)
        return await found if inspect.isawaitable(found) else found

    async def _unnamed_ops(self) -> Ops:
        return (await self.open()).ops

    async def open(self) -> Penstock:
        """The app, open on this loop; EngineUnavailable where its engine is away."""
        if not self.app.is_open_here:
            async with self._opening:
                if not self.app.is_open_here:
                    await to_the_end(self._open())
        return self.app

    async def _open(self) -> None:
        await self.app.aopen()
        self._opened += 1

    def hold(self, principal: Principal) -> None:
        """Count a request of somebody who was not known by the guard."""
        _hold(self._tokens, principal.name, principal.rate)

    def forget(self, cookie: str) -> None:
        """Whoever shows this cookie of a session is nobody from now on."""
        if isinstance(self._auth, TokenAuth):
            self._auth.forget(cookie)

    async def ready(self) -> bool:
        """Whether jobs can be put in now; anybody may ask, so that it is looked once a second at most."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= READY_FOR:
                self._is_ready = await self._look()
                self._looked_at = time.monotonic()
            return self._is_ready

    async def _look(self) -> bool:
        try:
            return await promptly(LOOK_WITHIN, self._ready())
        except EngineError:
            return False

    async def _ready(self) -> bool:
        return (await (await self.open()).ops.health.readiness()).ready

    async def feed(self) -> Feed:
        """What happens to jobs, read on this loop; EngineUnavailable where the engine is away."""
        app = await self.open()
        try:
            return app.feed
        except EngineError:  # it is open, but elsewhere
            async with self._opening:
                await to_the_end(self._open())
            return app.feed

    async def close(self) -> None:
        """Close the app as often as it was opened here."""
        while self._opened:
            self._opened -= 1
            await self.app.aclose()


def _may_be_forged(request: Request) -> bool:
    """Whether a page of another site may have made a browser ask.

    To plain http browsers tell no Sec-Fetch-Site, but an Origin. By themselves they never add a bearer.
    """
    if not is_from_here(request):
        return True
    if "origin" not in request.headers or not is_foreign(request):
        return False
    return request.headers.get("authorization", "").partition(" ")[0].lower() != "bearer"


def follow_token(request: Request) -> str | None:
    """In the query, for browsers' event sources, or as a bearer."""
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and bearer.startswith(PREFIX):
        return bearer
    return request.query_params.get("token")


def _hide(request: Request) -> None:
    """Servers log the query once the answer begins, and the token must not be in it."""
    others = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
    request.scope["query_string"] = urlencode(others).encode()


def _hold(rates: Rates, name: str, limit: Limit | None = None) -> None:
    if wait := rates.wait(name, limit):
        raise limited(wait)
    rates.count(name, limit)


def _limit(what: str, text: str | None) -> Limit | None:
    return None if text is None else client_rate(what, text)


async def ops_of(request: Request, why: Why | None = None) -> Ops:
    """What the one who asks may do things with; `why`, and who, goes to the audit log."""
    doorway: Doorway = request.app.state.doorway
    app = await doorway.open()
    principal = principal_of(request)
    actor = Actor(principal.name, "http", why.reason if why else None)
    return app.ops_as(actor, reveal=principal.may(Scope.ADMIN))


def principal_of(request: Request) -> Principal:
    found: Principal = request.state.principal
    return found
