"""Flows on the command line, and giving a job another time."""

from __future__ import annotations

import pytest
from cli_kit import Run, loaded_shop, runner, work_off  # noqa: F401 - fixtures

from penstock import Penstock
from penstock.cli.common import seconds
from penstock.model.errors import InvalidOption

NOBODY = "01a1e133-183e-726a-a254-c5b487689627"


@pytest.fixture
def flow(shop: Penstock) -> str:
    made = shop.flow("order-7")
    first = made.add(shop.tasks["send_receipt"].call(order_id=7))
    bad = made.add(shop.tasks["fail"].call(what="luck"), after=[first])
    made.add(shop.tasks["send_receipt"].call(order_id=8), after=[first, bad])
    with shop:
        return made.enqueue().id


def test_a_flow_is_shown_as_a_tree_with_states(run: Run, flow: str) -> None:
    assert (
        run("flow", flow).out
        == """\
order-7  3 jobs to go
└─ send_receipt  ◦ waiting
   ├─ fail  ⛓ blocked
   └─ send_receipt  ⛓ blocked  (after send_receipt, fail)
"""
    )


def test_a_flow_that_has_ended_tells_times_and_why_it_failed(run: Run, shop: Penstock, flow: str) -> None:
    work_off(shop)
    said = run("flow", flow).out.splitlines()
    assert said[0] == "order-7  ended"
    assert "✓ completed" in said[1]
    assert said[1].split("  ")[-1].endswith(" s")
    assert "✕ failed" in said[2]
    assert "⊘ cancelled" in said[3]
    failed = next(job for job in run("flow", flow, "--json").json["jobs"] if job["state"] == "failed")
    assert said[-1].strip() == f"Why fail failed: penstock job {failed['id']}"


def test_a_recovered_job_stands_before_those_who_wait_for_it(run: Run, shop: Penstock) -> None:
    made = shop.flow("order-7")
    first = made.add(shop.tasks["send_receipt"].call(order_id=7))
    bad = made.add(shop.tasks["fail"].call(what="luck"), after=[first])
    made.add(shop.tasks["send_receipt"].call(order_id=8), after={bad: "wait"})
    with shop:
        flow = made.enqueue()
    work_off(shop)
    run("dlq", "recover", flow[bad].id)
    told = run("flow", flow.id).out.splitlines()
    assert [line.split("─ ")[-1].split("  ")[0] for line in told[1:]] == [
        "send_receipt", "fail", "fail", "send_receipt",
    ]  # fmt: skip
    assert told[2].endswith("recovered")
    assert told[3].startswith("   └─ fail  ◦ waiting")
    assert told[4].startswith("      └─ send_receipt  ⛓ blocked")


def test_a_flow_as_json_has_its_jobs(run: Run, flow: str) -> None:
    found = run("flow", flow, "--json").json
    assert (found["id"], found["name"], found["unfinished"]) == (flow, "order-7", 3)
    first, second, third = found["jobs"]
    assert third["after"] == third["blocked_by"] == [first["id"], second["id"]]
    assert {job["flow"] for job in found["jobs"]} == {flow}


def test_flows_are_listed(run: Run, flow: str) -> None:
    said = run("flows")
    assert flow in said.out
    assert "3 jobs to go" in said.out
    assert "order-7" in said.out
    assert [found["id"] for found in run("flows", "--json").json] == [flow]
    assert f"--after {flow}" in run("flows", "-n", "1").out
    assert run("flows", "--after", flow, "--json").json == []


def test_no_flows_teaches_how_to_make_one(run: Run) -> None:
    assert "app.flow(NAME)" in run("flows").out


@pytest.mark.parametrize("words", [("flow", NOBODY), ("flow", "nonsense"), ("cancel", "--flow", NOBODY)])
def test_a_flow_that_is_not_there_is_refused(run: Run, words: tuple[str, ...]) -> None:
    run("flows")
    said = run(*words)
    assert said.code == 1
    assert "there is no flow" in said.err


