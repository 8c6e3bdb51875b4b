"""The link that a command prints for the person at this machine: it signs one browser in, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from penstock.model.access import Scope
from penstock.web.auth import COOKIE, PROOF
from web.kit import UNLIMITED, Shop, open_shop


@pytest.fixture
async def site(shop: Shop) -> AsyncIterator[Shop]:
    async with open_shop(shop.app, auth=None, limits=UNLIMITED) as made:
        yield made


async def test_an_invitation_signs_one_browser_in_for_everything(site: Shop) -> None:
    code = await site.app.ops.sessions.invite("ana")
    async with site.client(None) as browser, site.client(None) as other:
        begun = (await browser.post("/session", json={"token": code})).json()
        assert (begun["name"], set(begun["scopes"])) == ("local:ana", set(Scope))
        assert (await browser.get("/audit")).status_code == 200
        paused = await browser.post("/queues/email_queue/pause", headers={PROOF: begun["proof"]})
        assert paused.status_code == 200
        assert (await other.post("/session", json={"token": code})).status_code == 401, "used"
        assert (await other.get("/queues")).status_code == 401, "being here is not enough"
        secret = browser.cookies[COOKIE]
        await browser.delete("/session", headers={PROOF: begun["proof"]})
        kept = {"Cookie": f"{COOKIE}={secret}"}
        assert (await other.get("/queues", headers=kept)).status_code == 401


async def test_of_many_who_show_an_invitation_at_once_one_is_let_in(site: Shop) -> None:
    code = await site.app.ops.sessions.invite("ana")
    async with site.client(None) as browser:
        answers = await asyncio.gather(*(browser.post("/session", json={"token": code}) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 7


async def test_a_page_from_elsewhere_cannot_use_an_invitation_up(site: Shop) -> None:
    code = await site.app.ops.sessions.invite("ana")
    async with site.client(None) as browser:
        forged = {"Sec-Fetch-Site": "cross-site"}
        assert (await browser.post("/session", json={"token": code}, headers=forged)).status_code == 403
        assert (await browser.post("/session", json={"token": code})).status_code == 200


async def test_an_invitation_is_audited_and_kept_only_as_a_hash(site: Shop) -> None:
    code = await site.app.ops.sessions.invite("ana")
    (deed,) = await site.app.ops.audit.entries()
    assert (deed.action, deed.target, deed.outcome) == ("session invite", "ana", "done")
    notes = await site.app.engine.notes("invitation", 10)
    assert [code in f"{note.key} {note.body}" for note in notes] == [False]


async def test_a_token_that_may_not_read_is_told_so_where_it_signs_in(site: Shop) -> None:
    blind = (await site.app.ops.tokens.create("op", {Scope.OPERATE, Scope.PAYLOAD}, "*")).text
    async with site.client(None) as browser:
        refused = await browser.post("/session", json={"token": blind})
        assert refused.status_code == 403
        assert refused.json()["error"]["message"] == (
            "this token lacks the scope read: it has operate, payload"
        )
        assert "set-cookie" not in refused.headers
