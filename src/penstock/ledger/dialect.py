"""One set of statements for both databases: what they write differently is filled in here, once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from penstock.engine import NOT_READ
from penstock.engines import statements
from penstock.model.names import check_schema

Dialect: TypeAlias = Literal["postgresql", "sqlite"]

_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_ROWS = re.compile(r"\{rows\(([^)]*)\)\}")
_VALUE = re.compile(r"(?<!:):(\w+)")

# What is read of a row, in this order: a Line has the same fields.
COLUMNS = (
    "cast(j.id as text)", "j.queue_name", "j.job_type", "j.bull_job_id", "j.status", "j.payload_json",
    "j.result_json", "j.error_message", "j.attempts_made", "j.max_attempts", "j.idempotency_key",
    "j.created_at", "j.started_at", "j.finished_at", "j.updated_at", "j.owner", "j.spec", "j.due_at",
    "j.token", "j.run_over", "j.failure", "j.key_kind", "j.key_held", "j.expires_at", "j.cancel_note",
    "cast(j.recovered_as as text)", "j.worker", "j.attempts_before",
)  # fmt: skip


class Texts(NamedTuple):
    """The statements and migrations of one ledger, by the names of their files."""

    sql: Mapping[str, str]
    migrations: Mapping[str, str]


@lru_cache
def texts(dialect: Dialect, schema: str) -> Texts:
    """What this database is told."""
    sql = statements.load("penstock.ledger")
    migrations = statements.load("penstock.ledger", dialect)
    return Texts(
        {name: _filled(text, dialect, schema) for name, text in sql.items()},
        {name: text.replace("{schema}", check_schema(schema)) for name, text in migrations.items()},
    )


def _filled(text: str, dialect: Dialect, schema: str) -> str:
    postgres = dialect == "postgresql"
    prefix = f"{check_schema(schema)}." if postgres else "penstock_"
    columns = ", ".join(COLUMNS)
    bare = _COMMENT.sub("", text).strip().replace("{columns}", columns)
    bare = bare.replace("{columns_without_payload}", columns.replace("j.payload_json", f"'{NOT_READ}'"))
    for table in (
        "background_jobs",
        "ledger_migrations",
        "ledger_notes",
        "ledger_queues",
        "ledger_schedules",
    ):
        bare = bare.replace(f"{{{table.rpartition('_')[2]}}}", f"{prefix}{table}")
    bare = _ROWS.sub(lambda found: (_recordset if postgres else _each)(found[1]), bare)
    return spelt(bare, dialect)


def spelt(text: str, dialect: Dialect) -> str:
    """Values and types as this database has them."""
    if dialect == "sqlite":
        # An alias is not known after `returning`.
        return text.replace("{uuid}", "text").replace("{instant}", "text").replace("{its}", "")
    typed = text.replace("{uuid}", "uuid").replace("{instant}", "timestamptz").replace("{its}", "j.")
    return _VALUE.sub(r"%(\1)s", typed)


def _recordset(columns: str) -> str:
    return f"json_to_recordset(cast(:rows as json)) as e({columns})"


def _each(columns: str) -> str:
    names = [column.split()[0] for column in columns.split(",")]
    picked = ", ".join(f"value ->> '{name}' as {name}" for name in names)
    return f"(select {picked} from json_each(:rows)) as e"  # noqa: S608 - names from our own files
