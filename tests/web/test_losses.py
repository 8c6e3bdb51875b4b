"""Redis loses everything: nobody is let in who was not before, and with a ledger nobody is shut out."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from acceptance.fleet import new_database
from conftest import make_place
from penstock import Penstock
from penstock.web import Scope
from web.kit import Shop, make_shop, open_shop


def local(shop: Shop, **headers: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(shop.service, client=("127.0.0.1", 4711))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers)


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def books(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "postgres":
        return new_database(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{folder / 'ledger.db'}"


async def flush(url: str, schema: str) -> None:
    """Every key of one app is gone, as after FLUSHALL."""
    from redis.asyncio import Redis

    async with Redis.from_url(url) as redis:
        found = [key async for key in redis.scan_iter(match=f"*{schema}*", count=10_000)]
        assert found
        await redis.delete(*found)


@pytest.mark.parametrize("ledger", ["postgres", "sqlite"])
async def test_tokens_sessions_and_the_audit_outlive_redis_and_the_door_stays_shut(
    ledger: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = make_place("redis", tmp_path, request)

    def made() -> Penstock:
        return make_shop(place.address, schema=place.schema, ledger=written)

    written = books(ledger, tmp_path, request)
    app = made()
    await app.migrate()
    async with open_shop(app, auth=None, local=True) as shop, local(shop) as client:
        assert (await client.get("/jobs")).status_code == 200, "until there is a token"
        token = await app.ops.tokens.create("ops", [Scope.ADMIN])
        gone = await app.ops.tokens.create("gone", [Scope.ADMIN])
        await app.ops.tokens.revoke(gone.token.id)
        begun = await app.ops.sessions.begin(token.text)
        assert begun is not None
        follow = await app.feed.tokens.make("a job")
        await flush(place.address, place.schema)
        entries = [entry.action for entry in await app.ops.audit.entries()]
        assert entries == ["token revoke", "token create", "token create"]
    app = made()
    async with open_shop(app, auth=None, local=True) as shop, local(shop) as client:
        assert (await client.get("/jobs")).status_code == 401, "being here is not enough"
        assert (await client.get("/jobs", headers=bearer(gone.text))).status_code == 401
        assert (await client.get("/jobs", headers=bearer(token.text))).status_code == 200
        found = await app.ops.sessions.find(begun.secret)
        assert found is not None
        assert found.name == token.token.principal.name
        assert await app.feed.tokens.check(follow, "a job") is not None


async def test_redis_without_a_ledger_lets_nobody_in_without_a_token(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = make_place("redis", tmp_path, request)
    app = make_shop(place.address, schema=place.schema)
    async with open_shop(app, auth=None, local=True) as shop, local(shop) as client:
        assert (await client.get("/jobs")).status_code == 401
        token = await app.ops.tokens.create("ops", [Scope.ADMIN])
        assert (await client.get("/jobs", headers=bearer(token.text))).status_code == 200
        await flush(place.address, place.schema)
    async with open_shop(app, auth=None, local=True) as shop, local(shop) as client:
        assert (await client.get("/jobs")).status_code == 401
        assert (await client.get("/jobs", headers=bearer(token.text))).status_code == 401
