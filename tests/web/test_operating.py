"""What operators do over HTTP: dead letters, queues, schedules, breakers, flows; and the log of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.engine import WorkerInfo
from web.kit import Shop


async def actions(shop: Shop) -> list[tuple[str, str, str, str]]:
    entries = (await shop.ask("GET", "/audit?limit=200")).json()["entries"]
    return [(e["who"], e["action"], e["target"], e["outcome"]) for e in entries]


# -- dead letters --------------------------------------------------------------------------
async def test_a_dead_letter_is_shown_without_payload_and_traceback_but_to_those_who_may(shop: Shop) -> None:
    dead = await shop.dead("ana")
    listed = (await shop.ask("GET", "/dead-letters", "ana")).json()["dead_letters"]
    assert [letter["job_id"] for letter in listed] == [dead]
    seen = (await shop.ask("GET", f"/dead-letters/{dead}", "ana")).json()
    assert (seen["reason"], seen["error"]) == ("unrecoverable", "Unrecoverable: no such order")
    assert not seen.keys() & {"payload", "traceback"}
    more = (await shop.ask("GET", f"/dead-letters/{dead}", "auditor")).json()
    assert "payload" in more
    assert "no such order" in more["error"]


async def test_recovering_twice_makes_one_job(shop: Shop) -> None:
    dead = await shop.dead("ana")
    first = (await shop.ask("POST", f"/dead-letters/{dead}/recover", "ana")).json()
    again = (await shop.ask("POST", f"/dead-letters/{dead}/recover", "ana")).json()
    assert (first["already"], again) == (False, {"job_id": first["job_id"], "already": True})
    letter = (await shop.ask("GET", f"/dead-letters/{dead}", "ana")).json()
    assert letter["recovered_as"] == first["job_id"]
    assert (await shop.ask("GET", "/dead-letters", "ana")).json()["dead_letters"] == []
    assert len((await shop.ask("GET", "/dead-letters?recovered=true", "ana")).json()["dead_letters"]) == 1


async def test_a_dead_letter_is_recovered_with_other_arguments_that_must_fit(shop: Shop) -> None:
    dead = await shop.dead()
    wrong = await shop.ask("POST", f"/dead-letters/{dead}/recover", json={"payload": {"secret": 7}})
    assert (wrong.status_code, wrong.json()["error"]["fields"][0]["field"]) == (400, "payload.secret")
    done = await shop.ask("POST", f"/dead-letters/{dead}/recover", json={"payload": {"secret": "x"}})
    job = (await shop.ask("GET", f"/jobs/{done.json()['job_id']}")).json()
    assert job["payload"] == {"secret": "x"}


async def test_a_dead_letter_is_purged(shop: Shop) -> None:
    dead = await shop.dead("ana")
    assert (await shop.ask("POST", f"/dead-letters/{dead}/purge", "ana")).json() == {"purged": 1}
    assert (await shop.ask("GET", f"/dead-letters/{dead}", "ana")).status_code == 404
    assert (await shop.ask("GET", f"/jobs/{dead}", "ana")).json()["status"] == "failed"


async def confirmed(shop: Shop, action: str, who: str, query: str = "") -> dict[str, Any]:
    answer = await shop.ask("GET", f"/dead-letters/count?action={action}{query}", who)
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("action", ["recover", "purge"])
async def test_many_at_once_needs_the_exact_count_and_the_word_for_just_those(
    shop: Shop, action: str
) -> None:
    for who in ("ana", "ana", "bea"):
        await shop.dead(who)
    wish = await confirmed(shop, action, "ana")
    assert wish["count"] == 2
    other = await confirmed(shop, "purge" if action == "recover" else "recover", "ana")
    path = f"/dead-letters/bulk/{action}"
    for wrong in (
        {"count": 3, "confirm": wish["confirm"]},
        {"count": 2, "confirm": "x"},
        {"count": 2, "confirm": other["confirm"]},
        wish | {"task": "send"},
    ):
        answer = await shop.ask("POST", path, "ana", json=wrong)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict"), wrong
    for wrong in ({}, {"count": 2}, {"confirm": wish["confirm"]}):
        assert (await shop.ask("POST", path, "ana", json=wrong)).status_code == 400
    assert (await confirmed(shop, action, "ana")) == wish, "nothing was done"
    await shop.dead("ana")
    assert (await shop.ask("POST", path, "ana", json=wish)).status_code == 409, "one more has come"
    wish = await confirmed(shop, action, "ana")
    done = (await shop.ask("POST", path, "ana", json=wish | {"reason": "a bad deploy"})).json()
    assert next(iter(done.values())) == 3
    assert (await confirmed(shop, action, "ana"))["count"] == 0
    assert (await confirmed(shop, action, "bea"))["count"] == 1, "those of others stay"
    entry = (await shop.ask("GET", "/audit?limit=1")).json()["entries"][0]
    assert (entry["who"], entry["why"], entry["before"]) == ("ana", "a bad deploy", {"dead_letters": 3})


async def test_many_recovered_at_once_come_back_at_a_rate(shop: Shop) -> None:
    for _ in range(3):
        await shop.dead()
    wish = await confirmed(shop, "recover", "admin") | {"rate": 0.01}
    made = (await shop.ask("POST", "/dead-letters/bulk/recover", json=wish)).json()["job_ids"]
    states = [(await shop.ask("GET", f"/jobs/{job_id}")).json()["state"] for job_id in made]
    assert states == ["waiting", "delayed", "delayed"]


# -- queues, workers, breakers --------------------------------------------------------------------------
async def test_queues_are_counted_paused_and_resumed(shop: Shop) -> None:
    await shop.enqueue()
    queues = {q["name"]: q for q in (await shop.ask("GET", "/queues", "reader")).json()["queues"]}
    assert (queues["email_queue"]["counts"]["waiting"], queues["default"]["paused"]) == (1, False)
    done = await shop.ask("POST", "/queues/email_queue/pause", "operator", json={"reason": "deploy"})
    assert done.json() == {"name": "email_queue", "paused": True}
    queues = {q["name"]: q for q in (await shop.ask("GET", "/queues", "reader")).json()["queues"]}
    assert queues["email_queue"]["paused"]
    assert not (await shop.ask("POST", "/queues/email_queue/resume", "operator")).json()["paused"]
    assert (await shop.ask("POST", "/queues/nope/pause", "operator")).status_code == 404


async def test_workers_are_listed(shop: Shop) -> None:
    await shop.app.engine.register(
        WorkerInfo(id="0" * 32, name="host:1", queues=("email_queue",), slots=5), 60.0
    )
    (worker,) = (await shop.ask("GET", "/workers", "reader")).json()["workers"]
    assert (worker["name"], worker["queues"], worker["slots"]) == ("host:1", ["email_queue"], 5)


async def test_breakers_are_listed_opened_and_reset(shop: Shop) -> None:
    await shop.work()  # a worker tells of them
    (breaker,) = (await shop.ask("GET", "/breakers", "reader")).json()["breakers"]
    assert (breaker["name"], breaker["state"]) == ("smtp", "closed")
    assert (await shop.ask("POST", "/breakers/smtp/open", "operator")).json()["state"] == "open"
    (breaker,) = (await shop.ask("GET", "/breakers", "reader")).json()["breakers"]
    assert breaker["state"] == "open"
    assert (await shop.ask("POST", "/breakers/smtp/reset", "operator")).json()["state"] == "closed"
    assert (await shop.ask("POST", "/breakers/nope/reset", "operator")).status_code == 404


# -- schedules, flows, tasks --------------------------------------------------------------------------
async def test_a_schedule_is_shown_with_its_next_runs_fired_and_paused(shop: Shop) -> None:
    (listed,) = (await shop.ask("GET", "/schedules", "reader")).json()["schedules"]
    assert (listed["id"], listed["task"], listed["cron"], listed["synced"]) == (
        "nightly",
        "report",
        "15 4 * * *",
        False,
    )
    early = await shop.ask("POST", "/schedules/nightly/pause", "operator")
    assert early.status_code == 409, "it comes with the first worker"
    await shop.work()
    shown = (await shop.ask("GET", "/schedules/nightly", "reader")).json()
    assert len(shown["runs"]) == 10
    assert datetime.fromisoformat(shown["runs"][0]["at"]) - datetime.now(UTC) < timedelta(days=1)
    fired = await shop.ask("POST", "/schedules/nightly/fire", "operator", json={"reason": "missed"})
    assert fired.status_code == 202
    assert (await shop.ask("GET", f"/jobs/{fired.json()['job_id']}")).json()["task"] == "report"
    assert (await shop.ask("POST", "/schedules/nightly/pause", "operator")).json()["paused"]
    assert not (await shop.ask("POST", "/schedules/nightly/resume", "operator")).json()["paused"]
    assert (await shop.ask("POST", "/schedules/nope/fire", "operator")).status_code == 404


async def test_a_flow_is_shown_and_cancelled_by_its_owner(shop: Shop) -> None:
    flow = shop.app.flow("course-42")
    report = shop.app.tasks["report"].using(owner="ana")
    first = flow.add(report.call())
    flow.add(report.call(), after=[first])
    made = await flow.aenqueue()
    shown = (await shop.ask("GET", f"/flows/{made.id}", "ana")).json()
    assert (shown["name"], shown["unfinished"], [job["state"] for job in shown["jobs"]]) == (
        "course-42",
        2,
        ["waiting", "blocked"],
    )
    assert [each["id"] for each in (await shop.ask("GET", "/flows", "reader")).json()["flows"]] == [made.id]
    done = (await shop.ask("POST", f"/flows/{made.id}/cancel", "ana", json={"reason": "no more"})).json()
    assert done == {"flow_id": made.id, "cancelled": 2, "stopping": 0}
    assert (await shop.ask("POST", f"/flows/{made.id}/cancel", "ana")).status_code == 409


async def test_the_catalogue_has_the_schema_of_every_payload(shop: Shop) -> None:
    tasks = {task["name"]: task for task in (await shop.ask("GET", "/tasks", "ana")).json()["tasks"]}
    assert tasks.keys() == {"send", "receipt", "fail", "report", "paid"}
    assert tasks["send"]["payload"]["properties"]["copies"]["type"] == "integer"
    assert (await shop.ask("GET", "/tasks/send", "ana")).json() == tasks["send"]
    assert (await shop.ask("GET", "/tasks/nope", "ana")).status_code == 404


async def test_the_catalogue_tells_schedules_to_those_who_may_see_them_all(shop: Shop) -> None:
    shop.app.schedule("for-bea", shop.app.tasks["fail"], cron="15 4 * * *", owner="bea")
    told = {who: (await shop.ask("GET", "/tasks/fail", who)).json() for who in ("reader", "ana")}
    assert told["reader"]["schedules"] == ["for-bea: 15 4 * * * UTC"]
    assert told["ana"]["schedules"] is None


# -- audit --------------------------------------------------------------------------
async def test_every_action_leaves_one_entry_with_who_why_before_and_after(shop: Shop) -> None:
    job, dead = await shop.enqueue(delay=600), await shop.dead()
    other = await shop.enqueue(delay=600)
    done = [
        ("job promote", job, f"/jobs/{job}/promote"),
        ("job cancel", job, f"/jobs/{job}/cancel"),
        ("job retry", other, f"/jobs/{other}/retry"),
        ("dead letter recover", dead, f"/dead-letters/{dead}/recover"),
        ("dead letter purge", dead, f"/dead-letters/{dead}/purge"),
        ("queue pause", "default", "/queues/default/pause"),
        ("queue resume", "default", "/queues/default/resume"),
        ("breaker set", "smtp", "/breakers/smtp/open"),
        ("schedule fire", "nightly", "/schedules/nightly/fire"),
        ("schedule pause", "nightly", "/schedules/nightly/pause"),
        ("schedule resume", "nightly", "/schedules/nightly/resume"),
        ("worker quiet", "w1", "/workers/w1/quiet"),
        ("worker resume", "w1", "/workers/w1/resume"),
        ("worker stop", "w1", "/workers/host:1/stop"),
    ]
    await shop.app.engine.register(WorkerInfo(id="w1", name="host:1", queues=("default",), slots=2), 600.0)
    for _, _, path in done:
        answer = await shop.ask("POST", path, "operator", json={"reason": f"why {path}"})
        assert answer.status_code in {200, 202}, answer.text
    entries = (await shop.ask("GET", "/audit?limit=200")).json()["entries"]
    assert [(e["action"], e["target"], e["why"]) for e in reversed(entries)] == [
        (action, target, f"why {path}") for action, target, path in done
    ]
    assert {(e["who"], e["via"], e["outcome"]) for e in entries} == {("operator", "http", "done")}
    assert entries[-1]["before"]["state"] == "delayed"
    assert entries[-1]["after"]["state"] == "waiting"
    first, *_ = (await shop.ask("GET", "/audit?limit=1")).json()["entries"]
    rest = (await shop.ask("GET", f"/audit?limit=200&after={first['id']}")).json()
    assert len(rest["entries"]) == len(done) - 1


async def test_the_audit_log_is_searched_by_who_what_to_which_outcome_and_time(shop: Shop) -> None:
    for who, queue, verb in (
        ("operator", "default", "pause"),
        ("admin", "email_queue", "pause"),
        ("admin", "default", "resume"),
    ):
        await shop.ask("POST", f"/queues/{queue}/{verb}", who)
    job = await shop.enqueue("report")
    await shop.work()
    await shop.ask("POST", f"/jobs/{job}/cancel")

    async def found(query: str) -> list[tuple[str, str]]:
        answer = await shop.ask("GET", f"/audit?{query}")
        assert answer.status_code == 200, answer.text
        return [(e["action"], e["target"]) for e in answer.json()["entries"]]

    assert await found("who=OPER") == [("queue pause", "default")]
    assert await found("action=queue&target=default") == [
        ("queue resume", "default"),
        ("queue pause", "default"),
    ]
    assert await found("outcome=refused") == [("job cancel", job)]
    assert await found("since=2026-01-01T00:00:00Z&limit=1") == [("job cancel", job)]
    assert await found("until=2026-01-01T00:00:00Z") == []
    first = (await shop.ask("GET", "/audit?action=queue&limit=2")).json()
    rest = (await shop.ask("GET", f"/audit?action=queue&limit=2&after={first['next']}")).json()
    assert ([e["target"] for e in rest["entries"]], rest["next"]) == (["default"], None)


async def test_what_was_refused_is_written_down_too_and_nothing_removes_an_entry(shop: Shop) -> None:
    job = await shop.enqueue()
    await shop.work()
    assert (await shop.ask("POST", f"/jobs/{job}/cancel")).status_code == 409
    assert await actions(shop) == [("admin", "job cancel", job, "refused: ActionRefused")]
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert (await shop.ask(method, "/audit")).status_code == 405
    assert len(await actions(shop)) == 1


async def test_looking_is_no_action(shop: Shop) -> None:
    await shop.dead()
    for path in ("/jobs", "/queues", "/dead-letters", "/dead-letters/count?action=purge", "/schedules"):
        await shop.ask("GET", path)
    assert await actions(shop) == []


@pytest.mark.parametrize("reason", ["\x00", "\ud800", "x" * 501])
async def test_a_reason_that_cannot_be_kept_is_400(shop: Shop, reason: str) -> None:
    body = '{"reason": ' + ascii(reason).replace("'", '"').replace("\\x00", "\\u0000") + "}"
    headers = {"content-type": "application/json"}
    answer = await shop.ask("POST", "/queues/default/pause", content=body.encode(), headers=headers)
    assert answer.status_code == 400
