"""Strict JSON: what is accepted, what is refused, and by which name."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.errors import InvalidValue, ValueTooLarge
from penstock.model.values import MAX_DEPTH, MAX_DIGITS, dumps, dumps_scalars, loads

LIMIT = 10_000


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        1.5,
        -0.0,
        1e16,
        1e-300,
        "",
        "ção",
        "\u0000",
        "\u202eabc",
        [],
        {},
        {"a": [1, {"b": None}]},
    ],
)
def test_a_json_value_comes_back_equal(value):
    back = loads(dumps(value, LIMIT))
    assert back == value
    assert repr(back) == repr(value)


def test_text_is_compact_and_not_escaped_beyond_need():
    assert dumps({"a": [1, "é"]}, LIMIT) == '{"a":[1,"é"]}'


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        (1, 2),
        {1},
        b"bytes",
        object(),
        {1: "a"},
        {None: "a"},
        {"a": [{"b": math.nan}]},
        "\ud800",
        {"\udfff": 1},
    ],
)
def test_what_is_not_json_is_refused(value):
    with pytest.raises(InvalidValue):
        dumps(value, LIMIT)


def test_subclasses_are_refused_since_they_would_come_back_as_their_base():
    class Name(str):
        __slots__ = ()

    with pytest.raises(InvalidValue, match="Name"):
        dumps(Name("x"), LIMIT)


def test_the_message_names_what_was_given_and_never_its_content():
    with pytest.raises(InvalidValue, match=r"^args .* set, which is not JSON$") as refused:
        dumps({"user": {"tags": {"secret"}}}, LIMIT, "args")
    assert "secret" not in str(refused.value)


def test_depth_is_bounded():
    assert loads(dumps(nested(MAX_DEPTH), LIMIT)) == nested(MAX_DEPTH)
    with pytest.raises(ValueTooLarge, match="deeper than 64"):
        dumps(nested(MAX_DEPTH + 1), LIMIT)


@pytest.mark.parametrize("sign", [1, -1])
def test_digits_are_bounded(sign):
    widest = sign * (10**MAX_DIGITS - 1)
    assert loads(dumps(widest, LIMIT)) == widest
    with pytest.raises(ValueTooLarge, match="1000 digits"):
        dumps(sign * 10**MAX_DIGITS, LIMIT)


@pytest.mark.parametrize(("text", "size"), [("aaaa", 6), ("éé", 6)])
def test_size_is_measured_in_bytes_of_json(text, size):
    assert dumps(text, size)
    with pytest.raises(ValueTooLarge, match=f"is {size} bytes of JSON, over the limit of {size - 1}"):
        dumps(text, size - 1)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "[" * 100_000, "1" * 5_000])
def test_stored_text_that_is_not_strict_json_is_refused(text):
    with pytest.raises(InvalidValue, match="not strict JSON"):
        loads(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_every_json_value_round_trips(value):
    text = dumps(value, 10**9)
    assert loads(text) == value
    assert dumps(loads(text), 10**9) == text
    assert json.loads(text) == value


SCALARS = st.one_of(
    st.text(st.characters(exclude_categories=())),  # lone surrogates too
    st.integers(),
    st.sampled_from([10**MAX_DIGITS, 10**MAX_DIGITS - 1, -(10**MAX_DIGITS)]),
    st.floats(),
    st.booleans(),
    st.text(min_size=MAX_DIGITS),
)


def told(write, *given) -> tuple[type, str]:
    try:
        return str, write(*given)
    except InvalidValue as error:
        return type(error), str(error)


@given(st.dictionaries(st.text(), SCALARS, max_size=4))
def test_scalars_are_written_and_refused_as_any_value_is(value):
    assert told(dumps_scalars, LIMIT, "arguments", value) == told(dumps, value, LIMIT, "arguments")
