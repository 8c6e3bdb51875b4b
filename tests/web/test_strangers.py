"""What strangers, proxies and slow or foreign clients must not get out of the service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from penstock import Penstock
from penstock.health.check import PROBE_KEY, PROBE_KIND
from penstock.model.errors import MissingExtra, SchemaMissing
from penstock.sessions import KIND, MOST
from penstock.web import Limits, Scope
from penstock.web.refusals import on_penstock_error
from penstock.web.shield import Shield
from penstock.web.stream import CHUNK, _Line
from web.kit import Shop, make_shop, open_shop


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[Shop]:
    """A shop that is entered by tokens."""
    async with open_shop(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}"), auth=None, limits=Limits()) as made:
        yield made


async def token(app: Penstock, **options: Any) -> str:
    return f"Bearer {(await app.ops.tokens.create('t', [Scope.READ], 'ana', **options)).text}"


async def test_anonymous_probes_write_once_a_second_at_most(shop: Shop) -> None:
    answers = await asyncio.gather(*(shop.ask("GET", "/readyz", None) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    note = await shop.app.engine.note(PROBE_KIND, PROBE_KEY)
    assert note is not None
    assert note.version == 1


async def test_who_was_wrong_too_often_is_not_looked_up_but_whom_one_knows_is_let_in(locked: Shop) -> None:
    good, other = await token(locked.app), await token(locked.app)
    assert (await locked.ask("GET", "/jobs", good)).status_code == 200
    codes = [
        (await locked.ask("GET", "/jobs", f"Bearer pst_{n:016x}_{'x' * 43}")).status_code for n in range(31)
    ]
    assert codes == [401] * 30 + [429]
    assert (await locked.ask("GET", "/jobs", good)).status_code == 200
    assert (await locked.ask("GET", "/jobs", other)).status_code == 429
    assert (await locked.ask("POST", "/session", None, json={"token": other[7:]})).status_code == 429


async def test_the_rate_of_a_token_over_a_minute_may_be_used_up_at_once(locked: Shop) -> None:
    slow = await token(locked.app, rate="5/m")
    codes = [(await locked.ask("GET", "/jobs", slow)).status_code for _ in range(6)]
    assert codes == [200] * 5 + [429]


async def test_a_token_past_its_time_is_refused_at_once(locked: Shop) -> None:
    short = await token(locked.app, expires_in=timedelta(seconds=1))
    begun = asyncio.get_running_loop().time()
    assert (await locked.ask("GET", "/jobs", short)).status_code == 200
    async with asyncio.timeout(1.7):
        while (await locked.ask("GET", "/jobs", short)).status_code == 200:
            await asyncio.sleep(0.05)
    assert asyncio.get_running_loop().time() - begun < 1.7


async def test_sessions_are_under_the_rate_of_their_token_and_the_oldest_makes_room(locked: Shop) -> None:
    made = await locked.app.ops.tokens.create("t", [Scope.READ], "ana")
    sessions = [await locked.app.ops.sessions.begin(made.text) for _ in range(MOST + 3)]
    found = [await locked.app.ops.sessions.find(each.secret) for each in sessions if each]
    assert [each is not None for each in found] == [False] * 3 + [True] * MOST
    assert len(await locked.app.engine.notes(KIND, 200)) == MOST
    slow = (await locked.app.ops.tokens.create("s", [Scope.READ], "ana", rate="2/m")).text
    codes = [(await locked.ask("POST", "/session", None, json={"token": slow})).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


@pytest.mark.parametrize("told", [{"origin": "https://penstock.test"}, {"x-forwarded-proto": "https"}, {}])
async def test_the_cookie_of_a_session_is_secure_behind_a_proxy_that_speaks_tls(
    locked: Shop, told: dict[str, str]
) -> None:
    made = (await locked.app.ops.tokens.create("t", [Scope.READ], "ana")).text
    answer = await locked.ask("POST", "/session", None, json={"token": made}, headers=told)
    assert ("Secure" in answer.headers["set-cookie"]) is bool(told)


@pytest.mark.parametrize(
    ("version", "headers"),
    [("1.0", {}), ("1.1", {"x-forwarded-proto": "http"}), ("1.1", {"x-forwarded-server": "p"})],
)
async def test_what_a_proxy_passes_on_is_not_local(
    tmp_path: Path, version: str, headers: dict[str, str]
) -> None:
    app = make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")
    async with open_shop(app, auth=None, local=True) as shop:

        async def as_version(scope: Any, receive: Any, send: Any) -> None:
            await shop.service({**scope, "http_version": version}, receive, send)

        transport = httpx.ASGITransport(as_version, client=("127.0.0.1", 9))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert (await client.get("/jobs", headers=headers)).status_code == 401


async def test_a_hook_that_is_not_there_or_not_timely_is_refused_before_its_body_is_read(shop: Shop) -> None:
    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    for source, signature in (("nobody", "t=1,v1=x"), ("payments", "t=1,v1=x"), ("payments", "")):
        sent = {"penstock-signature": signature}
        answer = await shop.ask("POST", f"/hooks/{source}", None, content=body(), headers=sent)
        assert answer.status_code == 401


async def test_a_client_that_goes_while_it_sends_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async def gone(*_: Any) -> None:
        raise ClientDisconnect

    async def nothing(*_: Any) -> Any: ...

    with caplog.at_level(logging.INFO):
        await Shield(gone)({"type": "http"}, nothing, nothing)
    assert caplog.records == []


async def test_what_trying_again_does_not_mend_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    request: Any = None
    missing = await on_penstock_error(request, MissingExtra("install penstock[metrics]"))
    broken = await on_penstock_error(request, SchemaMissing("run `penstock migrate`"))
    assert (missing.status_code, broken.status_code) == (501, 503)
    assert "retry-after" not in broken.headers
    assert "install penstock[metrics]" in caplog.text
    assert "run `penstock migrate`" in caplog.text


async def test_a_nul_in_the_name_of_a_limit_is_refused(shop: Shop) -> None:
    assert (await shop.ask("GET", "/limits/keys?group=%00")).status_code == 400


async def test_promoting_shows_no_more_than_it_did(shop: Shop) -> None:
    job = await shop.enqueue(delay=600)
    told = (await shop.ask("POST", f"/jobs/{job}/promote")).json()
    assert told.keys() == {"job_id", "state", "due_at"}


async def test_a_follow_token_is_not_left_in_the_query_where_too_many_ask(tmp_path: Path) -> None:
    app = make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")
    seen = []
    async with open_shop(app, limits=Limits(per_address="1/h")) as shop:

        async def watched(scope: Any, receive: Any, send: Any) -> None:
            await shop.service(scope, receive, send)
            seen.append(scope["query_string"])

        async with httpx.AsyncClient(transport=httpx.ASGITransport(watched), base_url="http://a") as client:
            for _ in range(3):
                last = await client.get("/jobs/x/events?token=psf_x.1.ab&seconds=0")
    assert last.status_code == 429
    assert seen == [b"seconds=0"] * 3


async def test_who_loses_the_right_while_a_long_story_is_told_hears_no_more_of_it() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def no_more() -> bool:
        return len(sent) < 2

    await _Line(Response(), send).say([b"x" * CHUNK] * 5, no_more)
    assert len(sent) == 2


async def test_a_list_tells_payloads_to_those_who_may_see_them_only(shop: Shop) -> None:
    job = await shop.enqueue(payload={"to": "x" * 1_000})
    whole = (await shop.ask("GET", "/jobs", "auditor")).json()["jobs"]
    bare = (await shop.ask("GET", "/jobs", "operator")).json()["jobs"]
    assert whole[0]["payload"]["to"] == "x" * 1_000
    assert [each["job_id"] for each in bare] == [job]
    assert "payload" not in bare[0]
