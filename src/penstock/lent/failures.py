"""What a driver says went wrong, through whatever framework is around it."""

from __future__ import annotations


def sqlstate(error: BaseException | None) -> str | None:
    """PostgreSQL's code of an error of psycopg or asyncpg, or of what SQLAlchemy or Django made of it."""
    while error is not None:
        code = getattr(error, "sqlstate", None)
        if isinstance(code, str):
            return code
        error = getattr(error, "orig", None) or error.__cause__
    return None
