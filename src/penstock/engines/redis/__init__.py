"""Redis 7 and later, and Valkey: our own layout, changed by Lua scripts only."""

from penstock.model.errors import MissingExtra

try:
    import hiredis as _hiredis  # noqa: F401 - only to say what to install where it is missing
except ImportError as _missing:
    raise MissingExtra(
        'the Redis engine needs hiredis; install it with: pip install "penstock[redis]"'
    ) from _missing
