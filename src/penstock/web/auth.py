"""How somebody proves who they are: by a token, by a session that was begun with one, or, while there are
none, by being at this machine."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from starlette.requests import Request

from penstock.audit import Actor
from penstock.model.access import Principal, Scope
from penstock.model.errors import EngineUnavailable
from penstock.model.hosts import is_loopback
from penstock.ops import Ops
from penstock.sessions import proof_of
from penstock.web.promptly import LOOK_WITHIN, promptly

T = TypeVar("T")

KNOWN_FOR = 2.0  # seconds that a token is taken as it was: a revocation holds within five
GOOD_FOR = 900.0  # seconds that a good one stays good while the engine cannot be asked
MOST_KNOWN = 10_000
COOKIE = "penstock-session"
PROOF = "x-penstock-proof"

_FORWARDED = (
    *("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"),
    *("x-forwarded-port", "x-forwarded-server", "x-real-ip"),
)


class _Known(NamedTuple):
    at: float
    principal: Principal | None

    def holds(self, now: float, seconds: float) -> bool:
        """Whether it is not older than that, and its token not past its time."""
        ends = None if self.principal is None else self.principal.expires_at
        return now - self.at < seconds and (ends is None or datetime.now(UTC) < ends)


class TokenAuth:
    """Tokens of the engine; with `local`, whoever sits here is let in until the first token is made."""

    def __init__(
        self,
        ops: Callable[[], Awaitable[Ops]],
        hold: Callable[[Request], None] = lambda _: None,
        *,
        local: bool = False,
    ) -> None:
        """`hold` refuses requests before the engine is asked about somebody who is not known to be good."""
        self._ops = ops
        self._hold = hold
        self._local = local
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._looked_at = float("-inf")

    async def __call__(self, request: Request) -> Principal | None:
        header = request.headers.get("authorization")
        if header is not None:
            scheme, _, text = header.partition(" ")
            return await self.by_token(text.strip(" "), request) if scheme.lower() == "bearer" else None
        cookie = request.cookies.get(cookie_name(request))
        if cookie is not None and is_own_page(request, cookie):
            return await self._known_as(_session(cookie), lambda ops: ops.sessions.find(cookie), request)
        if self._local and is_local(request) and not await self._any_token():
            return Principal(name=f"local:{Actor.here('http').who}", scopes=frozenset(Scope), all_owners=True)
        return None

    def forget(self, cookie: str) -> None:
        """A session has ended: here at once, in other processes within seconds."""
        self._known.pop(_digest(_session(cookie)), None)

    async def by_token(self, text: str, request: Request | None = None) -> Principal | None:
        """Whose token this is."""
        return await self._known_as(f"token:{text}", lambda ops: _by_token(ops, text), request)

    async def _known_as(
        self, text: str, find: Callable[[Ops], Awaitable[Principal | None]], request: Request | None
    ) -> Principal | None:
        digest, now = _digest(text), time.monotonic()
        known = self._known.get(digest)
        if known is not None and known.holds(now, KNOWN_FOR):
            return known.principal
        if request is not None and (known is None or known.principal is None):
            self._hold(request)
        try:
            principal = await promptly(LOOK_WITHIN, self._asked(find))
        except EngineUnavailable:
            if known is not None and known.principal is not None and known.holds(now, GOOD_FOR):
                return known.principal
            raise
        self._remember(digest, _Known(now, principal))
        return principal

    async def _asked(self, question: Callable[[Ops], Awaitable[T]]) -> T:
        return await question(await self._ops())

    def _remember(self, digest: bytes, known: _Known) -> None:
        self._known[digest] = known
        self._known.move_to_end(digest)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    async def _any_token(self) -> bool:
        """Once there was one, being here is not enough any more, whatever becomes of it."""
        now = time.monotonic()
        if now - self._looked_at >= KNOWN_FOR:
            if await promptly(LOOK_WITHIN, self._asked(lambda ops: ops.tokens.ever())):
                self._local = False
            self._looked_at = now
        return not self._local


def _session(cookie: str) -> str:
    return f"session:{cookie}"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()


async def _by_token(ops: Ops, text: str) -> Principal | None:
    found = await ops.tokens.find(text)
    return None if found is None else found.principal


def cookie_name(request: Request) -> str:
    """Browsers keep cookies by the host, whatever the port: two services at one machine must not meet."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}-{port}" if port.isascii() and port.isdigit() else COOKIE


def is_own_page(request: Request, cookie: str) -> bool:
    """Whether a request with a session's cookie comes from a page of ours, where it could change anything.

    Browsers send the cookie by themselves; what proves that a page of ours has asked, they do not.
    """
    if not is_from_here(request):
        return False
    if request.method in {"GET", "HEAD"}:
        return True
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host", ""):
        return False
    return hmac.compare_digest(request.headers.get(PROOF, "").encode(), proof_of(cookie).encode())


def is_local(request: Request) -> bool:
    """Whether a request was made on this machine, by a program or by a page of ours.

    A page from elsewhere that a browser here shows is told by its Origin, its Sec-Fetch-Site, or, where a
    name of theirs was made to lead here, by the Host; what a proxy passed on, by what proxies add.
    """
    headers = request.headers
    if request.client is None or not is_loopback(request.client.host):
        return False
    if any(name in headers for name in _FORWARDED) or request.scope.get("http_version") == "1.0":
        return False  # proxies speak HTTP/1.0 where nobody has told them otherwise, and browsers never do
    host = headers.get("host", "")
    if not is_loopback(_without_port(host)):
        return False
    origin = headers.get("origin")
    if origin is not None and origin != f"{request.url.scheme}://{host}":
        return False
    return is_from_here(request)


def is_from_here(request: Request) -> bool:
    """Whether it was not a page of another site that made a browser ask, as browsers tell."""
    return request.headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host
