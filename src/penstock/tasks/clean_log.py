"""What a run logs, without the secrets of its job, before anybody's handlers get it."""

from __future__ import annotations

from typing import Any

from penstock.model.failure import message_of
from penstock.model.redaction import MASK, Clean, without_secrets

_MOST_CAUSES = 5


def clean_call(
    clean: Clean, message: object, args: tuple[Any, ...], kwargs: dict[str, Any], error: BaseException | None
) -> tuple[str, dict[str, Any]]:
    """A call of a logger, cleaned: its message with all that goes into it, `extra` and `exc_info`."""
    told = dict(kwargs)
    if told.get("extra"):
        told["extra"] = {name: _clean_value(each, clean) for name, each in told["extra"].items()}
    if error is not None:
        told["exc_info"] = clean_error(error, clean)
    return clean(_said(message, args)), told


def clean_error(error: BaseException, clean: Clean, causes: int = _MOST_CAUSES) -> BaseException:
    """One that reads the same in a log: an error may hold secrets in any attribute, so it is not copied."""
    kind = type(error)
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    shown: BaseException = type(kind.__name__, (Exception,), named)(message_of(error, clean))
    shown.__traceback__ = error.__traceback__
    if causes:
        shown.__cause__ = error.__cause__ and clean_error(error.__cause__, clean, causes - 1)
        shown.__context__ = error.__context__ and clean_error(error.__context__, clean, causes - 1)
    shown.__suppress_context__ = error.__suppress_context__
    return shown


def _said(message: object, args: tuple[Any, ...]) -> str:
    # As logging does it: a single mapping is for names in the message.
    given = args[0] if len(args) == 1 and isinstance(args[0], dict) and args[0] else args
    try:
        return str(message) % given if args else str(message)
    except Exception:  # noqa: BLE001 - whatever was given: logging would print it as it is
        return f"{message} (what was to be put into it does not fit)"


def _clean_value(value: Any, clean: Clean) -> Any:
    try:
        return without_secrets(value, clean)
    except Exception:  # noqa: BLE001 - an object that cannot be written
        return MASK
