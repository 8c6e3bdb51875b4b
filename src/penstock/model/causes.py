"""What lies behind an error: what caused it, and the members of a group. Bounded, and without values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from penstock.model.failure import message_of, shorten, traceback_of, type_of
from penstock.model.redaction import Clean, redacted

MAX_CAUSES = 8
MAX_CAUSE_MESSAGE = 500
MAX_CAUSE_TRACEBACK = 1_500


def causes_of(error: BaseException, clean: Clean = redacted) -> tuple[dict[str, Any], ...]:
    """The nearest few. `how`: cause (raised from it), context (raised while handling it) or member."""
    found: list[dict[str, Any]] = []
    seen = {id(error)}
    waiting = deque(_behind(error))
    while waiting and len(found) < MAX_CAUSES:
        how, cause = waiting.popleft()
        if id(cause) not in seen:
            seen.add(id(cause))
            found.append(_record(how, cause, clean))
            waiting.extend(_behind(cause))
    return tuple(found)


def _behind(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    if error.__cause__ is not None:
        yield "cause", error.__cause__
    elif error.__context__ is not None and not error.__suppress_context__:
        yield "context", error.__context__
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield "member", member


def _record(how: str, error: BaseException, clean: Clean) -> dict[str, Any]:
    return {
        "how": how,
        "type": type_of(error),
        "message": shorten(message_of(error, clean), MAX_CAUSE_MESSAGE),
        "traceback": shorten(traceback_of(error, clean), MAX_CAUSE_TRACEBACK),
    }
