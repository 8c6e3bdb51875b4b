"""Declaring a queue: options from code and environment, checked and completed by the app's settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.engine import Retention
from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.model.limits import NO_LIMIT, parse_rate
from penstock.model.names import check_name
from penstock.model.priority import Priority, PriorityOption
from penstock.tasks.gate import Gate, Switch, WhenDisabled
from penstock.tasks.inherit import (
    INHERIT,
    Inherited,
    RetryOption,
    count,
    nearest,
    policy,
    time_limit,
)
from penstock.tasks.limited import read_limit
from penstock.tasks.queue import Queue

if TYPE_CHECKING:
    from penstock.tasks.settings import Settings

PREFIX = "PENSTOCK_QUEUE_"
THEIR_PREFIX = "JOB_QUEUE_"  # the documents' name for the same, of which they have the concurrency alone
_SLOTS = "JOB_QUEUE_WORKER_CONCURRENCY"  # theirs too, but of workers
_THEIRS = {"concurrency": "CONCURRENCY", "rate": "LIMITER_MS"}
_SHORT = {"COURSE_GENERATION_QUEUE": "COURSE_GEN"}  # what the documents call their own queue
_WORDS = {
    "true": True,
    "1": True,
    "on": True,
    "yes": True,
    "false": False,
    "0": False,
    "off": False,
    "no": False,
}


def make_queue(
    settings: Settings,
    name: str,
    *,
    concurrency: int | None = None,
    retry: RetryOption | None = None,
    timeout: Duration | Inherited | None = INHERIT,
    priority: PriorityOption | None = None,
    keep_completed: int | Inherited | None = INHERIT,
    keep_failed: int | Inherited | None = INHERIT,
    keep_for: Duration | Inherited | None = INHERIT,
    enabled: Switch = True,
    when_disabled: WhenDisabled = "refuse",
    rate: str | None = None,
    rate_key: str | None = None,
    max_active: int | None = None,
) -> Queue:
    """A queue with every option resolved."""
    what = f"queue {check_name('queue', name)!r}"
    limit = read_limit(what, rate, max_active, "max_active")
    if rate_key is not None and limit == NO_LIMIT:
        raise InvalidOption(f"rate_key= of {what} has nothing to count: give rate= or max_active= too")
    return Queue(
        name=name,
        concurrency=None if concurrency is None else count(f"concurrency of {what}", concurrency, 1),
        retry=policy(retry, settings.default_retry),
        timeout=time_limit(f"timeout of {what}", nearest(timeout, settings.timeout)),
        priority=Priority.MEDIUM if priority is None else Priority.of(priority),
        retention=Retention(
            name,
            _kept(f"keep_completed of {what}", nearest(keep_completed, settings.keep_completed)),
            _kept(f"keep_failed of {what}", nearest(keep_failed, settings.keep_failed)),
            _age(f"keep_for of {what}", nearest(keep_for, settings.keep_for)),
        ),
        gate=Gate(what, enabled, when_disabled),
        limit=limit,
        rate_key=rate_key,
    )


def under_environment(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A queue's options as declared, and over them what the environment says.

    A `rate_key` goes with the limits that it was declared with, where the environment lifts those.
    """
    merged = {**options, **from_environment(name)}
    if _counts(options) and not _counts(merged):
        merged.pop("rate_key", None)
    return merged


def _counts(options: Mapping[str, Any]) -> bool:
    return options.get("rate") is not None or options.get("max_active") is not None


def from_environment(name: str, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What `PENSTOCK_QUEUE_<NAME>_<OPTION>` sets for this queue, over what its code declares."""
    found: dict[str, Any] = {}
    for option, read in OPTIONS.items():
        variable = next((v for v in variables_of(name, option) if v in environ), None)
        if variable is not None:
            try:
                found[option] = read(environ[variable])
            except (ValueError, KeyError):
                raise InvalidOption(f"{variable} has a value that {option} cannot take") from None
    return found


def variables_of(queue: str, option: str) -> list[str]:
    """The environment variables that set an option of a queue, ours first."""
    name = re.sub("[^A-Za-z0-9]", "_", queue).upper()
    names = [f"{PREFIX}{name}_{option.upper()}"]
    theirs = _THEIRS.get(option)
    if theirs is not None:
        found = [f"{THEIR_PREFIX}{n}_{theirs}" for n in (name, _SHORT.get(name, name))]
        names += [variable for variable in found if variable != _SLOTS]
    return names


def _number_or_name(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _bounded(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: None if text.lower() == "none" else read(text)


def _rate(text: str) -> str:
    """`30/s`; or, as the documents have it, the milliseconds between two starts."""
    rate = f"1/{int(text)}ms" if text.isdigit() else text
    parse_rate("rate", rate)
    return rate


OPTIONS: dict[str, Callable[[str], Any]] = {
    "concurrency": int,
    "rate": _bounded(_rate),
    "max_active": _bounded(int),
    "retry": _number_or_name,
    "timeout": _bounded(float),
    "priority": _number_or_name,
    "keep_completed": _bounded(int),
    "keep_failed": _bounded(int),
    "keep_for": _bounded(float),
    "enabled": lambda text: _WORDS[text.lower()],
}


def _kept(what: str, value: int | None) -> int | None:
    return None if value is None else count(what, value)


def _age(what: str, value: Duration | None) -> float | None:
    return None if value is None else in_seconds(what, value)
