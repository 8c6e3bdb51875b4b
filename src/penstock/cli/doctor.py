"""`penstock doctor`: is the place where jobs live safe?"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from penstock.cli.common import EXIT_UNAVAILABLE, AppOption, JsonOption, load
from penstock.cli.output import print_json, print_table, say
from penstock.engine import Finding, Level
from penstock.ops import Diagnosis

EXIT_UNSAFE = 1
_STYLE = {Level.OK: "green", Level.WARNING: "yellow", Level.UNSAFE: "red", Level.UNUSABLE: "red"}
_GLYPH = {Level.OK: "✓", Level.WARNING: "!", Level.UNSAFE: "✕", Level.UNUSABLE: "✕"}


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(doctor)


def doctor(
    app: AppOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count too")] = False,
    send_alerts: Annotated[
        bool, typer.Option("--send-alerts", help="Send each channel of alerts a message, as a test")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell what is unsafe about the engine, and what a crash loses.

    Also whether the channels of alerts can be reached; no message is sent, unless asked for.

    Ends with 1 where a worker would refuse to start, 3 where the engine cannot be reached; with --strict
    also with 1 where there is a warning.
    """
    penstock = load(app)
    found = asyncio.run(penstock.examine(send_alerts=send_alerts))
    if as_json:
        print_json(_as_json(found))
    else:
        say(f"Penstock on {penstock.safe_url}")
        rows = [_row(finding) for finding in found.findings]
        print_table(("", "what", "finding"), rows, "Nothing to see.", whole=True)
        if found.unreachable:
            say("Nothing more is known of it until it can be reached.", "red")
        elif found.refused:
            say(f"Workers refuse to start. {_what_to_do(found)}", "red")
    if found.unreachable:
        sys.exit(EXIT_UNAVAILABLE)
    if found.refused or (strict and not found.clean):
        sys.exit(EXIT_UNSAFE)


def _what_to_do(found: Diagnosis) -> str:
    names = ",".join(sorted(found.accepted | {finding.name for finding in found.acceptable}))
    must = f"Mend {_listed(found.unusable)}." if found.unusable else ""
    may = f"Mend {_listed(found.acceptable)}, or accept: PENSTOCK_ACCEPT_UNSAFE={names}"
    return f"{must} {may}".strip() if found.acceptable else must


def _listed(findings: Sequence[Finding]) -> str:
    return ", ".join(finding.name for finding in findings)


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
