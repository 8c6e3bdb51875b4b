"""What one call asks for instead of what its task declares, and how that travels with the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.model.errors import InvalidOption, InvalidValue
from penstock.model.names import check_name
from penstock.model.retry import PolicyName, Retry
from penstock.model.values import dumps, loads
from penstock.tasks.inherit import INHERIT, Inherited, RetryOption, time_limit
from penstock.telemetry.tracing import CARRIED

MAX_OPTIONS_BYTES = 4_096
MAX_TAGS = 10


class Overrides(NamedTuple):
    """A call's own retry policy and timeout, where it has any, and its tags."""

    retry: RetryOption | None = None
    timeout: float | Inherited | None = INHERIT
    tags: tuple[str, ...] = ()


def write(
    retry: RetryOption | None, timeout: float | Inherited | None, tags: tuple[str, ...] = ()
) -> str | None:
    """The overrides as JSON text for `NewJob.options`; None where there are none."""
    options: dict[str, Any] = {}
    if retry is not None:
        options["retry"] = _plain(retry) if isinstance(retry, Retry) else _bare(retry)
    if timeout is not INHERIT:
        options["timeout"] = timeout
    if tags:
        options["tags"] = list(tags)
    return dumps(options, MAX_OPTIONS_BYTES, "options") if options else None


def check_tags(given: Sequence[str]) -> tuple[str, ...]:
    """Each once, in their order."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidOption("tags= takes a list of words: tags=['billing']")
    tags = tuple(dict.fromkeys(check_name("tag", tag) for tag in given))
    if len(tags) > MAX_TAGS:
        raise InvalidOption(f"a job has {MAX_TAGS} tags at most, not {len(tags)}")
    return tags


def _bare(retry: PolicyName | int) -> str | int:
    """Without the subclass it may be of, an enum's for one, which JSON would not bring back."""
    return int(retry) if isinstance(retry, int) else str.__str__(retry)


@lru_cache(maxsize=1_024)
def read(options: str) -> Overrides:
    """The overrides in a job's options; InvalidValue where they are not what this release knows.

    They may come from another release, or from somebody who wrote SQL.
    """
    try:
        return _read(loads(options))
    except (InvalidOption, InvalidValue, TypeError) as error:
        raise InvalidValue(
            f"the job's options cannot be read: {error}. They look like "
            '{"timeout": 60, "retry": {"attempts": 5, "delay": 10}}; enqueue the job again with such'
        ) from None


def _read(stored: Any) -> Overrides:
    if not isinstance(stored, dict):
        raise InvalidOption("they are not an object")
    if unknown := stored.keys() - {*Overrides._fields, *CARRIED}:
        raise InvalidOption(f"there is no option {min(unknown)!r}")
    return Overrides(_retry(stored.get("retry")), _timeout(stored), check_tags(stored.get("tags") or ()))


def _timeout(stored: dict[str, Any]) -> float | Inherited | None:
    return time_limit("timeout", stored["timeout"]) if "timeout" in stored else INHERIT


def _retry(stored: Any) -> RetryOption | None:
    if stored is None:
        return None
    if isinstance(stored, dict):
        return Retry(**stored)
    Retry.of(stored)
    chosen: PolicyName | int = stored
    return chosen


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
