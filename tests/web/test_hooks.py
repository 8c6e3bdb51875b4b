"""Inbound webhooks: signed, once, and within five minutes."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest

from penstock import InvalidOption, Penstock
from penstock.model.signing import WINDOW, sign, signed_at, verify
from web.kit import HOOK_SECRET, Shop

BODY = b'{"id":"evt_1","order":7,"amount":3}'
NEW, OLD = "a new secret of theirs", "an old secret of theirs"


def now() -> int:
    return int(time.time())


async def send(
    shop: Shop, body: bytes = BODY, signature: str | None = None, source: str = "payments"
) -> httpx.Response:
    signature = sign([HOOK_SECRET], body, now()) if signature is None else signature
    return await shop.ask(
        "POST", f"/hooks/{source}", None, content=body, headers={"penstock-signature": signature}
    )


async def jobs(shop: Shop) -> list[object]:
    listed = (await shop.ask("GET", "/jobs")).json()["jobs"]
    return [(job["task"], job["payload"]) for job in listed]


async def test_a_signed_request_emits_its_event(shop: Shop) -> None:
    answer = await send(shop)
    assert (answer.status_code, answer.json()) == (202, {"accepted": 1})
    assert await jobs(shop) == [("paid", {"order": 7})]


async def test_the_same_request_again_is_refused(shop: Shop) -> None:
    signature = sign([HOOK_SECRET], BODY, now())
    assert (await send(shop, BODY, signature)).status_code == 202
    replayed = await send(shop, BODY, signature)
    assert (replayed.status_code, replayed.json()["error"]["code"]) == (409, "conflict")
    assert len(await jobs(shop)) == 1


async def test_a_delivery_that_comes_again_under_a_new_signature_makes_its_jobs_once(shop: Shop) -> None:
    assert (await send(shop, BODY, sign([HOOK_SECRET], BODY, now()))).status_code == 202
    assert (await send(shop, BODY, sign([HOOK_SECRET], BODY, now() - 60))).status_code == 202
    assert len(await jobs(shop)) == 1


async def test_two_of_the_same_at_once_make_one_job(shop: Shop) -> None:
    body = b'{"order":7}'
    signature = sign([HOOK_SECRET], body, now())
    answers = await asyncio.gather(*(send(shop, body, signature) for _ in range(5)))
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert len(await jobs(shop)) == 1


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "t=1",
        "v1=00",
        sign([HOOK_SECRET], BODY, int(time.time()) - 301),
        sign([HOOK_SECRET], BODY, int(time.time()) + 100_000),
        sign([HOOK_SECRET], BODY + b" ", int(time.time())),
        sign(["another secret of some length"], BODY, int(time.time())),
        f"t={int(time.time())},{sign([HOOK_SECRET], BODY, 1).partition(',')[2]}",
        f"{sign([HOOK_SECRET], BODY, int(time.time()))},t=1",
        "t=" + "9" * 2_500,
    ],
    ids=range(10),
)
async def test_what_is_not_signed_now_by_the_sender_is_refused(shop: Shop, signature: str) -> None:
    assert (await send(shop, BODY, signature)).status_code in {400, 401}
    assert await jobs(shop) == []


async def test_an_unknown_source_is_refused_like_a_wrong_signature(shop: Shop) -> None:
    unknown, wrong = await send(shop, source="nope"), await send(shop, BODY, "t=1,v1=0")
    assert (unknown.status_code, unknown.content) == (wrong.status_code, wrong.content)


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"order":"x"}', b'{"order":NaN}'])
async def test_a_signed_body_that_cannot_be_read_is_400_and_may_be_sent_again(
    shop: Shop, body: bytes
) -> None:
    signature = sign([HOOK_SECRET], body, now())
    for _ in range(2):
        assert (await send(shop, body, signature)).status_code == 400
    assert await jobs(shop) == []


# -- signatures --------------------------------------------------------------------------
def test_secrets_are_rotated_by_either_side() -> None:
    assert verify([NEW, OLD], sign([OLD], BODY, 1_000), BODY, 1_000.0)
    assert verify([OLD], sign([NEW, OLD], BODY, 1_000), BODY, 1_000.0)
    assert not verify([NEW], sign([OLD], BODY, 1_000), BODY, 1_000.0)
    assert not verify([], sign([OLD], BODY, 1_000), BODY, 1_000.0)


def test_a_signature_is_good_for_five_minutes_either_way() -> None:
    header = sign([NEW], BODY, 1_000)
    assert [verify([NEW], header, BODY, 1_000 + past) for past in (-301, -300, 0, WINDOW, 301)] == [
        *(False, True, True, True, False)
    ]
    assert signed_at(header) == 1_000


def test_a_hook_is_declared_once_with_a_secret_that_is_one() -> None:
    app = Penstock("sqlite:///:memory:")
    app.hook("github", secret=[NEW, OLD], event="push")
    app.hook("github", secret=[NEW, OLD], event="push")
    assert NEW not in json.dumps(str(app.registry.hooks))
    for wrong in ({"secret": "short"}, {"secret": []}, {"event": "a b"}, {"secret": NEW}):
        with pytest.raises(InvalidOption):
            app.hook("github", **({"secret": [NEW, OLD], "event": "push"} | wrong))
    with pytest.raises(InvalidOption):
        app.hook("a/b", secret=NEW, event="push")
