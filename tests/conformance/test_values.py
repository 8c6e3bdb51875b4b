"""Values: accepted by every engine or by none; what is accepted comes back equal to the byte."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.kit import claim, error, failed, finish, new, put, read, register, retried, settle, take
from penstock.engine import JobFilter, Recovery
from penstock.model.errors import InvalidValue
from penstock.model.outcome import Completed
from penstock.model.values import MAX_ARGS_BYTES, dumps, loads

EXAMPLES = {
    "unicode": "ção 日本 🜁",
    "nul": "a\u0000b",
    "bidi": "\u202egnp.exe",
    "separators": "\u2028\u2029\ufeff",
    "quotes": "'\"\\`${x}%s;--\n\t\r\x7f\x1b",
    "big int": 2**64 + 1,
    "bigger int": -(10**999),
    "1e16": 1e16,
    "minus zero": -0.0,
    "tiny": 5e-324,
    "large": 1.7976931348623157e308,
    "a third": 1 / 3,
    "empty": [{}, [], "", None, False, 0],
    "order of keys": {"b": 1, "a": 2, "": 3},
    "nearly equal keys": {"é": 1, "e\u0301": 2},
    "looks like something else": ["NaN", "null", "2026-01-01T00:00:00Z", "1.0", "\\u0000"],
}


@pytest.mark.parametrize("value", EXAMPLES.values(), ids=EXAMPLES)
async def test_a_strict_json_value_comes_back_byte_equal_wherever_it_is_told(engine, worker, value):
    text = dumps({"v": value}, MAX_ARGS_BYTES)
    held = await take(engine, args=text, options=text)
    assert (held.args, held.options) == (text, text)
    await settle(engine, held, Completed(text))
    job = await read(engine, held.id)
    assert (job.args_json, job.options_json, job.result_json) == (text, text, text)
    assert [j.args_json for j in await engine.jobs(JobFilter(), 10)] == [text]
    assert repr(job.args["v"]) == repr(value)


@pytest.mark.parametrize("value", EXAMPLES.values(), ids=EXAMPLES)
async def test_dead_letters_and_their_heirs_keep_the_bytes(engine, worker, value):
    text = dumps({"v": value}, MAX_ARGS_BYTES)
    held = await finish(engine, args=text, options=text, outcome=failed())
    letter = await engine.dead_letter(held.id)
    assert letter is not None
    assert (letter.args_json, letter.options_json) == (text, text)
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    assert (await read(engine, heir)).args_json == text


async def test_errors_keep_their_text(engine, worker):
    message = "ção \u202e '\"\\ \n 日本"
    held = await take(engine)
    await settle(engine, held, retried(message=message))
    [held] = await claim(engine)
    await settle(engine, held, failed(message=message))
    letter = await engine.dead_letter(held.id)
    assert letter is not None
    assert letter.error is not None
    assert letter.error["message"] == message
    assert [e["message"] for e in (await read(engine, held.id)).errors] == [message] * 2
    assert json.loads(error(message))["message"] == message


async def test_a_payload_at_the_limit_is_stored(engine, worker):
    text = dumps({"v": "é" * ((MAX_ARGS_BYTES - 8) // 2)}, MAX_ARGS_BYTES)
    assert len(text.encode()) == MAX_ARGS_BYTES
    held = await take(engine, args=text)
    assert held.args == text


# -- fuzz --------------------------------------------------------------------------------------------

text = st.text(st.characters(), max_size=20)  # lone surrogates included
huge = st.builds(lambda digits, sign: sign * 10**digits, st.integers(998, 1_001), st.sampled_from([1, -1]))
odd = st.sampled_from(["\ud800", "\u0000", "\u202e", b"bytes", ()])
scalars = st.none() | st.booleans() | st.integers() | huge | st.floats() | text | odd
keys = text | st.integers() | st.none() | st.booleans()
jsonish = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=15,
)


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


payloads = st.builds(nested, jsonish, st.sampled_from([0, 0, 0, 50, 62, 63, 64, 70, 2_000]))


def accepted(value: Any) -> str | None:
    try:
        return dumps({"v": value}, MAX_ARGS_BYTES)
    except InvalidValue:
        return None


def test_what_is_accepted_comes_back_equal_and_byte_equal(place, clock):
    """One validator stands in front of every engine: text, or InvalidValue, and nothing else."""
    engine = place.engine(clock)
    with asyncio.Runner() as runner:
        runner.run(engine.migrate())
        runner.run(engine.open())
        runner.run(register(engine))

        async def round_trip(stored: str) -> tuple[str, str, str | None]:
            held = await take(engine, args=stored)
            await settle(engine, held, Completed(stored))
            job = await read(engine, held.id)
            return held.args, job.args_json, job.result_json

        @settings(max_examples=200)
        @given(payloads)
        def check(value: Any) -> None:
            stored = accepted(value)
            if stored is not None:
                assert runner.run(round_trip(stored)) == (stored, stored, stored)
                assert loads(stored) == {"v": value}

        check()
        runner.run(engine.close())


storable = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=255
)


def test_any_key_and_owner_come_back_equal_and_are_found_by_it(place, clock):
    engine = place.engine(clock)
    with asyncio.Runner() as runner:
        runner.run(engine.migrate())
        runner.run(engine.open())

        async def round_trip(key: str, owner: str) -> None:
            await put(engine, key=key, owner=owner)
            [job] = await engine.jobs(JobFilter(key=key), 2)
            assert (job.key, job.unique) == (key, True)
            twin = await put(engine, key=key)
            assert twin == job.id
            assert await put(engine, "other", owner=owner)
            assert owner in {j.owner for j in await engine.jobs(JobFilter(owner=owner), 2)}

        @settings(max_examples=100)
        @given(storable, storable)
        def check(key: str, owner: str) -> None:
            runner.run(round_trip(key, owner))

        check()
        runner.run(engine.close())
