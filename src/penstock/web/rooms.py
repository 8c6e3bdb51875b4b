"""Socket.IO rooms for those who have a token of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.app import Penstock
from penstock.feed.socketio import JobRooms
from penstock.model.access import Principal
from penstock.ops import Ops
from penstock.web.auth import TokenAuth

if TYPE_CHECKING:
    import socketio


def job_rooms(server: socketio.AsyncServer, app: Penstock) -> JobRooms:
    """Rooms of an open app. Clients give `auth: {token}`; those who only follow jobs by tokens need none."""

    async def ops() -> Ops:
        return app.ops

    tokens = TokenAuth(ops)

    async def who(auth: Any) -> Principal | None:
        token = auth.get("token") if isinstance(auth, dict) else None
        return await tokens.by_token(token) if isinstance(token, str) else None

    return JobRooms(server, app.engine, app.feed, who)
