"""What a request may cost, and what is not read at all."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator

import pytest

from penstock.model.limits import Limit
from penstock.web import Limits
from penstock.web.limits import MAX_BODY, BodyLimits
from penstock.web.rates import MOST_KNOWN, Rates
from web.kit import Shop, make_shop, open_shop

JSON = {"content-type": "application/json"}
ENQUEUE = "/jobs/email_queue"


def job(payload: str) -> bytes:
    return b'{"task":"send","payload":' + payload.encode() + b"}"


async def test_a_body_over_the_limit_is_413_by_its_length_and_by_counting(shop: Shop) -> None:
    big = job(json.dumps({"to": "x" * MAX_BODY}))

    async def chunks() -> AsyncIterator[bytes]:
        for n in range(0, len(big), 65_536):
            yield big[n : n + 65_536]

    for content in (big, chunks()):
        answer = await shop.ask("POST", ENQUEUE, content=content, headers=JSON)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert (await shop.ask("GET", "/jobs")).json()["jobs"] == []


async def test_no_more_than_the_limit_is_taken_in_of_a_body_that_does_not_end() -> None:
    taken = 0

    async def receive() -> dict[str, object]:
        nonlocal taken
        taken += 65_536
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    async def reads_all(scope: object, receive: object, send: object) -> None:
        while (await receive())["more_body"]:  # type: ignore[operator]
            pass

    with pytest.raises(Exception, match="at most"):
        await BodyLimits(reads_all, Limits())({"type": "http", "headers": []}, receive, None)  # type: ignore[arg-type]
    assert taken <= MAX_BODY + 65_536


async def test_a_payload_over_its_own_limit_is_413_too(shop: Shop) -> None:
    payload = json.dumps({"to": "é" * (MAX_BODY // 2 - 100)}, ensure_ascii=True)
    answer = await shop.ask("POST", ENQUEUE, content=job(payload), headers=JSON)
    assert answer.status_code == 413


async def test_a_compressed_body_is_415_and_not_unpacked(shop: Shop) -> None:
    bomb = gzip.compress(b"0" * 10_000_000)
    answer = await shop.ask("POST", ENQUEUE, content=bomb, headers=JSON | {"content-encoding": "gzip"})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "payload",
    [
        "[" * 100_000,
        '{"to":' * 5_000 + "1" + "}" * 5_000,
        '{"to":' + "[" * 70 + "]" * 70 + "}",
        '{"to":NaN}',
        '{"to":Infinity}',
        '{"to":1e999}',
        '{"to":' + "9" * 4_301 + "}",
        '{"to":' + "9" * 1_001 + "}",
        '{"to":"\\ud800"}',
        '{"to":',
        "\xff",
        "",
    ],
    ids=range(12),
)
async def test_what_is_not_strict_json_is_400_within_fifty_milliseconds(shop: Shop, payload: str) -> None:
    body = job(payload) if payload != "\xff" else b"\xff"
    took = []
    for _ in range(3):
        began = time.perf_counter()
        answer = await shop.ask("POST", ENQUEUE, content=body, headers=JSON)
        took.append(time.perf_counter() - began)
        assert answer.status_code == 400
    assert min(took) <= 0.05


async def test_a_request_of_very_many_fields_is_400_in_few_words(shop: Shop) -> None:
    names = {f"order_{n:06}_id": 0 for n in range(30_000)}
    for body in ({"task": "send", **names}, {"task": "send", "payload": names}):
        answer = await shop.ask("POST", ENQUEUE, json=body)
        assert answer.status_code == 400
        assert len(answer.content) < 20_000


async def test_text_of_any_kind_comes_back_as_it_was(shop: Shop) -> None:
    strange = "\u202e<script>\u0000😀" + "x" * 1_000
    job_id = await shop.enqueue(payload={"to": strange})
    assert (await shop.ask("GET", f"/jobs/{job_id}")).json()["payload"] == {"to": strange}


async def test_a_body_that_drips_is_cut_off(tmp_path) -> None:
    app = make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")
    done = asyncio.Event()

    async def receive() -> dict[str, object]:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    sent: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)
        done.set()

    from penstock.web import make_service

    service = make_service(app, auth=lambda _: admin(), limits=Limits(body_seconds=0.1))
    async with app:
        scope = {
            "type": "http",
            "method": "POST",
            "path": ENQUEUE,
            "raw_path": ENQUEUE.encode(),
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
            "client": ("10.0.0.1", 1),
        }
        async with asyncio.timeout(5):
            await service(scope, receive, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]  # type: ignore[operator]


def admin():
    from web.kit import PEOPLE

    return PEOPLE["admin"]


async def test_who_asks_too_often_is_429_with_retry_after_and_others_are_not(tmp_path) -> None:
    app = make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")
    limits = Limits(per_token="5/s", per_address=None)
    async with open_shop(app, limits=limits) as shop:
        async with shop.client("ana") as client:
            codes = [(await client.get("/tasks")).status_code for _ in range(8)]
            last = await client.get("/tasks")
        assert codes[:5] == [200] * 5
        assert codes[-1] == last.status_code == 429
        assert int(last.headers["retry-after"]) >= 1
        assert (await shop.ask("GET", "/tasks", "bea")).status_code == 200


async def test_an_address_and_wrong_tokens_have_limits_of_their_own(tmp_path) -> None:
    app = make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")
    async with open_shop(app, limits=Limits(per_token=None, per_address=None, wrong_tokens="3/m")) as shop:
        codes = [(await shop.ask("GET", "/tasks", "wrong")).status_code for _ in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        assert (await shop.ask("GET", "/tasks", "ana")).status_code == 200, "a good one is not held back"
    async with open_shop(app, limits=Limits(per_token=None, per_address="2/s")) as shop:
        codes = [(await shop.ask("GET", "/tasks", "ana")).status_code for _ in range(4)]
        assert codes[:2] == [200, 200]
        assert 429 in codes


def test_a_rate_remembers_so_many_names_and_no_more() -> None:
    now = 100.0
    rates = Rates(Limit(rate=1.0, burst=1), clock=lambda: now)
    for n in range(MOST_KNOWN + 5):
        assert rates.wait(f"{n}") is None
        rates.count(f"{n}")
    assert len(rates._spent) == MOST_KNOWN
    assert rates.wait(f"{MOST_KNOWN}") is not None
    now += 1.0
    assert rates.wait(f"{MOST_KNOWN}") is None
