"""Dead letters by cause, recovered by name, with notes of people."""

from __future__ import annotations

import pytest

from penstock import Unrecoverable
from penstock.model.likeness import likeness
from web.kit import Shop


def alike(one: str, other: str) -> bool:
    letters = [{"type": "ValueError", "message": text} for text in (one, other)]
    return likeness("t", "exhausted", letters[0]).id == likeness("t", "exhausted", letters[1]).id


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("there is no order -1", "there is no order 77", True),
        (
            "job 0190f0aa-0000-7000-8000-000000000000 is gone",
            "job 0190f0ab-1111-7000-8000-1234567890ab is gone",
            True,
        ),
        ("no key 'ana' in cache", "no key 'bea' in cache", True),
        ("at 0x7f31c0ffee10", "at 0x7f31c0ffee99", True),
        ("disk full", "connection refused", False),
    ],
)
def test_failures_are_alike_but_for_ids_numbers_and_quoted_words(one: str, other: str, same: bool) -> None:
    assert alike(one, other) is same


async def test_dead_letters_are_told_by_cause_and_a_cause_lists_its_own(shop: Shop) -> None:
    dead = [await shop.dead("ana"), await shop.dead()]
    told = (await shop.ask("GET", "/dead-letters/causes", "reader")).json()
    (cause,) = told["causes"]
    assert (cause["task"], cause["error"], cause["count"]) == ("fail", "Unrecoverable: no such order", 2)
    assert (told["looked"], told["next"]) == (2, None)
    assert (cause["latest"], sum(cause["by_hour"])) == (dead[1], 2)
    listed = (await shop.ask("GET", f"/dead-letters?cause={cause['id']}&limit=1")).json()
    assert [letter["job_id"] for letter in listed["dead_letters"]] == [dead[1]]
    rest = (await shop.ask("GET", f"/dead-letters?cause={cause['id']}&after={listed['next']}")).json()
    assert [letter["job_id"] for letter in rest["dead_letters"]] == [dead[0]]
    assert (await shop.ask("GET", f"/dead-letters?cause={'0' * 16}")).json()["dead_letters"] == []
    own = (await shop.ask("GET", "/dead-letters/causes", "ana")).json()["causes"]
    assert [each["count"] for each in own] == [1]


