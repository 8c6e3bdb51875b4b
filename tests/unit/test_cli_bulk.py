"""`penstock bulk`: what matches is told first, asked about, and only that is acted on."""

from __future__ import annotations

import io
from typing import Any

import pytest
from cli_kit import Run, loaded_shop, runner, work_off  # noqa: F401 - fixtures

from penstock import Penstock, matching


def fill(shop: Penstock, jobs: int = 3, **options: Any) -> None:
    with shop:
        task = shop.tasks["send_receipt"]
        shop.enqueue_many([task.using(**options).call(order_id=n) for n in range(jobs)])


def states(run: Run, *words: str) -> list[str]:
    return [job["state"] for job in run("jobs", "--json", *words).json]


def test_all_that_match_are_cancelled_and_no_others(run: Run, shop: Penstock) -> None:
    fill(shop)
    with shop:
        shop.tasks["fail"].enqueue(what="x")
    said = run("bulk", "cancel", "-q", "email", "--yes", "--reason", "a wrong price")
    assert (said.code, said.out.splitlines()[-1]) == (0, "3 jobs cancelled, or asked to stop.")
    assert states(run, "-q", "email") == ["cancelled"] * 3
    assert states(run, "-q", "default") == ["waiting"]
    assert run("audit", "--json").json[0]["why"] == "a wrong price"


def test_more_than_one_step_holds_is_done_to_the_end(
    run: Run, shop: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "PAGE", 2)
    monkeypatch.setattr(matching, "STEP", 2)
    fill(shop, 11)
    done = run("bulk", "cancel", "-q", "email", "--yes", "--json").json
    assert (done["matched"], done["done"], done["left"]) == (11, 11, 0)
    assert set(states(run)) == {"cancelled"}


def test_failed_jobs_come_back_and_delayed_ones_are_made_due(run: Run, shop: Penstock) -> None:
    with shop:
        shop.tasks["fail"].enqueue(what="x")
    work_off(shop)
    fill(shop, 2, delay=3600)
    assert run("bulk", "retry", "-s", "failed", "--yes").out.endswith("1 job will run again.\n")
    assert run("bulk", "promote", "--yes").out.endswith("2 jobs due now.\n")
    assert sorted(states(run)) == ["failed", "waiting", "waiting", "waiting"]


def test_nothing_is_done_before_somebody_says_yes(
    run: Run, shop: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(shop)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    refused = run("bulk", "cancel", "-q", "email")
    assert refused.code == 1
    assert "3 jobs matched at" in refused.out
    assert "Cancel 3 jobs? (--yes does not ask)" in refused.err
    assert run("bulk", "cancel", "--dry-run", "--json").json["matched"] == 3
    assert states(run) == ["waiting"] * 3


def test_a_state_that_the_action_is_not_for_is_refused_and_nothing_found_is_said(
    run: Run, shop: Penstock
) -> None:
    fill(shop)
    refused = run("bulk", "delete", "-s", "waiting", "--yes")
    assert (refused.code, states(run)) == (2, ["waiting"] * 3)
    assert "delete is for jobs that are completed or failed or cancelled, not waiting" in refused.err
    none = run("bulk", "delete", "--yes")
    assert (none.code, none.out) == (
        0,
        "No jobs match that delete is for: it is for those that are completed or failed or cancelled.\n",
    )


def test_jobs_are_found_and_acted_on_by_tag(run: Run, shop: Penstock) -> None:
    fill(shop)
    with shop:
        shop.tasks["fail"].using(tags=["spring"]).enqueue(what="x")
    assert [job["task"] for job in run("jobs", "--tag", "spring", "--json").json] == ["fail"]
    assert run("bulk", "cancel", "--tag", "spring", "--yes", "--json").json["done"] == 1
    assert sorted(states(run)) == ["cancelled", "waiting", "waiting", "waiting"]
