"""Every command that the dashboard shows is one that `penstock` takes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import pytest
import typer
from ui_kit import UI, run

from penstock.cli.main import app

UsageError = typer.BadParameter.__mro__[1]  # typer brings a click of its own
PENSTOCK = typer.main.get_command(app)
ID = "0190f0aa-0000-7000-8000-000000000000"
WORDS = {"verb": ["pause", "resume"], "what": ["quiet", "resume", "stop"]}  # of others: a name
SHOWN = re.compile(r"[\"`'](penstock [^\"`\n]+?)[\"`]")


def takes(command: str) -> None:
    """UsageError where it is no command of ours."""
    _, *words = shlex.split(command)
    context = PENSTOCK.make_context("penstock", words)
    while words := [*context._protected_args, *context.args]:
        command_of = getattr(context.command, "resolve_command", None)
        assert command_of is not None, words
        name, found, rest = command_of(context, words)
        context = found.make_context(name, rest, parent=context)


def written() -> Iterator[str]:
    """Those that stand in the sources, with a name for each that is put in."""
    for path in sorted((UI / "src").rglob("*.ts*")):
        for found in SHOWN.findall(path.read_text()):
            if path.name != "commands.ts" and not found.startswith("penstock serve` "):
                yield from filled(found)


def filled(command: str) -> Iterator[str]:
    hole = re.search(r"\$\{(\w+)[^}]*\}", command)
    if hole is None:
        yield command
        return
    for word in WORDS.get(hole[1], ["some-name"]):
        yield from filled(command.replace(hole[0], word))


def made() -> list[str]:
    """Those that are put together, of each kind."""
    search = {
        "query": {
            "queue": "email",
            "task": "send_receipt",
            "state": "failed",
            "owner": "it's $HOME",
            "key": "a b",
            "tag": "eu",
            "since": "2026-01-01T00:00:00Z",
        },
        "args": {"order_id": "7; rm -rf /"},
        "ago": "2h",
        "unknown": [],
    }
    script = f"""
        const acts = ["retry", "promote", "cancel", "delete"], ids = ["{ID}", "{ID}"];
        const jobs = ids.map((id) => ({{ job_id: id, key: id }}));
        const search = {json.dumps(search)};
        const none = [
            m.forAll("retry", {{ ...search, ago: undefined }}),
            m.forJobs("delete", [{{ job_id: "{ID}", key: "own" }}]),
            m.forAll("retry", {{ ...search, query: {{ until: "2026-01-01T00:00:00Z" }} }}),
        ];
        if (none.some(Boolean)) throw new Error(none);
        return [
            ...acts.map((act) => m.forAll(act, search)),
            ...acts.flatMap((act) => m.forJobs(act, jobs)?.split("; ") ?? []),
            ...m.forLetters("purge", ids).split("; "), m.forEdited("{ID}", {{ order_id: 7, note: "it's" }}),
            ...["recover", "purge"].map((act) => m.forLetter(act, "{ID}")),
            ...["open", "close"].map((act) => m.forBreaker(act, "smtp of ana")),
        ];
    """
    found: list[str] = run("lib/commands", script)
    return found


def test_every_command_in_the_dashboard_is_one_that_the_cli_takes() -> None:
    commands = [*written(), *made()]
    for command in commands:
        try:
            takes(command)
        except UsageError as error:
            pytest.fail(f"{command}: {error}")
    assert len(commands) > 30
    assert any("'it'\\''s $HOME'" in command for command in commands)
    with pytest.raises(UsageError):
        takes("penstock breakers reset smtp")
    with pytest.raises(UsageError):
        takes(f"penstock retry {ID} {ID}")
