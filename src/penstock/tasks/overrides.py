"""What one call asks for instead of what its task declares, and how that travels with the job."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.model.errors import InvalidOption
from penstock.model.retry import Retry
from penstock.model.values import dumps, loads
from penstock.tasks.inherit import INHERIT, Inherited, RetryOption

MAX_OPTIONS_BYTES = 4_096


class Overrides(NamedTuple):
    """A call's own retry policy and timeout, where it has any."""

    retry: RetryOption | None = None
    timeout: float | Inherited | None = INHERIT


def write(retry: RetryOption | None, timeout: float | Inherited | None) -> str | None:
    """The overrides as JSON text for `NewJob.options`; None where there are none."""
    options: dict[str, Any] = {}
    if retry is not None:
        options["retry"] = _plain(retry) if isinstance(retry, Retry) else retry
    if timeout is not INHERIT:
        options["timeout"] = timeout
    return dumps(options, MAX_OPTIONS_BYTES, "options") if options else None


@lru_cache(maxsize=1_024)
def read(options: str) -> Overrides:
    """The overrides in a job's options; InvalidOption where this release does not know them."""
    found = loads(options)
    retry, timeout = found.get("retry"), found.get("timeout", INHERIT)
    return Overrides(_policy(retry) if isinstance(retry, dict) else retry, timeout)


def _policy(stored: dict[str, Any]) -> Retry:
    try:
        return Retry(**stored)
    except TypeError:
        raise InvalidOption("the job's retry policy was written by another release") from None


def _plain(retry: Retry) -> dict[str, Any]:
    for item in (*retry.retry_on, *retry.no_retry_on):
        if not isinstance(item, str):
            raise InvalidOption(
                f"a call's retry policy cannot name the exception type {item.__name__}, which does not "
                "travel as JSON; name its error code, or declare the policy on the task"
            )
    written: dict[str, Any] = {f.name: getattr(retry, f.name) for f in fields(retry)}
    written["strategy"] = retry.strategy.value
    written["retry_on"] = list(retry.retry_on)
    written["no_retry_on"] = list(retry.no_retry_on)
    return written
