"""The command line shows a job that another program wrote badly; it never fails for one row."""

from __future__ import annotations

from cli_kit import Run, loaded_shop, runner, work_off  # noqa: F401 - fixtures

from penstock import Penstock
from penstock.model.job import NewJob
from penstock.tasks.ids import new_id

BAD = {"args": "no json", "options": "nor this"}


def put_in(shop: Penstock) -> str:
    job = NewJob(new_id(), "default", "fail", **BAD)
    with shop:
        shop.run_on_engine(lambda engine: engine.enqueue([job]), "aenqueue")
    return job.id


def test_a_job_whose_arguments_are_not_json_is_listed_and_shown(run: Run, shop: Penstock) -> None:
    job_id = put_in(shop)
    assert job_id in run("jobs").out
    assert run("jobs", "--json").json[0]["args"] == "no json"
    assert "no json" in run("job", job_id).out
    assert run("job", job_id, "--json").json["args"] == "no json"


def test_its_dead_letter_is_listed_and_shown_too(run: Run, shop: Penstock) -> None:
    job_id = put_in(shop)
    work_off(shop)
    assert job_id in run("dlq").out
    assert "no json" in run("dlq", "show", job_id).out
    found = run("dlq", "show", job_id, "--json").json["job"]
    assert (found["args"], found["options"]) == ("no json", "nor this")
    assert "invalid-input" in run("dlq", "list").out


def test_nothing_that_somebody_stored_steers_the_terminal_or_makes_a_line_of_its_own(
    run: Run, shop: Penstock
) -> None:
    nasty = "k\x1b]0;OWNED\x07\x9b31m\nFORGED\u202e"
    with shop:
        job_id = shop.tasks["fail"].using(key=nasty, owner=nasty).enqueue(what="x").id
    run("cancel", job_id, "--reason", nasty)
    for words in (("jobs",), ("job", job_id), ("why", job_id), ("audit",), ("history",)):
        for more in ((), ("--json",)):
            out = run(*words, *more).out
            assert all(line.isprintable() for line in out.split("\n")), words
            assert not any(line.startswith("FORGED") for line in out.split("\n")), words
