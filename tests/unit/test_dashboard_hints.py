"""What the dashboard tells people to type can be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from cli_kit import Run, runner  # noqa: F401 - fixtures
from typer.core import TyperGroup

from penstock.cli.main import app

UI = Path(__file__).parents[2] / "ui" / "src"
COMMAND = re.compile(r"""["`]penstock ([^"`]+)["`]""")
FILLED_IN, FILLED = re.compile(r"\$\{[^}]*\}"), "x"


def hints() -> Iterator[str]:
    for file in sorted(UI.rglob("*.ts*")):
        yield from COMMAND.findall(file.read_text())


HINTS = sorted(set(hints()))


@pytest.mark.parametrize("hint", HINTS)
def test_the_command_line_understands_every_hint(hint: str) -> None:
    understood(shlex.split(FILLED_IN.sub(FILLED, hint)))


def understood(words: list[str]) -> None:
    """Raise an error for what is no command, or has an option that it does not take."""
    at, name = typer.main.get_command(app), "penstock"
    while isinstance(at, TyperGroup) and words and not words[0].startswith("-"):
        if words[0] == FILLED:  # the page fills the verb in
            return
        name, *words = words
        at = at.commands[name]
    if words:  # what only begins with these words is gone on with by the page
        at.make_context(name, words)


def test_what_is_no_command_is_not_taken_for_one() -> None:
    for wrong in ("breakers reset smtp", "dlq --tusk x", "token create --scoop x", "nope"):
        with pytest.raises(Exception, match=r"reset|tusk|scoop|nope"):
            understood(shlex.split(wrong))


def test_tokens_are_made_by_the_very_words_of_the_hints(run: Run) -> None:
    told = [hint for hint in HINTS if hint.startswith("token create")]
    assert len(told) >= 2
    for hint in told:
        made = run(*shlex.split(hint))
        assert made.code == 0, (hint, made.err)
        assert made.out.startswith("pst_")
