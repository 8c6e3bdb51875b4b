"""The form that the dashboard makes of a task's signature: its words, its examples, and what typing means."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from ui_kit import run

from penstock import Penstock


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    number: int = 1


class Card(BaseModel):
    kind: Literal["card"]
    digits: str


class Bank(BaseModel):
    kind: Literal["bank"]
    iban: str


def schema() -> dict[str, Any]:
    app = Penstock("sqlite:///:memory:")

    @app.task
    async def tricky(
        colour: Colour,
        to: Address,
        how: Annotated[Card | Bank, Field(discriminator="kind")],
        at: datetime,
        name: str,
        day: date | None = None,
        either: int | str = "x",
        price: Decimal = Decimal("1.50"),
        wanted: bool = True,
        note: str = "hello",
        lines: list[int] | None = None,
        places: list[Address] | None = None,
        anything: Any = None,
    ) -> None: ...

    (row,) = app.registry.catalogue()
    return dict(row["payload"])


def asked(script: str) -> Any:
    setup = f"const fields = Object.fromEntries(m.fieldsOf({json.dumps(schema())}).map((f) => [f.name, f]));"
    return run("lib/schema", f"{setup} {script}")


def test_fields_say_in_words_what_they_take_what_stands_for_them_and_what_they_are_made_of() -> None:
    fields = asked("return fields;")
    told = {name: (field["kind"], field["type"]) for name, field in fields.items()}
    assert told == {
        "colour": ("choice", "one of a few"),
        "to": ("json", "Address"),
        "how": ("json", "Card or Bank"),
        "at": ("text", "date and time"),
        "name": ("text", "text"),
        "day": ("date", "date"),
        "either": ("either", "whole number or text"),
        "price": ("either", "number or text"),
        "wanted": ("boolean", "true or false"),
        "note": ("text", "text"),
        "lines": ("json", "list of whole number"),
        "places": ("json", "list of Address"),
        "anything": ("json", "any JSON"),
    }
    assert {name: field["fallback"] for name, field in fields.items() if field.get("fallback")} == {
        **dict.fromkeys(("day", "lines", "places", "anything"), "null"),
        "either": '"x"',
        "price": '"1.50"',
        "wanted": "true",
        "note": '"hello"',
    }
    assert json.loads(fields["to"]["example"]) == {"street": "", "number": 1}
    assert json.loads(fields["how"]["example"]) == {"kind": "card", "digits": ""}
    assert json.loads(fields["places"]["example"]) == [{"street": "", "number": 1}]
    assert [part["of"] for part in fields["how"]["parts"]] == ["Card", "Bank"]
    assert fields["to"]["parts"][0]["fields"] == [
        {"name": "street", "type": "text", "required": True},
        {"name": "number", "type": "whole number", "required": False},
    ]


def test_what_is_typed_becomes_the_value_that_is_meant() -> None:
    typed = [
        *(("either", "abc"), ("either", "12"), ("either", '"12"'), ("price", "1.10"), ("note", '""')),
        *(("note", ""), ("name", ""), ("at", ""), ("lines", "[1, 2]"), ("day", "")),
    ]
    seen = asked(
        f"return {json.dumps(typed)}.map(([name, text]) => m.valueOf(text, fields[name]) ?? 'left out');"
    )
    assert seen == ["abc", 12, "12", "1.10", "", "left out", "", "left out", [1, 2], "left out"]
    refused = "try { m.valueOf('street', fields.to); } catch (error) { return error.message; }"
    assert asked(refused) == 'is not JSON: Address, such as { "street": "", "number": 1 }'
