"""Tokens, the audit log, removing dead letters and `serve`, as people type them."""

from __future__ import annotations

import getpass

import pytest
from cli_kit import Run, dead_letter, loaded_shop, runner  # noqa: F401 - fixtures


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
