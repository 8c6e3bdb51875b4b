"""The SQL of the tables in the user's own database."""

from __future__ import annotations

from functools import cache

from penstock.engines import statements
from penstock.lent import Dialect


@cache
def sql(dialect: Dialect) -> dict[str, str]:
    """Every statement by the name of its file."""
    return statements.load("penstock.outbox", dialect)


def plan(dialect: Dialect) -> str:
    """What makes the tables of an outbox, to be put into a migration of one's own: safe to run again."""
    return f"{sql(dialect)['tables']}\n{plan_effects(dialect)}"


def plan_effects(dialect: Dialect) -> str:
    """What makes the table of `ctx.once` alone."""
    return sql(dialect)["effects_table"]
