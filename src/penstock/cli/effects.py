"""Effects: what `ctx.once()` has recorded."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from penstock.cli.common import AppOption, JsonOption, LimitOption, TaskOption, with_ops
from penstock.cli.output import ago, print_json, print_table, say
from penstock.engine import EffectFilter, EffectName, EffectRecord


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(effects)


def effects(
    app: AppOption = None,
    task: TaskOption = None,
    key: Annotated[str | None, typer.Option(help="Only those of this idempotency key")] = None,
    name: Annotated[str | None, typer.Option(help="Only those of this name")] = None,
    limit: LimitOption = 50,
    after: Annotated[
        tuple[str, str, str] | None, typer.Option(help="Task, key and name of the last of the page before")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the effects that `ctx.once()` has recorded."""
    where = EffectFilter(task=task, key=key, name=name)
    last = None if after is None else EffectName(*after)
    found = with_ops(app, lambda ops: ops.effects(where, limit, last))
    if as_json:
        print_json([each._asdict() for each in found])
        return
    print_table(
        ("task", "key", "effect", "made", "forgotten", "job"),
        [_row(each) for each in found],
        "No effects are recorded here. Where the app has an outbox, or its jobs live in Redis, ctx.once() "
        "records them in your own database: select * from penstock_effects",
        spare=("forgotten", "made"),
    )
    if len(found) == limit:
        say(f"There may be more: add --after {shlex.join(found[-1][:3])}", "bright_black")


def _row(effect: EffectRecord) -> tuple[str, ...]:
    return (
        effect.task, effect.key, effect.name, ago(effect.first_at), ago(effect.expires_at), effect.job_id,
    )  # fmt: skip