def test_a_page_of_flows_begins_after_a_flow(run: Run) -> None:
    said = run("flows", "--after", "nonsense")
    assert (said.code, "is not the id of a flow" in said.err) == (2, True)


def test_a_whole_flow_can_be_cancelled(run: Run, flow: str) -> None:
    said = run("cancel", "--flow", flow, "--reason", "not wanted")
    assert said.out == "3 jobs cancelled.\n"
    assert {job["note"] for job in run("flow", flow, "--json").json["jobs"]} == {"not wanted"}
    again = run("cancel", "--flow", flow)
    assert (again.code, "have ended already" in again.err) == (1, True)


def test_a_cancelled_flow_as_json(run: Run, flow: str) -> None:
    assert run("cancel", "--flow", flow, "--json").json == {
        "flow_id": flow, "cancelled": 3, "stopping": 0,
    }  # fmt: skip


def test_a_job_tells_its_flow_for_whom_it_waits_and_its_steps(run: Run, flow: str) -> None:
    last = run("flow", flow, "--json").json["jobs"][2]
    said = run("job", last["id"]).out
    assert f"penstock flow {flow}" in said
    assert f"waits for      {', '.join(last['blocked_by'])}" in said
    assert run("job", last["id"], "--json").json["steps"] == {}


# -- another time -------------------------------------------------------------------------------------


def enqueue(shop: Penstock, delay: float = 0.0) -> str:
    with shop:
        return shop.tasks["send_receipt"].using(delay=delay).enqueue(order_id=1).id


def state(run: Run, job_id: str) -> str:
    return str(run("job", job_id, "--json").json["state"])


def test_a_job_is_rescheduled(run: Run, shop: Penstock) -> None:
    job = enqueue(shop)
    said = run("reschedule", job, "--in", "2h")
    assert (said.code, said.err) == (0, "")
    assert "(in 2h)." in said.out
    assert state(run, job) == "delayed"
    assert run("reschedule", job, "--in", "0", "--json").json["state"] == "waiting"


def test_a_delayed_job_is_promoted(run: Run, shop: Penstock) -> None:
    job = enqueue(shop, delay=600)
    assert run("promote", job).out == "Due now.\n"
    assert state(run, job) == "waiting"
    assert run("promote", enqueue_again(shop), "--json").json["state"] == "waiting"


def enqueue_again(shop: Penstock) -> str:
    with shop:
        return shop.tasks["send_receipt"].using(delay=600).enqueue(order_id=2).id


@pytest.mark.parametrize(
    ("verb", "told"),
    [
        (("promote",), "only a delayed job can be made due"),
        (("reschedule", "--in", "60"), "only a waiting or delayed job can be rescheduled"),
    ],
)
def test_a_job_that_has_ended_gets_no_other_time(
    run: Run, shop: Penstock, verb: tuple[str, ...], told: str
) -> None:
    job = enqueue(shop)
    work_off(shop)
    said = run(verb[0], job, *verb[1:])
    assert said.code == 1
    assert told in said.err
    assert "retried" not in said.err
    assert "ended as completed" in said.err


def test_a_job_that_is_not_there_gets_no_other_time(run: Run) -> None:
    run("jobs")
    assert run("promote", NOBODY).code == 1
    assert run("reschedule", NOBODY, "--in", "60").code == 1


def test_a_time_that_cannot_be_read_is_wrong_use(run: Run, shop: Penstock) -> None:
    said = run("reschedule", enqueue(shop), "--in", "soon")
    assert (said.code, "write 60, 30s" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "length"), [("60", 60), ("0", 0), ("30s", 30), ("15m", 900), ("7d", 604_800)]
)
def test_lengths_of_time(text: str, length: float) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize("text", ["", "m", "-5", "1.5h", "5w", "9" * 10])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(InvalidOption):
        seconds(text)
