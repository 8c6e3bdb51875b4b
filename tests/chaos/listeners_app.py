"""The server and the worker of the listeners' check."""

from __future__ import annotations

import time

from starlette.requests import Request

from penstock import Penstock
from penstock.web import Limits, Principal, Scope, make_service, serving

EVERYBODY = Principal(name="anybody", scopes=frozenset({Scope.READ}), all_owners=True)


def app_at(url: str) -> Penstock:
    app = Penstock(url, name="listeners")

    @app.task
    async def touch(at: float) -> float:
        return (time.time() - at) * 1_000

    return app


def anybody(_: Request) -> Principal:
    return EVERYBODY


async def serve(url: str) -> None:
    app = app_at(url)
    limits = Limits(per_token=None, per_address=None, wrong_tokens=None, streams_each=1_000)
    door = serving.listen("127.0.0.1", 0)
    print(door.getsockname()[1], flush=True)
    await serving.serve(make_service(app, auth=anybody, limits=limits), door, "critical")


async def work(url: str) -> None:
    app = app_at(url)
    async with app:
        await app.worker().run()
