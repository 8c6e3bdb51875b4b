"""Tokens: made once, kept as a hash, ended within seconds; and who is let in without one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from starlette.requests import Request

from penstock import InvalidOption, JobNotFound, Penstock
from penstock.model.clock import FakeClock
from penstock.web import Scope, auth
from web.kit import UNLIMITED, Shop, make_shop, open_shop

SOME = [Scope.ENQUEUE, Scope.READ]


@pytest.fixture
def app(tmp_path: Path, clock: FakeClock) -> Penstock:
    return make_shop(f"sqlite:///{tmp_path / 'jobs.db'}", clock=clock)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The host's monotonic clock, as the service sees it."""
    made = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


@pytest.fixture
async def shop(app: Penstock):
    async with open_shop(app, auth=None) as made:
        yield made


def bearer(text: str) -> dict[str, bytes]:
    return {"authorization": f"Bearer {text}".encode("latin-1")}


async def status(shop: Shop, text: str, path: str = "/jobs") -> int:
    return (await shop.ask("GET", path, None, headers=bearer(text))).status_code


async def test_a_token_lets_in_its_owner_with_its_scopes(shop: Shop) -> None:
    made = await shop.app.ops.tokens.create("reports", SOME, "ana")
    assert await status(shop, made.text) == 200
    assert await status(shop, made.text, "/audit") == 403
    assert await status(shop, made.text, "/queues") == 403


