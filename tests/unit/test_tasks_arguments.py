"""Arguments: every mistake at once, no value echoed, and what goes in comes back equal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr

from penstock.model.errors import InvalidArguments, InvalidOption, InvalidValue, ValueTooLarge
from penstock.tasks.arguments import Arguments
from penstock.tasks.problems import MOST
from penstock.tasks.signature import read_signature

SECRET = "s3cr3t-4111"


class Colour(Enum):
    RED = "red"


class Size(StrEnum):
    BIG = "big"


class Level(IntEnum):
    ONE = 1


class Line(BaseModel):
    sku: str
    count: int = Field(gt=0)


class Order(BaseModel):
    id: int
    lines: list[Line]


@dataclass
class Point:
    x: int
    y: float = 0.0


def _refuse(value: str) -> str:
    raise ValueError(f"bad card {value}")


def arguments(fn: Any, limit: int = 10_000) -> Arguments:
    return Arguments(fn.__name__, read_signature(fn), limit)


def problems(fn: Any, *args: Any, **kwargs: Any) -> dict[str, str]:
    with pytest.raises(InvalidArguments) as caught:
        arguments(fn).encode(args, kwargs)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return {p.argument: p.message for p in caught.value.problems}


def simple(order_id: int, to: str, note: str | None = None) -> None: ...
def listed(items: list[int]) -> None: ...
def looked_up(card: Annotated[int, BeforeValidator({"a": 1}.__getitem__)]) -> None: ...
def rich(
    at: datetime, day: date, gap: timedelta, who: UUID, colour: Colour, size: Size, order: Order,
    point: Point, price: Decimal, tags: set[str], pair: tuple[int, str], raw: bytes,
) -> None: ...  # fmt: skip


RICH = {
    "at": datetime(2026, 1, 5, 12, tzinfo=UTC), "day": date(2026, 1, 5), "gap": timedelta(seconds=90),
    "who": UUID(int=7), "colour": Colour.RED, "size": Size.BIG,
    "order": Order(id=1, lines=[Line(sku="a", count=2)]), "point": Point(1, 2.5), "price": Decimal("1.10"),
    "tags": {"b", "a"}, "pair": (1, "x"), "raw": b"\x00\xff",
}  # fmt: skip


def test_arguments_by_name_and_by_position_make_the_same_payload() -> None:
    codec = arguments(simple)
    by_name, values = codec.encode((), {"order_id": 7, "to": "ana"})
    assert by_name == '{"order_id":7,"to":"ana"}'
    assert values == {"order_id": 7, "to": "ana"}
    assert codec.encode((7, "ana"), {})[0] == by_name
    assert codec.encode((7,), {"to": "ana"})[0] == by_name


def test_what_is_not_given_is_left_to_the_handlers_default() -> None:
    assert arguments(simple).decode('{"order_id":7,"to":"ana"}') == {"order_id": 7, "to": "ana"}


def test_every_mistake_is_told_at_once() -> None:
    found = problems(simple, order_id=SECRET, tto="x", note=[SECRET])
    assert set(found) == {"order_id", "to", "tto", "note"}
    assert "valid integer" in found["order_id"]
    assert "missing" in found["to"]
    assert "did you mean 'to'?" in found["tto"]


def test_an_unknown_name_without_a_close_one_lists_what_there_is() -> None:
    assert "it takes order_id, to, note" in problems(simple, order_id=1, to="x", zzzzzz=1)["zzzzzz"]


def test_of_very_many_mistakes_some_are_told_in_little_time_and_few_words() -> None:
    arguments(listed).encode((), {"items": []})
    names = {f"order_{n:06}_id": 0 for n in range(30_000)}
    for fn, named in ((simple, names), (simple, {"order_id" * 100_000: 0}), (listed, {"items": ["x"] * 300})):
        found = problems(fn, **named)
        assert 1 <= len(found) <= MOST + 1
        assert sum(len(place) + len(told) for place, told in found.items()) < 10_000
    assert problems(listed, items=["x"] * 10_000).keys() == {"arguments"}


def test_a_validator_that_raises_anything_is_a_mistake_and_its_words_are_not_repeated() -> None:
    with pytest.raises(InvalidArguments) as caught:
        arguments(looked_up).encode((), {"card": "CANARY"})
    assert "KeyError" in str(caught.value)
    assert "CANARY" not in str(caught.value)
    assert caught.value.__context__ is None, "and it does not travel along"


def test_positional_mistakes_are_told() -> None:
    assert "at most 3" in problems(simple, 1, "a", "b", "c")["arguments"]
    assert "give it once" in problems(simple, 1, "a", order_id=1)["order_id"]


def test_nested_mistakes_name_the_place_and_not_the_data() -> None:
    def handler(order: Order, prices: dict[str, int]) -> None: ...

    bad = {"id": 1, "lines": [{"sku": "a", "count": 1}, {"sku": "b", "count": SECRET}]}
    found = problems(handler, order=bad, prices={SECRET: "x"})
    assert set(found) == {"order.lines[1].count", "prices"}


def test_messages_of_validators_are_not_repeated() -> None:
    def handler(
        card: Annotated[str, AfterValidator(_refuse)],
        who: UUID,
        kind: Literal["a", "b"],
        n: Annotated[int, Field(gt=5)],
    ) -> None: ...

    found = problems(handler, card=SECRET, who=SECRET, kind=SECRET, n=1)
    assert found["card"] == "is not accepted by its type; see the task's signature"
    assert found["kind"] == "should be 'a' or 'b'"
    assert found["n"] == "should be greater than 5"
    assert "who" in found


def test_rich_values_come_back_equal_and_of_the_same_type() -> None:
    codec = arguments(rich)
    text, _ = codec.encode((), RICH)
    back = codec.decode(text)
    assert back == RICH
    assert {name: type(value) for name, value in back.items()} == {n: type(v) for n, v in RICH.items()}


def test_subclasses_of_plain_types_travel_as_the_plain_type() -> None:
    def handler(text: str, number: int, anything: Any) -> None: ...

    codec = arguments(handler)
    text, _ = codec.encode((), {"text": Size.BIG, "number": Level.ONE, "anything": Size.BIG})
    assert codec.decode(text) == {"text": "big", "number": 1, "anything": "big"}


def test_a_value_that_would_come_back_changed_is_refused() -> None:
    def handler(secret: SecretStr, when: str | datetime, line: Line, anything: Any) -> None: ...

    class Longer(Line):
        extra: str = "x"

    now = datetime(2026, 1, 5, tzinfo=UTC)
    found = problems(handler, secret=SECRET, when=now, line=Longer(sku="a", count=1), anything=now)
    assert set(found) == {"secret", "when", "line", "anything"}
    assert all("come back equal" in message for message in found.values())


def test_what_json_cannot_hold_is_refused() -> None:
    def handler(x: float, y: Any = None) -> None: ...

    with pytest.raises(InvalidValue):
        arguments(handler).encode((), {"x": float("nan")})
    with pytest.raises(InvalidValue):
        arguments(handler).encode((), {"x": 1.0, "y": object()})


def test_a_payload_over_the_limit_is_refused() -> None:
    with pytest.raises(ValueTooLarge, match="pass a reference"):
        arguments(simple, limit=100).encode((), {"order_id": 1, "to": "x" * 200})


def test_a_stored_payload_that_no_longer_fits_is_told_by_name() -> None:
    with pytest.raises(InvalidArguments) as caught:
        arguments(simple).decode(f'{{"order_id":"{SECRET}","was":1}}')
    assert {p.argument for p in caught.value.problems} == {"order_id", "to", "was"}
    assert SECRET not in str(caught.value)


def test_a_stored_payload_that_is_not_json_is_an_invalid_value() -> None:
    with pytest.raises(InvalidValue, match="not JSON"):
        arguments(simple).decode("{nope")


def test_a_type_that_cannot_travel_is_refused_when_first_used() -> None:
    class Handle: ...

    def handler(x: Handle) -> None: ...

    handler.__annotations__["x"] = Handle
    with pytest.raises(InvalidOption, match="cannot travel as JSON"):
        arguments(handler).encode((), {"x": Handle()})


def test_the_fingerprint_follows_the_payload_and_nothing_else() -> None:
    def build(annotation: Any, default: Any = ..., doc: str = "") -> str:
        if default is ...:

            def handler(x) -> None: ...
        else:

            def handler(x=default) -> None: ...

        handler.__annotations__["x"] = annotation
        handler.__doc__ = doc
        return arguments(handler).fingerprint

    assert build(int) == build(int, doc="told otherwise")
    assert len({build(int), build(str), build(int, 5), build(int | None), build(Order), build(Line)}) == 6
    assert build(int, 5) == build(int, 6)


def test_the_schema_names_what_is_required() -> None:
    schema = arguments(simple).schema
    assert schema["required"] == ["order_id", "to"]
    assert schema["additionalProperties"] is False


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(_json)
def test_any_json_value_comes_back_equal(value: Any) -> None:
    def handler(n: int, x: Any) -> None: ...

    codec = arguments(handler, limit=1_000_000)
    assert codec.decode(codec.encode((1, value), {})[0]) == {"n": 1, "x": value}


def test_the_description_tells_the_defaults_but_no_secret_and_the_fingerprint_stays() -> None:
    def fn(
        order: int,
        copies: int = 2,
        how: Size = Size.BIG,
        when: date | None = None,
        pin: str = "1234",
        password: str = SECRET,
        worst: float = float("inf"),
    ) -> None: ...

    arguments = Arguments("send", read_signature(fn), 10_000)
    before = arguments.fingerprint
    told = arguments.described(hidden={"pin"})["properties"]
    assert {name: shape["default"] for name, shape in told.items() if "default" in shape} == {
        "copies": 2,
        "how": "big",
        "when": None,
    }
    assert arguments.fingerprint == before
