"""What an error of SQLite means to a caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown


class KnownId(EngineError):
    """A job with this id is there already, and nothing was written."""


_TAKEN = "UNIQUE constraint failed: penstock_jobs.id"
_PASSING = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)


def code_of(error: sqlite3.Error) -> int:
    """The primary result code, 0 where the error did not come from the database itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_callers_fault(error: sqlite3.Error) -> bool:
    """The statement or its values were wrong; the database itself is well."""
    return code_of(error) in (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG)


def spoils_connection(error: Exception) -> bool:
    """After these the connection's view of the file cannot be trusted any more."""
    if not isinstance(error, sqlite3.Error) or is_callers_fault(error):
        return False
    return code_of(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)


def typed(error: sqlite3.Error, database: str, *, committing: bool = False) -> EngineError:
    """The error a caller sees."""
    text = f"{database}: {error}"
    if committing and code_of(error) == sqlite3.SQLITE_IOERR:
        return OutcomeUnknown(f"{text}; the commit may or may not have reached the disk")
    if code_of(error) in _PASSING:
        return EngineUnavailable(f"{text}; nothing was changed")
    return KnownId(text) if str(error) == _TAKEN else EngineError(text)


@contextmanager
def typed_errors(database: str) -> Iterator[None]:
    """Let no error of SQLite, or of the files beside it, out as it is."""
    try:
        yield
    except sqlite3.Error as error:
        raise typed(error, database) from error
    except OSError as error:
        raise EngineUnavailable(f"{database}: {error}; nothing was changed") from error
