"""The names in a statement: checked, quoted, and the same in every file."""

from __future__ import annotations

from penstock.table.declared import Table
from penstock.table.names import literal, quoted
from penstock.table.shape import Column, Shape

_NOW = {
    "postgresql": "coalesce(%(now)s::timestamptz, now())",
    "sqlite": "coalesce(:now, strftime('%Y-%m-%d %H:%M:%f', 'now'))",
}
_NEVER = {"postgresql": "false", "sqlite": "0"}


def fill(table: Table, shape: Shape, dialect: str) -> dict[str, str]:
    """What stands for each `{name}` in the files."""
    columns, words = table.columns, table.words
    now = _NOW[dialect]
    return {
        "table": qualified(table, table.table),
        "output": qualified(table, table.output or table.table),
        "id": quoted(columns.id),
        "status": quoted(columns.status),
        "order_by": quoted(columns.order_by),
        "started_at": quoted(columns.started),
        "completed_at": quoted(columns.completed),
        "error": quoted(columns.error),
        "attempts": quoted(columns.attempts),
        "stuck": quoted(columns.stuck),
        "retry_at": quoted(columns.retry),
        "token": quoted(columns.token),
        "queued": literal(words.queued),
        "started": literal(words.started),
        "completed": literal(words.completed),
        "failed": literal(words.failed),
        "id_type": (shape.column(columns.id) or Column("text")).type,
        "status_type": (shape.column(columns.status) or Column("text")).type,
        "now": now,
        "now_started": _in_column(now, shape, columns.started),
        "now_completed": _in_column(now, shape, columns.completed),
        "now_retry": _in_column(now, shape, columns.retry),
        "made": _made(table, dialect),
    }


def qualified(table: Table, name: str) -> str:
    return quoted(name) if table.schema is None else quoted(table.schema, name)


def _made(table: Table, dialect: str) -> str:
    """Whether the row, `t` on PostgreSQL, has its output. In SQLite's `returning` an alias means nothing."""
    if table.output is None or table.source_column is None:
        return _NEVER[dialect]
    row = "t" if dialect == "postgresql" else quoted(table.table)
    source = f"o.{quoted(table.source_column)} = {row}.{quoted(table.columns.id)}"
    return f"exists (select 1 from {qualified(table, table.output)} as o where {source})"  # noqa: S608


def _in_column(now: str, shape: Shape, column: str) -> str:
    """A column without a time zone holds UTC, whatever zone the session or the server is in."""
    found = shape.column(column)
    return f"({now} at time zone 'UTC')" if found and found.family == "zoneless" else now
