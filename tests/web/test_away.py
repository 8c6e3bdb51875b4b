"""The engine goes away under the service: a retryable refusal, nothing half-made, and back it is back."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from acceptance.fleet import new_database
from penstock.web import Scope
from servers import PostgresServer, RedisServer
from web.kit import Shop, make_shop, open_shop, reached

SEND = {"task": "send", "payload": {"to": "ana@example.com"}, "key": "canary-key"}


def schema() -> str:
    return f"t_{secrets.token_hex(6)}"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        yield server


async def post(shop: Shop) -> httpx.Response:
    return await shop.ask("POST", "/jobs/email_queue", json=SEND)


async def jobs(shop: Shop) -> list[str]:
    return [job["job_id"] for job in (await shop.ask("GET", "/jobs")).json()["jobs"]]


@asynccontextmanager
async def on_postgres(server: PostgresServer) -> AsyncIterator[Shop]:
    app = make_shop(new_database(server.url()), schema=schema())
    await app.migrate()
    async with open_shop(app) as shop:
        yield shop


@asynccontextmanager
async def on_redis(server: RedisServer) -> AsyncIterator[Shop]:
    async with open_shop(make_shop(server.url(), schema=schema())) as shop:
        yield shop


@pytest.mark.parametrize("kind", ["postgres", "redis"])
async def test_without_its_engine_the_service_answers_503_with_retry_after_and_makes_nothing(
    kind: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    server = request.getfixturevalue(kind)
    caplog.set_level(logging.DEBUG)
    async with on_postgres(server) if kind == "postgres" else on_redis(server) as shop:
        assert (await post(shop)).status_code == 202
        before = await jobs(shop)
        # In a thread: a loop that stands still meanwhile writes to connections that it cannot know are gone.
        await asyncio.to_thread(server.stop)
        refused = await shop.ask("POST", "/jobs/email_queue", json=SEND | {"key": "other"})
        seen = await shop.ask("GET", f"/jobs/{before[0]}")
        server.start()
        for answer in (refused, seen):
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) > 0
            assert f"{urlsplit(server.url()).port}" not in answer.text
        assert "canary" not in caplog.text

        async def back() -> bool:
            return (await shop.ask("GET", "/jobs")).status_code == 200

        await reached(20, back)
        assert await jobs(shop) == before
        assert (await post(shop)).json()["duplicate"], "trying again makes nothing twice"


async def test_while_its_engine_hangs_the_service_answers_503_within_seconds_on_every_route(
    postgres: PostgresServer,
) -> None:
    app = make_shop(new_database(postgres.url()), schema=schema())
    await app.migrate()
    async with open_shop(app, auth=None) as shop:
        token, unknown = [
            {"authorization": f"Bearer {(await app.ops.tokens.create(name, [Scope.ADMIN])).text}"}
            for name in ("known", "unknown")
        ]
        made = await shop.ask("POST", "/jobs/email_queue", None, json=SEND, headers=token)
        path = f"/jobs/{made.json()['job_id']}"
        asks: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/jobs/email_queue", {"json": SEND, "headers": token}),
            ("POST", "/jobs/email_queue", {"json": SEND, "headers": unknown}),
            ("POST", "/queues/email_queue/pause", {"headers": token}),
            ("GET", "/readyz", {}),
            *(("GET", each, {"headers": token}) for each in ("/jobs", path, "/queues", "/dead-letters")),
        ]
        with postgres.hung():
            began = time.monotonic()
            *found, health = await asyncio.gather(
                *(shop.ask(method, path, None, **more) for method, path, more in asks),
                shop.ask("GET", "/health", None, headers=token),
            )
            took = time.monotonic() - began
        assert [answer.status_code for answer in found] == [503] * len(asks)
        assert health.status_code == 503 or health.json()["status"] != "ok"
        assert took < 10

        async def back() -> bool:
            return (await shop.ask("GET", "/jobs", None, headers=token)).status_code == 200

        await reached(20, back)


async def test_a_service_that_starts_without_its_engine_answers_503_until_it_is_there(
    postgres: PostgresServer,
) -> None:
    app = make_shop(new_database(postgres.url()), schema=schema())
    await app.migrate()
    async with open_shop(app) as shop:
        pass
    postgres.stop()
    try:
        assert (await post(shop)).status_code == 503
        assert (await post(shop)).status_code == 503
    finally:
        postgres.start()

    async def back() -> bool:
        return (await post(shop)).status_code == 202

    await reached(20, back)
    await shop.service.state.doorway.close()


@pytest.mark.parametrize("ledger", ["postgres", "sqlite"])
async def test_with_a_ledger_jobs_are_accepted_without_redis_and_dispatched_when_it_is_back(
    redis: RedisServer, postgres: PostgresServer, ledger: str, tmp_path: Path
) -> None:
    books = new_database(postgres.url()) if ledger == "postgres" else f"sqlite:///{tmp_path / 'ledger.db'}"
    app = make_shop(redis.url(), schema=schema(), ledger=books)
    await app.migrate()
    async with open_shop(app, auth=None) as shop:
        token = await app.ops.tokens.create("shop", [Scope.ENQUEUE, Scope.READ], "ana")
        headers = {"authorization": f"Bearer {token.text}"}
        assert (await shop.ask("GET", "/jobs", None, headers=headers)).status_code == 200
        redis.stop()
        made = await shop.ask("POST", "/jobs/email_queue", None, json=SEND, headers=headers)
        assert (made.status_code, made.json()["status"]) == (202, "pending")
        path = f"/jobs/{made.json()['job_id']}"
        seen = await shop.ask("GET", path, None, headers=headers)
        assert (seen.status_code, seen.json()["status"]) == (200, "pending")
        new = await app.ops.tokens.create("late", [Scope.READ], "ana")
        late = {"authorization": f"Bearer {new.text}"}
        assert (await shop.ask("GET", path, None, headers=late)).status_code == 200, "known by the ledger"
        assert (await shop.ask("GET", path, None)).status_code == 401
        redis.start()

        async def done() -> bool:
            await app.engine.reconcile(100)
            await shop.work()
            return (await shop.ask("GET", path, None, headers=headers)).json().get("status") == "completed"

        await reached(40, done)
