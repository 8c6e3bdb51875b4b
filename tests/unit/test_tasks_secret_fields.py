"""Secret fields of records: found at any depth, shown nowhere, and handlers get them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NamedTuple, NewType, NotRequired, TypeVar

import pytest
from pydantic import AliasChoices, BaseModel, Field, RootModel
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType, TypedDict

from penstock import InvalidOption, Penstock, Secret, Unrecoverable
from penstock.model.redaction import MASK

T = TypeVar("T")
CANARY = "4111-1111"


class Card(BaseModel):
    number: Annotated[str, Secret]
    holder: str = "ana"


class Named(BaseModel):
    number: Annotated[str, Secret, Field(validation_alias=AliasChoices("no", "number"))]


class Tree(BaseModel):
    pin: Annotated[str, Secret]
    children: list[Tree] = []


@dataclass
class Account:
    card: Card | None
    name: str = "x"


@pydantic_dataclass
class Checked:
    number: Annotated[str, Secret]


class Wallet(TypedDict):
    cards: NotRequired[dict[str, list[Card]]]


class Pair(NamedTuple):
    user: str
    code: Annotated[str, Secret]


class Box(BaseModel, Generic[T]):
    item: T


@dataclass
class Crate(Generic[T]):
    item: list[T]


Cards = RootModel[list[Card]]
Pin = NewType("Pin", Card)
Many = TypeAliasType("Many", list[Card])
Endless = TypeAliasType("Endless", "list[Endless | Card]")  # type: ignore[misc]

CARD = {"number": CANARY, "holder": "ana"}


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (Card, CARD, ["it.number"]),
        (Card | None, CARD, ["it.number"]),
        (Named, {"number": CANARY}, ["it.no", "it.number"]),
        (Tree, {"pin": "0", "children": [{"pin": CANARY, "children": []}]}, ["it.pin"]),
        (Account, {"card": CARD, "name": "x"}, ["it.card.number"]),
        (Checked, {"number": CANARY}, ["it.number"]),
        (Wallet, {"cards": {"first": [CARD]}}, ["it.cards.number"]),
        (Pair, ["ana", CANARY], ["it"]),
        (Box[Card], {"item": CARD}, ["it.item.number"]),
        (Crate[Card], {"item": [CARD]}, ["it.item.number"]),
        (Cards, [CARD], ["it.number"]),
        (Many, [CARD], ["it.number"]),
        (Endless, [[], [CARD]], ["it.number"]),
        (Pin, CARD, ["it.number"]),
        (list[Card | Tree], [CARD], ["it.number", "it.pin"]),
        (tuple[int, Annotated[str, Secret]], [1, CANARY], ["it"]),
    ],
)
async def test_marked_fields_are_not_shown_wherever_they_are(kind: Any, given: Any, told: list[str]) -> None:
    app = Penstock("sqlite:///:memory:")
    got: list[Any] = []

    async def take(it: Any) -> None:
        got.append(it)
        raise Unrecoverable(f"refused: {it!r} {CANARY}")

    take.__annotations__["it"] = kind
    task = app.task(take)
    (row,) = app.registry.catalogue()
    assert row["secret"] == told
    async with app:
        handle = await task.aenqueue(it=given)
        await app.worker().run(burst=True)
        letter = await app.ops.dead_letter(handle.id)
        seen = await app.ops.job(handle.id)
        assert CANARY in repr(got)
        assert CANARY not in repr(letter)
        assert CANARY not in repr(seen)
        assert MASK in letter.args_json
        assert CANARY in (await app.ops_as(None, reveal=True).dead_letter(handle.id)).args_json


def test_the_catalogue_marks_secret_fields_and_tells_no_defaults_of_them() -> None:
    class Login(BaseModel):
        code: Annotated[str, Secret] = CANARY

    async def sign_in(login: Any = Login()) -> None: ...  # noqa: B008

    sign_in.__annotations__["login"] = Login
    app = Penstock("sqlite:///:memory:")
    app.task(sign_in)
    (row,) = app.registry.catalogue()
    code = row["payload"]["$defs"]["Login"]["properties"]["code"]
    assert (code["writeOnly"], code["x-secret"]) == (True, True)
    assert CANARY not in json.dumps(row)


def test_that_a_field_is_secret_does_not_change_what_fits() -> None:
    def fingerprint(kind: Any) -> str:
        class Login(BaseModel):
            code: kind

        async def sign_in(login: Any) -> None: ...

        sign_in.__annotations__["login"] = Login
        return Penstock("sqlite:///:memory:").task(sign_in).fingerprint

    assert fingerprint(str) == fingerprint(Annotated[str, Secret])


def test_an_argument_with_a_secret_field_cannot_be_searched_by() -> None:
    app = Penstock("sqlite:///:memory:")

    async def pay(card: Card) -> None: ...

    with pytest.raises(InvalidOption, match="card"):
        app.task(searchable="card")(pay)


def test_a_type_that_is_completed_later_is_read_then() -> None:
    class Later(BaseModel):
        card: Card2  # type: ignore[name-defined]  # noqa: F821

    async def pay(it: Any) -> None: ...

    pay.__annotations__["it"] = Later
    app = Penstock("sqlite:///:memory:")
    task = app.task(pay)
    Later.model_rebuild(_types_namespace={"Card2": Card})
    assert task.privacy.paths == ["it.card.number"]


async def test_masks_in_changed_arguments_stand_for_what_is_stored() -> None:
    app = Penstock("sqlite:///:memory:")

    @app.task
    async def pay(card: Card, more: list[Card], password: str) -> None:
        raise Unrecoverable("no")

    async with app:
        cards = [Card(number="1"), Card(number="2")]
        job = await pay.aenqueue(card=Card(number=CANARY), more=cards, password="hunter2")
        await app.worker().run(burst=True)
        shown = (await app.ops.dead_letter(job.id)).args
        assert shown["card"] == {"number": MASK, "holder": "ana"}
        assert shown["password"] == MASK, "by its name, though nobody declared it"
        shown["card"]["holder"] = "eve"
        with pytest.raises(InvalidOption, match=r"'more\.number' is masked"):
            await app.ops.recover(job.id, {**shown, "more": [{"number": MASK, "holder": "another"}]})
        done = await app.ops.recover(job.id, shown)
        made = await app.engine.get(done.job_id)
        assert made is not None
        assert made.args == {
            "card": {"number": CANARY, "holder": "eve"},
            "more": [{"number": "1", "holder": "ana"}, {"number": "2", "holder": "ana"}],
            "password": "hunter2",
        }


def test_where_types_cannot_be_read_errors_are_cleaned_of_all_arguments() -> None:
    app = Penstock("sqlite:///:memory:")

    def pay(card: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - that is the point

    task = app.task(pay)
    assert task.cleaner(json.dumps({"card": CANARY}))(f"bad card {CANARY}") == f"bad card {MASK}"