async def test_no_cause_is_hidden_behind_many_of_another_and_each_look_is_bounded(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.dead_causes.LOOKED_AT", 2)

    @shop.app.task(name="refuse")
    async def refuse() -> None:
        raise Unrecoverable("not today")

    oldest = (await refuse.aenqueue()).id
    await shop.work()
    dead = [await shop.dead() for _ in range(3)]
    told, after, looks = dict[str, int](), None, 0
    while True:
        look = (
            await shop.ask("GET", "/dead-letters/causes", params={"after": after} if after else {})
        ).json()
        for cause in look["causes"]:
            told[cause["task"]] = told.get(cause["task"], 0) + cause["count"]
        after, looks = look["next"], looks + 1
        if after is None:
            break
    assert (told, looks) == ({"fail": 3, "refuse": 1}, 3)
    (fails,) = (await shop.ask("GET", "/dead-letters/causes?task=fail")).json()["causes"]
    first = (await shop.ask("GET", f"/dead-letters/ids?cause={fails['id']}")).json()
    rest = (await shop.ask("GET", f"/dead-letters/ids?cause={fails['id']}&after={first['next']}")).json()
    assert ([*first["job_ids"], *rest["job_ids"]], rest["next"]) == (dead[::-1], oldest)


async def test_just_the_named_ones_are_purged(shop: Shop) -> None:
    mine, other, kept = await shop.dead("ana"), await shop.dead("bea"), await shop.dead("ana")
    body = {"job_ids": [mine, other], "reason": "a test"}
    assert (await shop.ask("POST", "/dead-letters/purge", "ana", json=body)).json() == {"purged": 1}
    left = (await shop.ask("GET", "/dead-letters/ids")).json()["job_ids"]
    assert left == [kept, other]
    entry = (await shop.ask("GET", "/audit?limit=1")).json()["entries"][0]
    told = (entry["action"], entry["why"], entry["before"], entry["after"])
    assert told == ("dead letters purge", "a test", {"dead_letters": [mine]}, {"removed": 1})
    assert (await shop.ask("POST", "/dead-letters/purge", "reader", json=body)).status_code == 403


async def test_a_cause_is_purged_by_its_exact_count(shop: Shop) -> None:
    await shop.dead()
    (cause,) = (await shop.ask("GET", "/dead-letters/causes")).json()["causes"]
    other = await shop.ask("GET", f"/dead-letters/count?action=purge&cause={'0' * 16}")
    assert other.json()["count"] == 0
    wish = (await shop.ask("GET", f"/dead-letters/count?action=purge&cause={cause['id']}")).json()
    done = await shop.ask("POST", "/dead-letters/bulk/purge", json=wish | {"cause": cause["id"]})
    assert done.json() == {"purged": 1}


async def test_just_the_named_ones_are_recovered_and_what_is_anothers_is_gone(shop: Shop) -> None:
    mine, other = await shop.dead("ana"), await shop.dead("bea")
    nobody = "00000000-0000-7000-8000-000000000000"
    body = {"job_ids": [mine, other, nobody], "reason": "mended"}
    done = (await shop.ask("POST", "/dead-letters/recover", "ana", json=body)).json()
    assert (len(done["job_ids"]), done["already"], done["gone"]) == (1, 0, 2)
    again = (await shop.ask("POST", "/dead-letters/recover", json=body)).json()
    assert (len(again["job_ids"]), again["already"], again["gone"]) == (1, 1, 1)
    entry = (await shop.ask("GET", "/audit?limit=1")).json()["entries"][0]
    told = (entry["action"], entry["why"], entry["after"]["recovered"])
    assert told == ("dead letters recover", "mended", 1)
    behind = await shop.ask(
        "POST", "/dead-letters/recover", json={"job_ids": [await shop.dead()], "rate": 0.1, "behind": 60}
    )
    (late,) = behind.json()["job_ids"]
    assert (await shop.ask("GET", f"/jobs/{late}")).json()["state"] == "delayed"


@pytest.mark.parametrize("about", ["letter", "cause"])
async def test_notes_say_who_and_when_and_are_written_down_in_the_audit(shop: Shop, about: str) -> None:
    dead = await shop.dead("ana")
    (cause,) = (await shop.ask("GET", "/dead-letters/causes")).json()["causes"]
    path = f"/dead-letters/{dead}/notes" if about == "letter" else f"/dead-letters/causes/{cause['id']}/notes"
    text = "<b>the bank was down</b>\nask Bea"
    made = await shop.ask("POST", path, "operator", json={"text": text})
    assert (made.status_code, made.json()["who"], made.json()["text"]) == (200, "operator", text)
    await shop.ask("POST", path, "admin", json={"text": "mended"})
    found = (await shop.ask("GET", path, "reader")).json()["notes"]
    assert [(note["who"], note["text"]) for note in found] == [("operator", text), ("admin", "mended")]
    assert (await shop.ask("POST", path, "reader", json={"text": "x"})).status_code == 403
    for wrong in ("", " ", "x" * 2_001, "a\x00b"):
        assert (await shop.ask("POST", path, json={"text": wrong})).status_code == 400
    if about == "letter":
        assert (await shop.ask("GET", path, "bea")).status_code == 404
    entry = (await shop.ask("GET", "/audit?limit=1")).json()["entries"][0]
    assert (entry["action"], entry["outcome"]) == ("dead letter note", "done")


@pytest.mark.parametrize("wrong", [{"behind": False}, {"behind": "0"}, {"rate": True}])
async def test_what_is_no_number_is_not_taken_for_one(shop: Shop, wrong: dict[str, object]) -> None:
    body = {"job_ids": ["00000000-0000-0000-0000-000000000000"], **wrong}
    refused = await shop.ask("POST", "/dead-letters/recover", json=body)
    (told,) = refused.json()["error"]["fields"]
    assert (refused.status_code, told["field"]) == (400, next(iter(wrong)))
