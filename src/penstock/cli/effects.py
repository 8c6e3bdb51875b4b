"""Effects: what `ctx.once()` has recorded, and the table for that in a database of the user's."""

from __future__ import annotations

import asyncio
import shlex
from typing import Annotated

import typer

from penstock.cli.common import AppOption, JsonOption, LimitOption, TaskOption, load, with_ops
from penstock.cli.outbox import DialectOption, dialect_named
from penstock.cli.output import ago, counted, print_json, print_sql, print_table, say
from penstock.engine import EffectFilter, EffectName, EffectRecord
from penstock.model.errors import InvalidOption
from penstock.outbox.effects_table import EffectsTable
from penstock.outbox.tables import plan_effects

effects = typer.Typer(no_args_is_help=False)
HELP = "List what ctx.once() has recorded; make and prune its table."

DatabaseOption = Annotated[
    str | None,
    typer.Option(help="The URL of your database, postgresql:// or sqlite:///; by default the app's outbox"),
]


def register(app: typer.Typer) -> None:
    app.add_typer(effects, name="effects", help=HELP, rich_help_panel="Look")


@effects.callback(invoke_without_command=True)
def list_effects(
    context: typer.Context,
    app: AppOption = None,
    task: TaskOption = None,
    key: Annotated[str | None, typer.Option(help="Only those of this idempotency key")] = None,
    name: Annotated[str | None, typer.Option(help="Only those of this name")] = None,
    limit: LimitOption = 50,
    after: Annotated[
        tuple[str, str, str] | None, typer.Option(help="Task, key and name of the last of the page before")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(help="The URL of a database of yours that has the records; by default the jobs' own"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the effects that `ctx.once()` has recorded."""
    if context.invoked_subcommand is not None:
        return
    where = EffectFilter(task=task, key=key, name=name)
    last = None if after is None else EffectName(*after)
    if database is None:
        found = with_ops(app, lambda ops: ops.effects(where, limit, last))
    else:
        name_of_app = load(app).effects_name
        found = asyncio.run(EffectsTable(database).page(name_of_app, where, limit, last))
    if as_json:
        print_json([each._asdict() for each in found])
        return
    print_table(
        ("task", "key", "effect", "made", "forgotten", "job"),
        [_row(each) for each in found],
        "No effects are recorded here. Where the app has an outbox, or its jobs live in Redis, ctx.once() "
        "records them in your own database: add --database URL",
        spare=("forgotten", "made"),
    )
    if len(found) == limit:
        say(f"There may be more: add --after {shlex.join(found[-1][:3])}", "bright_black")


@effects.command("plan")
def plan(
    app: AppOption = None,
    database: DatabaseOption = None,
    dialect: DialectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the SQL that makes the table, for a migration of your own."""
    chosen = None if dialect is None else dialect_named(dialect)
    or_else = ", or the kind of SQL, --dialect postgresql or sqlite"
    sql = _table(app, database, or_else).plan() if chosen is None else plan_effects(chosen)
    print_sql(sql, as_json=as_json)


@effects.command("apply")
def apply(app: AppOption = None, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Make the table in your database, where it is missing."""
    table = _table(app, database)
    asyncio.run(table.apply())
    if as_json:
        print_json({"database": table.safe_url})
    else:
        say(f"{table.safe_url} has a table of effects: ctx.once(name, connection=…) can record there.")


@effects.command("prune")
def prune(app: AppOption = None, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Remove the records whose time is over from your database."""
    table = _table(app, database)
    removed = asyncio.run(table.prune())
    if as_json:
        print_json({"removed": removed})
        return
    say(f"Removed {counted(removed, 'record')} from {table.safe_url}.")


def _table(app: str | None, database: str | None, or_else: str = "") -> EffectsTable:
    url = load(app).settings.outbox if database is None else database
    if url is None:
        raise InvalidOption(f"this app has no outbox: name your database, --database URL{or_else}")
    return EffectsTable(url)


def _row(effect: EffectRecord) -> tuple[str, ...]:
    return (
        effect.task, effect.key, effect.name, ago(effect.first_at), ago(effect.expires_at), effect.job_id,
    )  # fmt: skip
