"""A quota of jobs for each owner: who floods the service waits, and nobody else does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock import InvalidOption
from penstock.web import Principal, Scope, quotas
from penstock.web.quotas import Quotas
from penstock.web.refusals import Refusal
from web.kit import PEOPLE, Shop, make_shop, open_shop

SOME = [Scope.ENQUEUE, Scope.READ]
JOB = {"task": "send", "payload": {"to": "ana@example.com"}}


async def post(shop: Shop, text: str, **body: object) -> tuple[int, str]:
    headers = {"authorization": f"Bearer {text}"}
    answer = await shop.ask("POST", "/jobs/email_queue", None, json=JOB | body, headers=headers)
    if answer.status_code == 429:
        assert int(answer.headers["retry-after"]) > 0
        return 429, answer.json()["error"]["code"]
    return answer.status_code, ""


async def test_an_owner_with_as_many_jobs_as_its_token_allows_waits_until_some_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_shop(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}"), auth=None) as shop:
        monkeypatch.setattr(quotas, "COUNTED_FOR", 0.0)
        tokens = shop.app.ops.tokens
        ana = (await tokens.create("ana", SOME, "ana", max_waiting=3)).text
        bea = (await tokens.create("bea", SOME, "bea")).text
        root = (await tokens.create("root", [Scope.ADMIN])).text
        assert [(await post(shop, ana))[0] for _ in range(3)] == [202] * 3
        assert await post(shop, ana) == (429, "quota_exceeded")
        headers = {"authorization": f"Bearer {ana}"}
        broken = await shop.ask("POST", "/jobs/email_queue", None, content=b"{", headers=headers)
        assert broken.status_code == 429, "refused before the body is read"
        assert "3 jobs" in broken.json()["error"]["message"]
        assert (await post(shop, bea))[0] == 202
        assert (await post(shop, root, owner="ana"))[0] == 202, "the app's own bound is another"
        await shop.work()
        assert (await post(shop, ana))[0] == 202


async def test_the_setting_of_the_app_holds_for_every_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_MAX_WAITING", "2")
    async with open_shop(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")) as shop:
        for who, owner in (("ana", None), ("admin", "bea")):
            body = JOB if owner is None else JOB | {"owner": owner}
            told = [
                (await shop.ask("POST", "/jobs/email_queue", who, json=body)).status_code for _ in range(3)
            ]
            assert told == [202, 202, 429], who
        for _ in range(3):
            await shop.enqueue()  # nobody's


async def test_a_principal_of_the_users_own_may_have_a_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Principal(name="few", scopes=frozenset(SOME), owner="few", max_waiting=1)
    monkeypatch.setitem(PEOPLE, "few", few)
    async with open_shop(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")) as shop:
        told = [(await shop.ask("POST", "/jobs/email_queue", "few", json=JOB)).status_code for _ in range(2)]
        assert told == [202, 429]


async def test_a_quota_needs_one_owner_and_a_number(tmp_path: Path) -> None:
    async with open_shop(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")) as shop:
        for owner, most in (("*", 5), (None, 5), ("ana", 0), ("ana", 10**9)):
            with pytest.raises(InvalidOption):
                await shop.app.ops.tokens.create("x", [Scope.ADMIN], owner, max_waiting=most)


async def test_a_flood_is_counted_once_a_second() -> None:
    asked, now = [], SimpleNamespace(at=0.0)

    async def ask(owner: str, most: int) -> int:
        asked.append(owner)
        return 5

    kept = Quotas(ask, lambda: now.at)
    for _ in range(5):
        await kept.admit("ana", 10)
    for _ in range(1_000):
        with pytest.raises(Refusal):
            await kept.admit("ana", 10)
    assert asked == ["ana"]
    now.at = 1.0
    await kept.admit("ana", 10)
    assert asked == ["ana", "ana"]
