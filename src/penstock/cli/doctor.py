"""`penstock doctor`: is the place where jobs live safe?"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, load
from penstock.cli.output import print_json, print_table, say
from penstock.engine import Finding, Level
from penstock.ops import Diagnosis

EXIT_UNSAFE = 1
_STYLE = {Level.OK: "green", Level.WARNING: "yellow", Level.UNSAFE: "red"}
_GLYPH = {Level.OK: "✓", Level.WARNING: "!", Level.UNSAFE: "✕"}


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(doctor)


def doctor(
    app: AppOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count too")] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell what is unsafe or missing about the engine, and what a crash would lose.

    Ends with 1 where a worker would refuse to start; with --strict also where there is a warning.
    """
    penstock = load(app)
    found = asyncio.run(penstock.examine())
    if as_json:
        print_json(_as_json(found))
    else:
        say(f"Penstock on {penstock.safe_url}")
        print_table(("", "what", "finding"), [_row(finding) for finding in found.findings], "Nothing to see.")
        if found.refused:
            names = ",".join(finding.name for finding in found.refused)
            say(f"Workers refuse to start. Mend it, or accept it: PENSTOCK_ACCEPT_UNSAFE={names}", "red")
    if found.refused or (strict and not found.clean):
        sys.exit(EXIT_UNSAFE)


def _row(finding: Finding) -> tuple[Text, str, str]:
    return (
        Text(f"{_GLYPH[finding.level]} {finding.level}", style=_STYLE[finding.level]),
        finding.name,
        finding.text,
    )


def _as_json(found: Diagnosis) -> dict[str, object]:
    return {
        "safe": not found.refused,
        "findings": [finding._asdict() for finding in found.findings],
        "accepted": sorted(found.accepted),
    }
