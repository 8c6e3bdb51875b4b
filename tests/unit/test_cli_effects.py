"""The ledger of effects on the command line."""

from __future__ import annotations

import pytest
from cli_kit import Run, loaded_shop, runner  # noqa: F401 - fixtures

from penstock import Penstock
from penstock.engine import Effect

JOB = "01a1e133-183e-726a-a254-c5b487689627"


@pytest.fixture
def recorded(shop: Penstock) -> None:
    with shop:
        block = shop.transactions.own().begin(30.0)
        for task, key, name in (
            ("pay", "order 7", "charge"),
            ("pay", "order 7", "mail"),
            ("refund", "8", "mail"),
        ):
            shop.transactions.own().on_lent.once(block.lent, Effect(task, key, name, JOB, 86_400.0))
        block.commit()


def found(run: Run, *words: str) -> list[tuple[str, str, str]]:
    return [(each["task"], each["key"], each["name"]) for each in run("effects", *words, "--json").json]


@pytest.mark.usefixtures("recorded")
def test_effects_are_listed_and_searched(run: Run) -> None:
    said = run("effects").out
    assert all(text in said for text in ("order 7", "charge", "refund", "s ago", "in ")), said
    assert len(found(run)) == 3
    assert found(run, "--task", "refund") == [("refund", "8", "mail")]
    assert found(run, "--key", "order 7", "--name", "mail") == [("pay", "order 7", "mail")]
    assert found(run, "--name", "nothing") == []
    [first, *_] = run("effects", "--json").json
    assert (first["job_id"], set(first)) == (
        JOB,
        {"task", "key", "name", "job_id", "first_at", "expires_at"},
    )


@pytest.mark.usefixtures("recorded")
def test_a_page_says_how_to_ask_for_the_next(run: Run) -> None:
    assert "--after pay 'order 7' mail" in run("effects", "-n", "2").out
    assert found(run, "--after", "pay", "order 7", "mail") == [("refund", "8", "mail")]


def test_no_effects_teaches_where_they_may_be(run: Run) -> None:
    assert "--database URL" in " ".join(run("effects").out.split())


def test_without_an_outbox_it_says_what_to_name_instead(run: Run) -> None:
    said = run("effects", "plan")
    assert said.code == 2
    assert "--database URL, or the kind of SQL, --dialect postgresql or sqlite" in " ".join(said.err.split())
    assert "create table" in run("effects", "plan", "--dialect", "sqlite").out
    for verb in ("apply", "prune"):
        told = " ".join(run("effects", verb).err.split())
        assert "--database URL" in told
        assert "--dialect" not in told
