"""`penstock doctor`: what is wrong, what to do about it, and whether a worker would start."""

from __future__ import annotations

import re

import pytest
from cli_kit import Run, runner  # noqa: F401 - fixtures

from penstock.engine import Finding, Level
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import EngineUnavailable

EVICTS = Finding("eviction", Level.UNSAFE, "keys may be evicted")
NO_SCHEMA = Finding("schema", Level.UNUSABLE, "run `penstock migrate`")
SLOW = Finding("clock", Level.WARNING, "the clock is slow")


@pytest.fixture(name="found")
def findings(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What an examination finds in this test."""
    found: list[Finding] = []

    async def examine(_: SqliteEngine) -> list[Finding]:
        return found

    monkeypatch.setattr(SqliteEngine, "examine", examine)
    return found


def test_a_new_file_is_well(run: Run) -> None:
    said = run("doctor")
    assert (said.code, said.err) == (0, "")
    assert re.search(r"is on a local disk( \(\w+\))?\n", said.out)  # whole, however long the path
    assert run("doctor", "--json").json["safe"] is True


def test_what_can_be_accepted_is_told_by_the_variable_that_accepts_it(
    run: Run, found: list[Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    found[:] = [EVICTS]
    said = run("doctor")
    assert said.code == 1
    assert "PENSTOCK_ACCEPT_UNSAFE=eviction" in said.out
    monkeypatch.setenv("PENSTOCK_ACCEPT_UNSAFE", "eviction")
    import sys

    sys.modules.pop("cli_shop")
    assert run("doctor").code == 0


def test_what_cannot_be_accepted_is_never_offered_for_it(run: Run, found: list[Finding]) -> None:
    found[:] = [NO_SCHEMA]
    said = run("doctor")
    assert said.code == 1
    assert "Mend schema." in said.out
    assert "ACCEPT" not in said.out
    found[:] = [NO_SCHEMA, EVICTS]
    assert "Mend schema. Mend eviction, or accept: PENSTOCK_ACCEPT_UNSAFE=eviction" in run("doctor").out
    assert run("doctor", "--json").json["safe"] is False


def test_a_warning_counts_only_where_asked(run: Run, found: list[Finding]) -> None:
    found[:] = [SLOW]
    assert run("doctor").code == 0
    assert run("doctor", "--strict").code == 1


def test_an_engine_that_is_away_is_a_finding_with_its_advice(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: SqliteEngine) -> list[Finding]:
        raise EngineUnavailable("cannot connect to db:5432/jobs: connection refused")

    monkeypatch.setattr(SqliteEngine, "examine", away)
    said = run("doctor")
    told = " ".join(said.out.split())
    assert (said.code, said.err) == (3, "")
    assert "unreachable cannot connect to db:5432/jobs: connection refused; start it, or mend" in told
    assert "Workers refuse" not in told
    found = run("doctor", "--json")
    assert (found.code, found.json["safe"]) == (3, False)
    assert found.json["findings"][0]["name"] == "unreachable"
