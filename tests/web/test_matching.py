"""Acting on all jobs that match: what was looked at, and was still so, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import InvalidOption
from web.kit import Shop


async def look(shop: Shop, act: str, who: str = "admin", **query: Any) -> dict[str, Any]:
    answer = await shop.ask("GET", "/jobs/matching", who, params={"act": act, **query})
    assert answer.status_code == 200, answer.text
    seen: dict[str, Any] = answer.json()
    return seen


def sure(seen: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {name: seen[name] for name in ("cut_off", "count", "confirm")} | more


async def act(shop: Shop, verb: str, who: str = "admin", **body: Any) -> dict[str, Any]:
    answer = await shop.ask("POST", f"/jobs/matching/{verb}", who, json=body)
    assert answer.status_code == 200, answer.text
    done: dict[str, Any] = answer.json()
    return done


async def states(shop: Shop, ids: list[str]) -> list[str]:
    return [(await shop.ask("GET", f"/jobs/{job_id}")).json()["status"] for job_id in ids]


async def test_what_comes_after_the_look_is_not_acted_on(shop: Shop) -> None:
    before = [await shop.enqueue(delay=600) for _ in range(3)]
    seen = await look(shop, "cancel", task="send")
    assert (seen["count"], seen["next"], len(seen["examples"])) == (3, None, 3)
    later = await shop.enqueue(delay=600)
    done = await act(shop, "cancel", **sure(seen, task="send", reason="ordered by mistake"))
    assert done == {"done": 3, "left": 0, "next": None}
    assert await states(shop, [*before, later]) == ["cancelled"] * 3 + ["pending"]
    entry = (await shop.ask("GET", "/audit?limit=1")).json()["entries"][0]
    assert (entry["action"], entry["target"], entry["why"]) == (
        "jobs cancel",
        "task send",
        "ordered by mistake",
    )
    assert (entry["before"]["confirmed"], entry["after"]) == (3, {"done": 3, "not_eligible": 0})


async def test_what_is_not_as_it_was_any_more_is_left(shop: Shop) -> None:
    first, second = [await shop.enqueue(delay=600) for _ in range(2)]
    seen = await look(shop, "promote", state="delayed")
    await shop.ask("POST", f"/jobs/{first}/cancel")
    done = await act(shop, "promote", **sure(seen, state="delayed"))
    assert (seen["count"], done["done"]) == (2, 1)
    assert (await shop.ask("GET", f"/jobs/{second}")).json()["state"] == "waiting"
    assert (await shop.ask("GET", f"/jobs/{first}")).json()["state"] == "cancelled"


async def test_failed_jobs_are_retried_once_and_come_back_at_a_rate(shop: Shop) -> None:
    dead = [await shop.dead() for _ in range(3)]
    seen = await look(shop, "retry", state="failed")
    later = await shop.dead()
    done = await act(shop, "retry", **sure(seen, state="failed", rate=0.01))
    assert done["done"] == 3
    again = await act(shop, "retry", **sure(seen, state="failed", rate=0.01))
    assert (again["done"], (await look(shop, "retry", state="failed"))["count"]) == (0, 1)
    made = [(await shop.ask("GET", f"/dead-letters/{each}")).json()["recovered_as"] for each in dead]
    found = sorted([(await shop.ask("GET", f"/jobs/{job}")).json()["state"] for job in made])
    assert found == ["delayed", "delayed", "waiting"]
    assert (await shop.ask("GET", f"/dead-letters/{later}")).json()["recovered_as"] is None


async def test_deleted_jobs_leave_no_record_and_those_that_have_not_ended_stay(shop: Shop) -> None:
    ended, waits = await shop.enqueue(), await shop.enqueue(delay=600)
    await shop.work()
    seen = await look(shop, "delete", queue="email_queue")
    assert (seen["count"], [job["job_id"] for job in seen["examples"]]) == (1, [ended])
    assert (await act(shop, "delete", **sure(seen, queue="email_queue")))["done"] == 1
    assert (await shop.ask("GET", f"/jobs/{ended}")).status_code == 404
    assert (await shop.ask("GET", f"/jobs/{waits}")).status_code == 200
    assert (await shop.ask("POST", f"/jobs/{waits}/delete")).status_code == 409


async def test_it_goes_on_in_steps_until_nothing_is_left(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.matching.PAGE", 2)
    monkeypatch.setattr("penstock.matching.STEP", 1)
    for delay in (0, 0, 0, 600, 600):
        await shop.enqueue(delay=delay)
    seen = await look(shop, "cancel")
    total, after, steps = 0, None, 0
    while True:
        done = await act(shop, "cancel", **sure(seen, after=after, done=total))
        total, after, steps = total + done["done"], done["next"], steps + 1
        if after is None:
            break
    assert (seen["count"], total) == (5, 5)
    assert steps > 3


async def test_another_filter_action_or_count_than_was_looked_at_is_refused(shop: Shop) -> None:
    await shop.enqueue(delay=600)
    seen = await look(shop, "cancel", task="send")
    for verb, body in (
        ("cancel", sure(seen)),
        ("cancel", sure(seen, task="report")),
        ("promote", sure(seen, task="send")),
        ("cancel", sure(seen, task="send") | {"count": 2}),
        ("cancel", sure(seen, task="send") | {"cut_off": "2200-01-01T00:00:00Z"}),
    ):
        answer = await shop.ask("POST", f"/jobs/matching/{verb}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict"), body
    wrong = await shop.ask("POST", "/jobs/matching/cancel", json=sure(seen, task="send", after="nowhere"))
    assert wrong.status_code == 409
    assert (await look(shop, "cancel"))["count"] == 1


async def test_owners_act_on_what_is_their_own(shop: Shop) -> None:
    mine, other = await shop.enqueue(who="ana", delay=600), await shop.enqueue(who="bea", delay=600)
    seen = await look(shop, "cancel", "ana")
    assert [job["job_id"] for job in seen["examples"]] == [mine]
    assert (await act(shop, "cancel", "ana", **sure(seen)))["done"] == 1
    assert await states(shop, [mine, other]) == ["cancelled", "pending"]
    refused = await shop.ask("POST", "/jobs/matching/cancel", "ana", json=sure(seen, owner="bea"))
    assert refused.status_code == 403
    assert (await shop.ask("GET", "/jobs/matching?act=cancel", "reader")).status_code == 403


async def test_by_arguments_only_where_the_task_declares_them(shop: Shop) -> None:
    answer = await shop.ask("GET", "/jobs/matching?act=cancel&task=send&args.to=x")
    assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (400, "args")


async def test_jobs_are_found_and_acted_on_by_their_tags(shop: Shop) -> None:
    send = shop.app.tasks["send"]
    tagged = await send.using(tags=["billing", "eu"], delay=600).aenqueue(to="a")
    await send.using(delay=600).aenqueue(to="a")
    found = (await shop.ask("GET", "/jobs?tag=billing")).json()["jobs"]
    assert [(job["job_id"], job["tags"]) for job in found] == [(tagged.id, ["billing", "eu"])]
    assert (await shop.ask("GET", "/jobs?tag=us")).json() == {"jobs": [], "next": None}
    seen = await look(shop, "promote", tag="eu")
    assert (seen["count"], (await act(shop, "promote", **sure(seen, tag="eu")))["done"]) == (1, 1)
    await shop.work()
    assert await states(shop, [tagged.id]) == ["completed"]
    for wrong in ("billing", ["no spaces here"], [f"t{n}" for n in range(11)]):
        with pytest.raises(InvalidOption):
            send.using(tags=wrong)


async def test_all_are_counted_look_by_look_and_only_then_can_they_be_confirmed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.matching.COUNTED", 2)
    monkeypatch.setattr("penstock.matching.LOOK", 1)
    dead = [await shop.dead() for _ in range(2)]
    for _ in range(5):
        await shop.enqueue(delay=600)
    seen = await look(shop, "retry")
    looks, examples = 1, seen["examples"]
    late = await shop.enqueue(delay=600)
    while seen["next"]:
        assert seen["confirm"] is None
        seen, looks = await look(shop, "retry", after=seen["next"]), looks + 1
        examples += seen["examples"]
    assert (seen["count"], seen["by_state"]) == (7, {"failed": 2, "delayed": 5})
    assert looks > 3
    assert {job["job_id"] for job in examples[:2]} == set(dead)
    assert len(examples) == 3
    done = await act(shop, "retry", **sure(seen))
    assert (done["done"], await states(shop, [late])) == (7, ["pending"])
    for wrong in (
        "x",
        "2026-01-01T00:00:00Z|nowhere:|",
        "2026-01-01T00:00:00|failed:|",
        "|failed:|failed=-1",
    ):
        answer = await shop.ask("GET", "/jobs/matching", params={"act": "retry", "after": wrong})
        assert answer.status_code == 409, wrong


async def test_failed_jobs_say_that_they_were_recovered_and_are_found_by_it(shop: Shop) -> None:
    mended, waits = await shop.dead(), await shop.dead()
    made = (await shop.ask("POST", f"/dead-letters/{mended}/recover")).json()["job_id"]
    listed = (await shop.ask("GET", "/jobs?state=failed")).json()["jobs"]
    assert {job["job_id"]: job["recovered_as"] for job in listed} == {mended: made, waits: None}
    for asked, found in (("true", [mended]), ("false", [waits])):
        page = (await shop.ask("GET", f"/jobs?state=failed&recovered={asked}")).json()
        assert [job["job_id"] for job in page["jobs"]] == found
    seen = await look(shop, "delete", state="failed", recovered=True)
    refused = await shop.ask("POST", "/jobs/matching/delete", json=sure(seen, state="failed"))
    assert refused.status_code == 409
    done = await act(shop, "delete", **sure(seen, state="failed", recovered=True))
    assert (done["done"], await states(shop, [waits])) == (1, ["failed"])
