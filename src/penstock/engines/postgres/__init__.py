"""PostgreSQL, through psycopg 3. Needs no session state, so it works behind a pooler in transaction mode."""

from penstock.model.errors import MissingExtra

try:
    import psycopg as _psycopg  # noqa: F401 - only to say what to install where it is missing
except ImportError as _missing:
    raise MissingExtra(
        'the PostgreSQL engine needs psycopg; install it with: pip install "penstock[postgres]"'
    ) from _missing
