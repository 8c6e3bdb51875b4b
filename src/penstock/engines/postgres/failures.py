"""What a driver's error means: did anything happen, and is it worth another try?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from penstock.model.errors import (
    AccessRefused,
    Contended,
    EngineError,
    EngineUnavailable,
    InvalidOption,
    OutcomeUnknown,
    PenstockError,
    SchemaMissing,
)


class KnownId(EngineError):
    """A job with this id is there already, and nothing was written."""


_LOCKED = "55P03"  # lock_not_available
_ROLLED_BACK = {
    "40001",  # serialization_failure
    "40P01",  # deadlock_detected
    _LOCKED,
    "25006",  # read_only_sql_transaction: the server was demoted
}
READ_ONLY = "25006"
NOT_OUR_SESSION = {
    "26000",  # invalid_sql_statement_name: what was prepared is gone
    "42P05",  # duplicate_prepared_statement: somebody else prepared it
}
_NO_SCHEMA = {"3F000", "42P01", "42883", "42703"}
_NO_RIGHT = "42501"
_OVERTIME = "57014"
_TAKEN = "23505"  # unique_violation
_IDS = "jobs_pkey"
# The driver does not pass on the code of an error that ends a connection before it is one: only its text.
_NOT_LET_IN = re.compile(
    r"authentication failed|role .* does not exist|database .* does not exist|not permitted to log in"
    r"|no pg_hba\.conf entry|permission denied for database|not currently accepting connections"
    r"|no password supplied|no such (user|database)"
)


_BAD_OPTION = re.compile(r"(invalid \w+ value: |bad value for |invalid integer value ).*")


def is_lost(error: psycopg.Error, connection_broken: bool) -> bool:
    """Whether the connection went away under the call, so that nobody knows how far it came."""
    return connection_broken or (error.sqlstate or "").startswith(("57P", "08"))


def is_rolled_back(error: psycopg.Error) -> bool:
    """Whether the server itself undid the call, and another try may succeed."""
    return error.sqlstate in _ROLLED_BACK | NOT_OUR_SESSION


def translate(error: psycopg.Error, *, lost: bool) -> EngineError:
    """The error a caller sees when there are no more tries."""
    what = str(error).partition("\n")[0]
    if lost:
        return OutcomeUnknown(f"the connection was lost before the answer came: {what}")
    if error.sqlstate == _TAKEN and error.diag.constraint_name == _IDS:
        return KnownId(f"a job with this id is there already: {what}")
    if is_rolled_back(error) or error.sqlstate == _OVERTIME:
        kind = Contended if error.sqlstate == _LOCKED else EngineUnavailable
        return kind(f"the database could not do it now, nothing happened: {what}")
    if error.sqlstate in _NO_SCHEMA:
        return SchemaMissing(
            f"the database does not have the expected schema, run `penstock migrate`: {what}"
        )
    if error.sqlstate == _NO_RIGHT:
        return AccessRefused(f"the role lacks a right, see PostgreSQL in docs/operating.md: {what}")
    return EngineError(f"the database refused the statement: {what}")


def not_connected(error: psycopg.Error, address: str) -> PenstockError:
    """The error a caller sees where no connection came about."""
    lines = [line.strip() for line in str(error).splitlines()]
    if why := next((line for line in lines if _NOT_LET_IN.search(line)), None):
        return AccessRefused(
            f"{address} does not let us in: {_without_place(why)}; "
            "check the user, password and database in the URL"
        )
    if bad := _BAD_OPTION.search(str(error)):
        return InvalidOption(f"an option in the URL cannot be: {bad[0]}; see libpq's connection parameters")
    return EngineUnavailable(f"cannot connect to {address}: {lines[0] if lines else type(error).__name__}")


def _without_place(text: str) -> str:
    return text.rpartition("FATAL: ")[2].strip()


@contextmanager
def typed_errors(connection: psycopg.AsyncConnection[Any]) -> Iterator[None]:
    """Let no error of the driver out as it is, where calls are not tried again."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, lost=is_lost(error, connection.broken)) from error
