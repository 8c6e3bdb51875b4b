"""Results: written as JSON, read as the declared type; an unkeepable one never undoes the work."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, model_serializer

from penstock.model.errors import ResultUnavailable
from penstock.tasks.results import Results
from penstock.tasks.signature import read_signature


class Receipt(BaseModel):
    id: int
    at: datetime


class Connection: ...


def results(returns: Any, limit: int = 1_000) -> Results:
    def handler(): ...

    handler.__annotations__["return"] = returns
    return Results("handler", read_signature(handler), limit)


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        (str, "x"),
        (dict[str, int], {"a": 1}),
        (None, None),
        (Receipt, Receipt(id=1, at=datetime(2026, 1, 5, tzinfo=UTC))),
        (list[Receipt], [Receipt(id=1, at=datetime(2026, 1, 5, tzinfo=UTC))]),
        (tuple[int, str], (1, "a")),
        (Any, {"free": ["form", 1.5, None]}),
    ],
)
def test_a_result_comes_back_as_its_declared_type(returns: Any, value: Any) -> None:
    codec = results(returns)
    text, dropped = codec.encode(value)
    assert dropped is None
    assert codec.decode(text) == value


def test_a_result_that_is_too_large_is_dropped_with_the_reason() -> None:
    text, dropped = results(str, limit=10).encode("x" * 100)
    assert text is None
    assert dropped is not None
    assert "over the limit" in dropped


@pytest.mark.parametrize(
    ("returns", "value"),
    [(Any, object()), (Receipt, "not one"), (Connection, Connection()), (float, float("inf"))],
)
def test_a_result_that_is_not_json_is_dropped_with_the_reason(returns: Any, value: Any) -> None:
    text, dropped = results(returns).encode(value)
    assert text is None
    assert dropped


def test_a_stored_result_that_does_not_fit_says_so() -> None:
    with pytest.raises(ResultUnavailable, match="return type"):
        results(int).decode('"text"')
    with pytest.raises(ResultUnavailable):
        results(int).decode(None)


class Unwritable(BaseModel):
    """Its serialiser breaks."""

    @model_serializer
    def write(self) -> dict[str, Any]:
        raise KeyError("secret")


def circular() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["self"] = [made]
    return made


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        (Any, circular()),
        (dict[str, Any], circular()),
        (dict[str, object], circular()),
        (Unwritable, Unwritable()),
    ],
)
def test_a_result_that_cannot_be_written_is_dropped_with_the_reason(returns: Any, value: Any) -> None:
    text, dropped = results(returns).encode(value)
    assert text is None
    assert dropped
    assert "secret" not in dropped


@pytest.mark.parametrize("returns", ["OnlyForTheChecker", "1 / 0", "list["])
def test_a_return_type_that_cannot_be_read_keeps_what_is_json_by_itself(returns: str) -> None:
    codec = results(returns)
    text, dropped = codec.encode({"a": 1})
    assert (text, dropped) == ('{"a":1}', None)
    assert codec.decode(text) == {"a": 1}
    assert results(returns).encode(object())[0] is None
