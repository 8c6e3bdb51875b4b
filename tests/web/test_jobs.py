"""Jobs over HTTP: in, seen, listed, acted on."""

from __future__ import annotations

import pytest

from penstock.web import Principal, Scope
from penstock.web.keys import shown_key, stored_key
from web.kit import PEOPLE, SOME, Shop

SEND = {"task": "send", "payload": {"to": "ana@example.com"}}


async def test_a_job_is_accepted_with_202_and_can_be_asked_for(shop: Shop) -> None:
    answer = await shop.ask("POST", "/jobs/email_queue", json=SEND)
    assert answer.status_code == 202
    assert answer.json().keys() == {"job_id", "status", "duplicate", "follow"}
    assert (answer.json()["status"], answer.json()["duplicate"]) == ("pending", False)
    job = (await shop.ask("GET", f"/jobs/{answer.json()['job_id']}")).json()
    assert (job["status"], job["queue"], job["task"], job["attempts_made"]) == (
        "pending",
        "email_queue",
        "send",
        0,
    )
    await shop.work()
    job = (await shop.ask("GET", f"/jobs/{job['job_id']}")).json()
    assert (job["status"], job["result"]) == ("completed", "1 to ana@example.com")


async def test_job_type_is_another_word_for_task(shop: Shop) -> None:
    body = {"job_type": "send", "payload": {"to": "a"}}
    assert (await shop.ask("POST", "/jobs/email_queue", json=body)).status_code == 202
    assert (await shop.ask("POST", "/jobs/email_queue", json=body | {"task": "receipt"})).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("/jobs/nope", SEND, {"queue"}),
        ("/jobs/email_queue", {"task": "nope"}, {"task"}),
        ("/jobs/email_queue", {"task": "os.system"}, {"task"}),
        ("/jobs/default", SEND, {"task"}),
        ("/jobs/email_queue", {}, {"task"}),
        ("/jobs/email_queue", {"task": "send", "payload": {}}, {"payload.to"}),
        (
            "/jobs/email_queue",
            {"task": "send", "payload": {"to": 7, "copies": "canary", "more": 1}},
            {"payload.to", "payload.copies", "payload.more"},
        ),
        ("/jobs/email_queue", SEND | {"delay": -1}, {"delay"}),
        ("/jobs/email_queue", SEND | {"priority": "canary"}, {"priority"}),
        ("/jobs/email_queue", SEND | {"canary_field": 1}, {"canary_field"}),
        ("/jobs/email_queue", {"task": "send", "payload": []}, {"payload"}),
        ("/jobs/email_queue", SEND | {"key": "\x00"}, {"key"}),
        ("/jobs/email_queue", SEND | {"key": "k" * 256}, {"key"}),
        ("/jobs/email_queue", [SEND], set()),
    ],
)
async def test_what_cannot_be_is_400_with_every_field_and_nothing_is_made(
    shop: Shop, path: str, body: object, fields: set[str]
) -> None:
    answer = await shop.ask("POST", path, json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "invalid"
    assert {found["field"] for found in error["fields"]} >= fields
    assert 'canary"' not in answer.text, "no value is echoed"
    assert (await shop.ask("GET", "/jobs")).json() == {"jobs": [], "next": None}


async def test_the_same_key_answers_with_the_same_job_in_header_or_body(shop: Shop) -> None:
    async with shop.client("ana") as client:
        first = await client.post("/jobs/email_queue", json=SEND, headers={"Idempotency-Key": "k1"})
        again = await client.post("/jobs/email_queue", json=SEND | {"key": "k1"})
        other = await client.post(
            "/jobs/email_queue", json=SEND | {"key": "k2"}, headers={"Idempotency-Key": "k1"}
        )
    assert (first.json()["duplicate"], again.json()["duplicate"]) == (False, True)
    assert first.json()["job_id"] == again.json()["job_id"]
    assert other.status_code == 400
    job = (await shop.ask("GET", f"/jobs/{first.json()['job_id']}", "ana")).json()
    assert job["key"] == "k1"


async def test_keys_of_two_owners_never_meet(shop: Shop) -> None:
    mine = await shop.enqueue(who="ana", key="k")
    hers = await shop.enqueue(who="bea", key="k")
    assert mine != hers


def test_no_key_of_one_owner_is_one_of_another_whatever_they_are_called() -> None:
    pairs = [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a%252Fb", "c"), ("a%", "2Fb/c"), ("a", "%2Fb/c")]
    people = [Principal(name=owner, scopes=SOME, owner=owner) for owner, _ in pairs]
    stored = [stored_key(who, key) for who, (_, key) in zip(people, pairs, strict=True)]
    assert len(set(stored)) == len(pairs)
    assert [shown_key(who, key or "", "id") for who, key in zip(people, stored, strict=True)] == [
        key for _, key in pairs
    ]


async def test_a_key_that_the_task_makes_of_its_arguments_does_not_tell_of_anothers_job(shop: Shop) -> None:
    mine = await shop.enqueue("receipt", "ana", payload={"order_id": 7})
    body = {"task": "receipt", "payload": {"order_id": 7}}
    answer = await shop.ask("POST", "/jobs/email_queue", "bea", json=body)
    assert answer.status_code == 409
    assert mine not in answer.text
    assert (await shop.ask("POST", "/jobs/email_queue", "ana", json=body)).json()["duplicate"]


async def test_a_job_belongs_to_the_owner_of_the_token_and_only_one_for_all_may_say_otherwise(
    shop: Shop,
) -> None:
    mine = await shop.enqueue(who="ana")
    assert (await shop.ask("GET", f"/jobs/{mine}")).json()["owner"] == "ana"
    given = await shop.enqueue(who="admin", owner="bea")
    assert (await shop.ask("GET", f"/jobs/{given}", "bea")).status_code == 200
    refused = await shop.ask("POST", "/jobs/email_queue", "ana", json=SEND | {"owner": "bea"})
    assert refused.status_code == 403


async def test_payloads_need_their_own_scope_and_results_are_the_owners(shop: Shop) -> None:
    job_id = await shop.enqueue(who="ana")
    await shop.work()
    seen = {
        who: (await shop.ask("GET", f"/jobs/{job_id}", who)).json().keys() & {"payload", "result"}
        for who in ("ana", "reader", "operator", "auditor", "admin")
    }
    both = {"payload", "result"}
    assert seen == {"ana": {"result"}, "reader": set(), "operator": set(), "auditor": both, "admin": both}
    assert Scope.PAYLOAD not in PEOPLE["ana"].scopes


async def test_a_job_is_known_after_its_own_record_has_been_pruned(shop: Shop) -> None:
    from penstock.engine import Retention

    job_id = await shop.enqueue(who="ana")
    await shop.work()
    assert await shop.app.engine.prune(Retention("email_queue", keep_completed=0), 10) == 1
    job = (await shop.ask("GET", f"/jobs/{job_id}", "ana")).json()
    assert (job["status"], job["state"], job["result"]) == ("completed", None, "1 to ana@example.com")
    listed = (await shop.ask("GET", "/history", "ana")).json()["jobs"]
    assert [each["job_id"] for each in listed] == [job_id]


async def test_lists_are_pages_by_key_newest_first(shop: Shop) -> None:
    ids = [await shop.enqueue(who="ana") for _ in range(5)]
    first = (await shop.ask("GET", "/jobs?limit=2", "ana")).json()
    assert [job["job_id"] for job in first["jobs"]] == ids[:2:-1]
    rest = (await shop.ask("GET", f"/jobs?limit=200&after={first['next']}", "ana")).json()
    assert ([job["job_id"] for job in rest["jobs"]], rest["next"]) == (ids[2::-1], None)


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=1000000000", "after=1", "state=x", "queue=a:b", "since=x", "key=%00"],
)
async def test_a_list_that_cannot_be_is_400(shop: Shop, query: str) -> None:
    assert (await shop.ask("GET", f"/jobs?{query}")).status_code == 400


async def test_a_list_is_found_by_state_task_key_and_time(shop: Shop) -> None:
    late = await shop.enqueue(delay=60, key="late")
    now = await shop.enqueue("report")
    for query, found in {
        "state=delayed": [late],
        "task=report": [now],
        "key=late": [late],
        "queue=email_queue": [late],
        "since=2001-01-01T00:00:00Z": [now, late],
        "until=0001-01-01T00:00:00Z": [],
    }.items():
        listed = (await shop.ask("GET", "/jobs", params=dict([query.split("=")]))).json()["jobs"]
        assert [job["job_id"] for job in listed] == found, query


async def test_a_delayed_job_is_promoted_retried_and_cancelled(shop: Shop) -> None:
    ids = [await shop.enqueue(who="ana", delay=600) for _ in range(3)]
    promoted = await shop.ask("POST", f"/jobs/{ids[0]}/promote", "ana")
    assert (promoted.status_code, promoted.json()["state"]) == (200, "waiting")
    retried = await shop.ask("POST", f"/jobs/{ids[1]}/retry", "ana", json={"reason": "now"})
    assert retried.json() == {"job_id": ids[1], "how": "due now"}
    cancelled = await shop.ask("POST", f"/jobs/{ids[2]}/cancel", "ana", json={"reason": "no more"})
    assert cancelled.json() == {"job_id": ids[2], "status": "cancelled"}
    job = (await shop.ask("GET", f"/jobs/{ids[2]}", "ana")).json()
    assert (job["status"], job["error"]) == ("cancelled", "no more")
    again = await shop.ask("POST", f"/jobs/{ids[2]}/cancel", "ana")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


async def test_a_failed_job_tells_its_error_in_one_line_and_is_recovered_by_retry(shop: Shop) -> None:
    dead = await shop.dead("ana")
    job = (await shop.ask("GET", f"/jobs/{dead}", "ana")).json()
    assert (job["status"], job["error"]) == ("failed", "Unrecoverable: no such order")
    done = (await shop.ask("POST", f"/jobs/{dead}/retry", "ana")).json()
    assert done["how"] == "recovered"
    assert done["job_id"] != dead
