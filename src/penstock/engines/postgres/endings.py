"""Statements that begin or end a transaction, told by their text: inside a block of ours none is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from penstock.engines.blocks import ends_here, is_over

Query: TypeAlias = Any  # what the driver takes: text, bytes, or its own composed SQL

_ENDING = re.compile(
    r"""\s*(
        (?: commit | end | abort | begin ) \b
      | rollback \b (?! \s+ (?: (?: work | transaction ) \s+ )? to \b )
      | (?: start | prepare ) \s+ transaction \b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# In which neither a word nor a semicolon means anything.
_OPAQUE = re.compile(
    r"""
        -- [^\n]*
      | /\* (?: (?! \*/ | /\* ) . | /\* (?: (?! \*/ ) . )* \*/ )* \*/
      | \b e ' (?: \\. | '' | [^'\\] )* '
      | ' (?: '' | [^'] )* '
      | " (?: "" | [^"] )* "
      | (?<! [\w$] ) \$ ( [^\W\d]\w* | ) \$ .*? \$ \1 \$
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_BODY = re.compile(r"\bbegin\s+atomic\b", re.IGNORECASE)  # of a function, whose statements are its own


def ending_in(text: str) -> str | None:
    """The first statement of a text that begins or ends a transaction, by its first words."""
    plain = _OPAQUE.sub(" ", text)
    if body := _BODY.search(plain):
        plain = plain[: body.start()]
    found = (_ENDING.match(statement) for statement in plain.split(";"))
    return next((match[1].lower() for match in found if match), None)


def check(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], query: Query) -> None:
    """InvalidOption for a statement that would end the transaction, and for any after its end."""
    check_open(connection)
    if ending := ending_in(_text(connection, query)):
        raise ends_here(ending)


def check_open(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    if connection.pgconn.transaction_status == TransactionStatus.IDLE:
        raise is_over()


def _text(connection: Any, query: Query) -> str:
    if isinstance(query, sql.Composable):
        return query.as_string(connection)
    return bytes(query).decode(errors="replace") if isinstance(query, bytes) else str(query)


class InBlockCursor(psycopg.Cursor[Any]):
    """A cursor in a handler's transaction."""

    def execute(self, query: Query, *args: Any, **more: Any) -> InBlockCursor:
        check(self.connection, query)
        super().execute(query, *args, **more)
        check_open(self.connection)
        return self

    def executemany(self, query: Query, *args: Any, **more: Any) -> None:
        check(self.connection, query)
        super().executemany(query, *args, **more)

    def stream(self, query: Query, *args: Any, **more: Any) -> Iterator[Any]:
        check(self.connection, query)
        return super().stream(query, *args, **more)


class AsyncInBlockCursor(psycopg.AsyncCursor[Any]):
    """The same, awaited."""

    async def execute(self, query: Query, *args: Any, **more: Any) -> AsyncInBlockCursor:
        check(self.connection, query)
        await super().execute(query, *args, **more)
        check_open(self.connection)
        return self

    async def executemany(self, query: Query, *args: Any, **more: Any) -> None:
        check(self.connection, query)
        await super().executemany(query, *args, **more)

    def stream(self, query: Query, *args: Any, **more: Any) -> Any:
        check(self.connection, query)
        return super().stream(query, *args, **more)
