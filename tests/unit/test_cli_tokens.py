"""Tokens, the audit log, removing dead letters and `serve`, as people type them."""

from __future__ import annotations

import getpass

import pytest
from cli_kit import Run, dead_letter, loaded_shop, runner  # noqa: F401 - fixtures

from penstock import InvalidOption, Penstock
from penstock.model.access import Scope


def test_a_token_is_made_listed_and_revoked(run: Run) -> None:
    assert "No tokens" in run("token", "list").out
    made = run("token", "create", "ci", "-s", "read", "-s", "enqueue", "--owner", "ana", "--expires", "90d")
    text = made.out.splitlines()[0]
    assert text.startswith("pst_")
    (known,) = run("token", "list", "--json").json
    assert (known["name"], known["owner"], known["scopes"]) == ("ci", "ana", ["enqueue", "read"])
    assert text not in run("token", "list").out
    assert run("token", "revoke", known["id"]).out == "Revoked.\n"
    assert run("token", "list", "--json").json == []
    assert run("token", "revoke", known["id"]).code == 1


def test_a_token_that_cannot_be_is_refused(run: Run) -> None:
    assert run("token", "create", "ci", "-s", "read").code == 2
    assert run("token", "create", "ci", "-s", "everything", "--owner", "ana").code == 2
    assert run("token", "create", "ci", "--owner", "ana").code == 2


async def test_a_token_that_would_be_over_at_once_is_refused_by_the_option(run: Run, shop: Penstock) -> None:
    said = run("token", "create", "ci", "-s", "read", "--owner", "ana", "--expires", "0")
    assert said.code == 2
    assert "--expires must be more than 0" in said.err
    async with shop:
        with pytest.raises(InvalidOption, match="expires_in must be more than 0"):
            await shop.ops.tokens.create("ci", [Scope.READ], "ana", expires_in=0)


def test_what_is_done_by_command_is_in_the_audit_log_with_the_user(run: Run, dead: str) -> None:
    assert "Nobody" in run("audit").out
    run("pause", "email")
    run("dlq", "recover", dead)
    run("cancel", dead)
    entries = run("audit", "--json").json
    assert [(e["action"], e["target"], e["outcome"]) for e in entries] == [
        ("job cancel", dead, "refused: ActionRefused"),
        ("dead letter recover", dead, "done"),
        ("queue pause", "email", "done"),
    ]
    assert {(e["who"], e["via"]) for e in entries} == {(getpass.getuser(), "cli")}
    assert "queue pause" in run("audit").out
    assert "There may be more" in run("audit", "--limit", "1").out


def test_whoever_acts_by_command_can_say_why(run: Run, shop: Penstock, dead: str) -> None:
    with shop:
        held = shop.tasks["send_receipt"].using(delay=600).enqueue(order_id=1).id
    acts = [
        ("reschedule", held, "--in", "2h"),
        ("promote", held),
        ("cancel", held),
        ("retry", dead),
        ("dlq", "recover", dead),
        ("dlq", "recover-all", "-t", "fail"),
        ("dlq", "purge", dead),
        ("dlq", "purge", "-t", "fail", "--count", "0"),
        ("pause", "email"),
        ("resume", "email"),
        ("token", "create", "ci", "-s", "read", "--owner", "ci"),
        ("reconcile",),
    ]
    for n, words in enumerate(acts):
        said = run(*words, "--reason", f"reason {n}")
        assert said.code == (1 if words == ("reconcile",) else 0), said.err
    entries = run("audit", "--json", "--limit", "200").json
    assert [entry["why"] for entry in reversed(entries)] == [f"reason {n}" for n in range(len(acts))]
    assert (entries[0]["action"], entries[0]["outcome"]) == ("reconcile", "refused: ActionRefused")
    assert run("pause", "email", "--reason", "").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("breakers", "open", "smtp"),
        ("breakers", "close", "smtp"),
        ("schedules", "fire", "nightly"),
        ("schedules", "pause", "nightly"),
        ("schedules", "resume", "nightly"),
        ("token", "revoke", "0123456789abcdef"),
    ],
)
def test_a_reason_is_taken_where_there_is_nothing_to_act_on(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words, "--reason", "tidying up").code == 1  # refused, and not: no such option (2)


def test_a_dead_letter_is_removed_by_its_id(run: Run, dead: str) -> None:
    assert "Removed 1 dead letter." in run("dlq", "purge", dead).out
    assert run("dlq", "--json").json == []
    assert run("dlq", "purge", dead).code == 1


def test_many_dead_letters_are_removed_only_by_their_exact_number(run: Run, dead: str) -> None:
    refused = run("dlq", "purge", "-t", "fail", "--count", "2")
    assert refused.code == 1
    assert "1 dead letters match" in refused.err
    assert run("dlq", "purge", "-t", "fail", "--count", "1", "--json").json == {"purged": 1}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.com"])
def test_without_tokens_no_address_but_this_machines_is_served(run: Run, host: str) -> None:
    done = run("serve", "--host", host, "--port", "1")
    assert done.code == 2
    assert "penstock token create" in done.err
