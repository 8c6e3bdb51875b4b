"""Tokens for the HTTP API, and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.audit import Deed
from penstock.cli.common import (
    AfterOption,
    AppOption,
    JsonOption,
    LimitOption,
    WhyOption,
    command,
    seconds,
    with_ops,
)
from penstock.cli.output import ago, print_json, print_table, say
from penstock.model.access import Scope
from penstock.model.errors import InvalidOption
from penstock.tokens import Token

HELP = "Make, list and revoke tokens for the HTTP API."

tokens = typer.Typer(no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(tokens, name="token", help=HELP, rich_help_panel="Act")
    app.command(rich_help_panel="Look")(audit)


@tokens.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What it is for; it is in the audit log")],
    scope: Annotated[
        list[Scope], typer.Option("--scope", "-s", help="What it may do; give it again for more")
    ],
    owner: Annotated[
        str | None, typer.Option(help="Whose jobs it makes and sees; '*' is everybody's")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="After how long it ends: 12h, 90d; never by default")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Requests at most, such as 50/s")] = None,
    max_waiting: Annotated[
        int | None, typer.Option(help="Jobs of its owner that may be there unfinished; more are refused")
    ] = None,
    app: AppOption = None,
    why: WhyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token. It is shown once, and kept only as a hash."""
    expires_in = None if expires is None else seconds(expires)
    if expires_in == 0:
        raise InvalidOption("--expires must be more than 0; leave it out for a token that stays")
    made = with_ops(
        app,
        lambda ops: ops.tokens.create(
            name, scope, owner, expires_in=expires_in, rate=rate, max_waiting=max_waiting
        ),
        why,
    )
    if as_json:
        print_json(_json(made.token) | {"token": made.text})
        return
    say(made.text)
    say("Keep it now: it is not shown again.", "bright_black")
    say(f"End it with: {command(f'token revoke {made.token.id}', app)}", "bright_black")


@tokens.command("list")
def list_(app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the tokens; not the secrets, which are kept nowhere."""
    found = with_ops(app, lambda ops: ops.tokens.tokens())
    if as_json:
        print_json([_json(token) for token in found])
        return
    print_table(
        ("id", "name", "owner", "scopes", "made", "expires"),
        [_row(token) for token in found],
        f"No tokens. Make one: {command('token create NAME --scope read --owner NAME', app)}",
        spare=("made",),
    )


@tokens.command("revoke")
def revoke(token_id: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """End a token; within five seconds nobody is let in by it."""
    with_ops(app, lambda ops: ops.tokens.revoke(token_id), why)
    if as_json:
        print_json({"id": token_id, "revoked": True})
    else:
        say("Revoked.")


def audit(
    app: AppOption = None, limit: LimitOption = 50, after: AfterOption = None, as_json: JsonOption = False
) -> None:
    """Show who did what, newest first."""
    found = with_ops(app, lambda ops: ops.audit.entries(limit, after))
    if as_json:
        print_json(found)
        return
    print_table(
        ("when", "who", "via", "action", "outcome", "target", "why"),
        [_deed(deed) for deed in found],
        "Nobody has done anything yet.",
        spare=("via",),
    )
    if len(found) == limit:
        say(f"There may be more: add --after {found[-1].id}", "bright_black")


def _deed(deed: Deed) -> tuple[str, ...]:
    return ago(deed.at), deed.who, deed.via, deed.action, deed.outcome, deed.target, deed.why or ""


def _row(token: Token) -> tuple[str, ...]:
    expires = ago(token.expires_at) if token.expires_at else "never"
    scopes = ", ".join(sorted(token.scopes))
    return token.id, token.name, token.owner or "", scopes, ago(token.created_at), expires


def _json(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "owner": token.owner,
        "scopes": sorted(token.scopes),
        "rate": token.rate,
        "max_waiting": token.max_waiting,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
    }
