"""A part of a verb that may be undone: what it counts is taken over whole, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from penstock.engines.sqlite.session import Tx


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


def count_everything(tx: Tx, queue: str = "q") -> None:
    """An end of each kind: into a queue, a limited lane and a parked one, onto a shelf, and to the dead."""
    for lane in (queue, f"{queue}>task", f"{queue}?task"):
        tx.count(queue, "active", lane, -1)
        tx.count(queue, "waiting", lane, 1)
    tx.count_dead(queue, 1)
    tx.shelve(queue, "completed", "@nightly", 1)


def counted(tx: Tx) -> dict[str, Any]:
    told = ("pending", "woken", "lanes", "ran", "_parked", "_shelves")
    return {name: getattr(tx, name) for name in told}


def test_what_a_part_has_counted_is_taken_over_whole(connection):
    whole, verb = Tx(connection, None, 0), Tx(connection, None, 0)
    count_everything(whole)
    assert all(counted(whole).values())
    count_everything(whole)
    count_everything(whole, "other")
    count_everything(verb)
    part = verb.part()
    count_everything(part)
    count_everything(part, "other")
    verb.absorb(part)
    assert counted(verb) == counted(whole)


def test_what_a_part_has_counted_that_is_undone_is_counted_nowhere(connection):
    verb = Tx(connection, None, 0)
    count_everything(verb.part())
    assert not any(counted(verb).values())
