"""Django: `django.db.connection`, or one of `django.db.connections`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from penstock.lent import sqlite
from penstock.lent.connection import Dialect, Lent, Value
from penstock.lent.placeholders import named, pyformat
from penstock.model.errors import InvalidOption

T = TypeVar("T")


class Django(Lent):
    """Outside `atomic()` it is in autocommit. What we begin is an atomic block, so that `on_commit` works."""

    def __init__(self, raw: Any) -> None:
        super().__init__(raw)
        self.dialect = _dialect(raw)
        self._atomic: Any = None

    def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        if self.dialect == "sqlite":
            return self.lend(lambda connection: sqlite.fetch(connection, sql, values))
        with self.raw.cursor() as cursor:
            cursor.execute(pyformat(sql), named(values))
            return list(cursor.fetchall()) if cursor.description else []

    def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        assert self.dialect == "sqlite"
        self.raw.validate_no_broken_transaction()
        self.raw.ensure_connection()
        return work(self.raw.connection)

    def in_transaction(self) -> bool:
        return bool(self.raw.in_atomic_block or not self.raw.get_autocommit())

    def begin(self) -> None:
        if not self.in_transaction():
            self._atomic = import_module("django.db.transaction").atomic(using=self.raw.alias)
            self._atomic.__enter__()

    def commit(self) -> None:
        if self._atomic is None:
            self.raw.commit()
        else:
            self._leave()

    def rollback(self) -> None:
        if self._atomic is None:
            self.raw.rollback()
        else:
            self.raw.set_rollback(True)
            self._leave()

    def _leave(self) -> None:
        block, self._atomic = self._atomic, None
        block.__exit__(None, None, None)


def _dialect(raw: Any) -> Dialect:
    name: Dialect = raw.vendor
    if name not in ("sqlite", "postgresql"):
        raise InvalidOption(f"jobs can be put in over connections to SQLite and PostgreSQL, not to {name}")
    return name