async def test_the_secret_is_kept_nowhere_and_is_long(shop: Shop, tmp_path: Path) -> None:
    made = await shop.app.ops.tokens.create("reports", SOME, "ana")
    _, token_id, secret = made.text.split("_", 2)
    assert made.token.id == token_id
    assert len(secret) == 43, "256 bits"
    (known,) = await shop.app.ops.tokens.tokens()
    assert known == made.token
    assert all(secret.encode() not in file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    entries = await shop.app.ops.audit.entries()
    assert [entry.action for entry in entries] == ["token create"]
    assert secret not in f"{entries}"


async def test_look_alikes_are_not_let_in(shop: Shop) -> None:
    made = await shop.app.ops.tokens.create("reports", SOME, "ana")
    other = await shop.app.ops.tokens.create("other", SOME, "bea")
    text = made.text
    swapped = f"pst_{other.token.id}_{text.split('_', 2)[2]}"
    for wrong in (
        *(text[:-1], f"{text}x", text.upper(), swapped, text.split("_", 2)[2], "", "pst__", f"x{text}"),
        *("pst_0000000000000000_" + "a" * 43, f"{text}\u00a0", f"{text} {text}", made.token.digest),
    ):
        assert await status(shop, wrong) == 401, wrong
    for header in (f"bearer  {text}", f"BEARER {text}"):
        assert (await shop.ask("GET", "/jobs", None, headers={"authorization": header})).status_code == 200
    for header in (f"Basic {text}", text, f"Bearer\t{text}", f"Token {text}"):
        assert (await shop.ask("GET", "/jobs", None, headers={"authorization": header})).status_code == 401
    assert (await shop.ask("GET", f"/jobs?access_token={text}", None)).status_code == 401


async def test_a_revoked_token_is_refused_within_five_seconds(shop: Shop, time: SimpleNamespace) -> None:
    made = await shop.app.ops.tokens.create("reports", SOME, "ana")
    assert await status(shop, made.text) == 200
    await shop.app.ops.tokens.revoke(made.token.id)
    time.now += 4.9
    assert await status(shop, made.text) == 401
    with pytest.raises(JobNotFound):
        await shop.app.ops.tokens.revoke(made.token.id)


async def test_a_token_past_its_time_is_refused(shop: Shop, time: SimpleNamespace, clock: FakeClock) -> None:
    made = await shop.app.ops.tokens.create("reports", SOME, "ana", expires_in=3_600)
    assert await status(shop, made.text) == 200
    clock.advance(3_601)
    time.now += 3_601
    assert await status(shop, made.text) == 401
    assert await shop.app.ops.tokens.tokens() == []


async def test_a_token_needs_scopes_and_an_owner_unless_it_is_an_admins(shop: Shop) -> None:
    tokens = shop.app.ops.tokens
    for scopes, owner in (([], "ana"), (SOME, None), (SOME, ""), (SOME, "a" * 256)):
        with pytest.raises(InvalidOption):
            await tokens.create("x", scopes, owner)
    with pytest.raises(InvalidOption):
        await tokens.create("x", SOME, "ana", rate="often")
    made = await tokens.create("root", [Scope.ADMIN])
    assert await status(shop, made.text, "/audit") == 200


async def test_a_token_may_have_a_rate_of_its_own(app: Penstock) -> None:
    async with open_shop(app, auth=None) as shop:
        made = await shop.app.ops.tokens.create("slow", SOME, "ana", rate="1/m")
        assert [await status(shop, made.text) for _ in range(2)] == [200, 429]


# -- without tokens --------------------------------------------------------------------------
def local(
    shop: Shop, host: str = "127.0.0.1", at: str = "127.0.0.1:8000", **headers: str
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(shop.service, client=(host, 4711))
    return httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers={"host": at, **headers}
    )


async def test_mounted_without_tokens_nobody_is_let_in(shop: Shop) -> None:
    async with local(shop) as client:
        assert (await client.get("/jobs")).status_code == 401


async def test_served_without_tokens_whoever_is_at_this_machine_may_do_everything(app: Penstock) -> None:
    async with open_shop(app, auth=None, local=True) as shop, local(shop) as client:
        assert (await client.get("/audit")).status_code == 200
        made = await client.post("/jobs/default", json={"task": "report"})
        assert made.status_code == 202
        assert (await client.get(f"/jobs/{made.json()['job_id']}")).json()["payload"] == {}


@pytest.mark.parametrize(
    "asks",
    [
        {"host": "10.0.0.7"},
        {"host": "::ffff:10.0.0.7"},
        {"at": "rebound.example.com"},
        {"at": "rebound.example.com:8000"},
        {"at": "127.0.0.1.example.com"},
        {"at": "localhost.example.com"},
        {"at": ""},
        {"origin": "https://evil.example.com"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"x-forwarded-for": "127.0.0.1"},
        {"forwarded": "for=127.0.0.1"},
        {"authorization": "Bearer wrong"},
    ],
    ids=str,
)
async def test_nobody_else_is_taken_for_somebody_at_this_machine(app: Penstock, asks: dict[str, str]) -> None:
    async with open_shop(app, auth=None, local=True) as shop, local(shop, **asks) as client:
        assert (await client.get("/jobs")).status_code == 401


@pytest.mark.parametrize("at", ["localhost:8000", "[::1]:8000", "127.0.0.2", "localhost"])
async def test_this_machine_has_several_names(app: Penstock, at: str) -> None:
    async with open_shop(app, auth=None, local=True) as shop, local(shop, at=at) as client:
        assert (await client.get("/jobs")).status_code == 200


async def test_once_there_was_a_token_being_here_is_not_enough_any_more(
    app: Penstock, time: SimpleNamespace
) -> None:
    async with open_shop(app, auth=None, local=True) as shop, local(shop) as client:
        assert (await client.get("/jobs")).status_code == 200
        made = await app.ops.tokens.create("first", SOME, "ana")
        time.now += 4.9
        assert (await client.get("/jobs")).status_code == 401
        await app.ops.tokens.revoke(made.token.id)
        time.now += 60
        assert (await client.get("/jobs")).status_code == 401


async def test_a_server_that_is_started_anew_lets_nobody_in_without_a_token_where_there_was_one(
    app: Penstock,
) -> None:
    async with open_shop(app, auth=None):
        made = await app.ops.tokens.create("first", SOME, "ana")
        await app.ops.tokens.revoke(made.token.id)
    async with open_shop(app, auth=None, local=True) as shop, local(shop) as client:
        assert not await app.ops.tokens.any()
        assert (await client.get("/jobs")).status_code == 401


async def test_a_function_of_the_users_own_may_say_who_asks(app: Penstock) -> None:
    async def mine(request: Request):
        from web.kit import PEOPLE

        return PEOPLE["ana"] if request.headers.get("x-user") == "ana" else None

    async with open_shop(app, auth=mine, limits=UNLIMITED) as shop:
        assert (await shop.ask("GET", "/jobs", None, headers={"x-user": "ana"})).status_code == 200
        assert (await shop.ask("GET", "/jobs", None)).status_code == 401
