"""`penstock metrics` shows people and programs the same."""

from __future__ import annotations

import pytest
from cli_kit import Run, dead_letter, loaded_shop, runner  # noqa: F401 - fixtures

from penstock import Penstock


@pytest.fixture(autouse=True)
def counted(shop: Penstock, dead: str) -> None:
    """One job has failed, and its worker has told so."""


def test_a_table_says_what_each_queue_does(run: Run) -> None:
    said = run("metrics", columns=140)
    header, *rows, beside = said.out.splitlines()
    assert header.split()[:5] == ["queue", "waiting", "active", "delayed", "per"]
    assert [row.split()[0] for row in rows] == ["default", "email"]
    assert "100.0%" in rows[0]
    assert beside == "over the last 60 s; 0 workers, 1 dead letter"


def test_programs_get_every_measure(run: Run) -> None:
    found = run("metrics", "--json", "--queue", "default", "--last", "hour").json
    (queue,) = found["queues"]
    assert (queue["queue"], queue["error_rate"], queue["failed"], queue["dead_letters"]) == (
        "default",
        1.0,
        1,
        1.0,
    )
    assert (found["dlq_size"], found["relay_lag_s"], found["window_s"]) == (1, None, 3_600.0)
    assert [task["task"] for task in found["tasks"]] == ["fail"]


def test_tasks_can_be_told_one_by_one(run: Run) -> None:
    assert run("metrics", "--tasks").out.splitlines()[1].split()[:2] == ["default", "fail"]


def test_the_last_hour_can_be_looked_at_step_by_step(run: Run) -> None:
    points = run("metrics", "--last", "hour", "--series", "--json").json
    assert len(points) == 60
    assert sum(point["dead_letters"] for point in points) == 1
    assert len(run("metrics", "--last", "day", "--series").out.splitlines()) == 97
    assert run("metrics", "--last", "week", "--json").json["window_s"] == 604_800.0


def test_another_time_is_refused(run: Run) -> None:
    said = run("metrics", "--last", "year")
    assert (said.code, "hour, day or week" in said.err) == (2, True)
