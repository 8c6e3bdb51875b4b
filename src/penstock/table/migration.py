"""What the user's tables need, as SQL: only what is missing, and harmless where it is there by then."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.engines.statements import load
from penstock.model.errors import SchemaMissing
from penstock.table.declared import Table
from penstock.table.names import composed, digest, literal, quoted
from penstock.table.shape import Shape
from penstock.table.statements import fill, qualified
from penstock.table.types import check_types

_PACKAGES = {"postgresql": "penstock.table.postgres", "sqlite": "penstock.table.sqlite"}
_INSTANT = {"postgresql": "timestamptz", "sqlite": "text"}


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the schema."""

    sql: str
    why: str
    needed: bool = False  # no row can be worked on without it


def plan(table: Table, shape: Shape, dialect: str, *, concurrently: bool = False) -> list[Step]:
    """The steps from what is there to what is needed."""
    check(table, shape, dialect)
    files = load(_PACKAGES[dialect], "plan")
    names = fill(table, shape, dialect) | {
        "concurrently": "concurrently " if concurrently else "",
        "source": quoted(table.source_column or ""),
    }
    steps = _columns(table, shape, dialect)
    for what, why in _INDEXES.items():
        index = _index(table, what)
        if index not in shape.indexes:
            steps += _again(table, shape, index)
            steps.append(Step(files[what].format_map(names | {"index": quoted(index)}).strip(), why))
    if table.output is not None and not shape.once:
        index = composed(table.output, table.source_column or "", "once")
        steps += _again(table, shape, index)
        steps.append(Step(files["once"].format_map(names | {"index": quoted(index)}).strip(), _ONCE))
    if table.wake and not shape.wakes:
        steps.append(Step(files["wake"].format_map(names | _wake(table, shape)).strip(), "tells of new rows"))
    return steps


_INDEXES = {
    "queued": "finds the next rows to claim",
    "started": "finds stuck rows",
    "retry": "finds rows whose wait is over",
}
_ONCE = "lets a row have one output, whoever writes it"


def check(table: Table, shape: Shape, dialect: str) -> None:
    """SchemaMissing for what no migration of ours can bring: the tables, and what is the user's own."""
    where = "in the database" if table.schema is None else f"in schema {table.schema!r}"
    if not shape.columns:
        raise SchemaMissing(f"there is no table {table.table!r} {where}")
    if table.output is not None and not shape.output:
        raise SchemaMissing(f"there is no table {table.output!r} {where}, to which the outputs are to go")
    for option, column in (("id_column", table.columns.id), ("order_by", table.columns.order_by)):
        if shape.column(column) is None:
            raise SchemaMissing(
                f"table {table.table!r} has no column {column!r}; name another with {option}=, of "
                f"{', '.join(shape.columns)}"
            )
    if table.source_column is not None and shape.of_output(table.source_column) is None:
        raise SchemaMissing(
            f"table {table.output!r} has no column {table.source_column!r}; name the one that holds the id "
            f"of the row with source_column=, of {', '.join(shape.output)}"
        )
    _check_unique(table, shape)
    check_types(table, shape, dialect)


def _check_unique(table: Table, shape: Shape) -> None:
    """Rows with one id would be claimed, run and ended together, whatever their statuses are."""
    name = table.columns.id
    if shape.unique is not None and not shape.is_unique(name):
        raise SchemaMissing(
            f"nothing keeps two rows of {table.table!r} from having the same {name!r}, which tells them "
            "apart; name a column that is unique with id_column=, or make it so:\n"
            f"create unique index {quoted(composed(table.table, name, 'unique'))} "
            f"on {qualified(table, table.table)} ({quoted(name)});"
        )


def check_ready(table: Table, shape: Shape, dialect: str) -> list[Step]:
    """SchemaMissing, with the SQL, where rows cannot be worked on; else the steps that are only advised."""
    steps = plan(table, shape, dialect)
    if needed := [step.sql for step in steps if step.needed]:
        raise SchemaMissing(
            f"table {table.table!r} lacks columns; run `penstock table apply {table.name}`, or:\n"
            + "\n".join(f"{sql};" for sql in needed)
        )
    return [step for step in steps if not step.needed]


def is_once(step: Step) -> bool:
    """Whether it is the one without which an output might be written twice."""
    return step.why == _ONCE


def _columns(table: Table, shape: Shape, dialect: str) -> list[Step]:
    instant = _INSTANT[dialect]
    columns = table.columns
    kinds = {
        columns.status: f"text not null default {literal(table.words.queued)}",
        columns.started: instant,
        columns.completed: instant,
        columns.error: "text",
        columns.attempts: "integer not null default 0",
        columns.stuck: "integer not null default 0",
        columns.retry: instant,
        columns.token: "text",
    }
    missing = {name: kind for name, kind in kinds.items() if shape.column(name) is None}
    if not missing:
        return []
    why = "what is kept about each row"
    if columns.status in missing:
        why += f"; every row that is there becomes {table.words.queued!r}"
    name = qualified(table, table.table)
    if dialect == "sqlite":
        return [
            Step(f"alter table {name} add column {quoted(column)} {kind}", why, needed=True)
            for column, kind in missing.items()
        ]
    adds = ",\n    ".join(
        f"add column if not exists {quoted(column)} {kind}" for column, kind in missing.items()
    )
    return [Step(f"alter table {name}\n    {adds}", why, needed=True)]


def _index(table: Table, what: str) -> str:
    """Named after what it is about: one of other columns or words is another one, and serves nothing here."""
    columns, words = table.columns, table.words
    about = {
        "queued": (columns.order_by, columns.id, columns.status, words.queued, columns.retry),
        "started": (columns.started, columns.status, words.started),
        "retry": (columns.retry, columns.status, words.queued),
    }[what]
    return composed(table.name, "penstock", what, *([] if about == _USUAL[what] else [digest(*about)]))


_USUAL = {
    "queued": ("created_at", "id", "status", "queued", "retry_at"),
    "started": ("started_at", "status", "started"),
    "retry": ("retry_at", "status", "queued"),
}


def _again(table: Table, shape: Shape, index: str) -> list[Step]:
    """Of an index that could not be built concurrently a beginning is left, which is in the way."""
    if index not in shape.invalid:
        return []
    name = quoted(index) if shape.schema is None else quoted_any(shape.schema, index)
    return [Step(f"drop index if exists {name}", f"of {table.name}, what a failed attempt has left")]


def _wake(table: Table, shape: Shape) -> dict[str, str]:
    trigger = composed(table.name, "penstock_wake")
    schema = shape.schema or table.schema or "public"
    return {"trigger": quoted(trigger), "function": quoted_any(schema, "penstock_table_wake")}


def quoted_any(*names: str) -> str:
    """Names that the database itself gave, as SQL."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
