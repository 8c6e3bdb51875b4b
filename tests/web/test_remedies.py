"""What somebody is told whose request does not fit: where it is wrong, and how it should be."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from penstock.web.shapes.fields import IN_WORDS
from web.kit import Shop, make_shop, open_shop


async def _problems(shop: Shop, method: str, path: str, **more: Any) -> dict[str, str]:
    answer = await shop.ask(method, path, **more)
    assert answer.status_code == 400, answer.text
    return {each["field"]: each["problem"] for each in answer.json()["error"]["fields"]}


async def test_a_job_for_everybody_is_refused_by_the_name_of_the_field(shop: Shop) -> None:
    job = {"task": "send", "payload": {"to": "ana@example.com"}, "owner": "*"}
    told = await _problems(shop, "POST", "/jobs/email_queue", json=job)
    assert told == {"owner": "no owner is called '*': that is the word for all of them"}


async def test_a_job_that_needs_a_key_says_so() -> None:
    app = make_shop("sqlite:///:memory:")

    @app.task(name="sync", unique="unfinished")
    async def sync() -> None: ...

    async with open_shop(app) as shop:
        told = await _problems(shop, "POST", "/jobs/default", json={"task": "sync"})
        assert told == {"key": "is missing; jobs of this task are unique by it"}
        await shop.enqueue("sync", key="one")


async def test_a_time_that_cannot_be_read_is_told_how_to_write_one(shop: Shop) -> None:
    for given in ("yesterday", "1767225600"):
        told = await _problems(shop, "GET", "/jobs", params={"since": given})
        assert told == {"since": "should be a time, written as 2026-01-31T12:00:00Z"}


@pytest.mark.parametrize(
    ("path", "field", "words"),
    [
        ("/jobs?owner=%00", "owner", "holds a character that cannot be stored"),
        ("/jobs?task=a+b", "task", "should be a name: at most 128 letters, digits, '_', '.' and '-'"),
        ("/jobs?after=7", "after", "should be an id, such as 0198a6f2-0000-7000-8000-000000000000"),
        ("/dead-letters?cause=7", "cause", "should be the id of a cause: 16 hexadecimal digits"),
    ],
)
async def test_no_regular_expression_is_shown(shop: Shop, path: str, field: str, words: str) -> None:
    assert await _problems(shop, "GET", path) == {field: words}


async def test_every_pattern_of_the_document_is_told_in_words(shop: Shop) -> None:
    document = (await shop.ask("GET", "/openapi.json")).json()
    assert set(_patterns(document)) == set(IN_WORDS)


def _patterns(value: Any) -> list[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value["pattern"]] if isinstance(value, dict) and isinstance(value.get("pattern"), str) else []
    return own + [found for each in inner for found in _patterns(each)]


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"task": "send", "task": "receipt"}', "task"),
        ('{"task": "send", "payload": {"to": "a", "to": "b"}}', "to"),
        ('{"task": "send", "payload": {"to": [{"a": 1, "\\u0061": 1}]}}', "a"),
        ('{"task": "send", "<b>": 1, "<b>": 2}', "body"),
    ],
)
async def test_a_key_that_is_given_twice_is_refused_by_its_name(shop: Shop, body: str, key: str) -> None:
    headers = {"content-type": "application/json"}
    for path in ("/jobs/email_queue", "/dead-letters/recover"):
        told = await _problems(shop, "POST", path, content=body, headers=headers)
        assert told == {key: "is given more than once"}


async def test_a_body_of_nothing_but_one_key_is_refused_as_fast_as_it_is_read(shop: Shop) -> None:
    keys = [f'"{n}": 0' for n in range(70_000)]
    body = "{" + ", ".join([*keys, keys[-1]]) + "}"
    began = time.monotonic()
    json.loads(body)
    plain = time.monotonic() - began
    began = time.monotonic()
    told = await _problems(
        shop, "POST", "/jobs/email_queue", content=body, headers={"content-type": "application/json"}
    )
    assert told == {"69999": "is given more than once"}
    assert time.monotonic() - began < 20 * plain + 0.5
