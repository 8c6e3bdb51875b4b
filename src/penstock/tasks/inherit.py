"""Options go by the nearest: call, task, queue, app. What is not given is inherited."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias, TypeVar

from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.model.retry import PolicyName, Retry, Strategy

T = TypeVar("T")

MAX_SLOTS = 1_024  # in one worker process
MAX_PROCESSES = 256  # under one supervisor


class Inherit(Enum):
    """Stands for "not given" where None has a meaning of its own."""

    INHERIT = "inherit"

    def __repr__(self) -> str:
        return "inherited"


INHERIT: Final = Inherit.INHERIT
Inherited: TypeAlias = Literal[Inherit.INHERIT]

RetryOption: TypeAlias = Retry | PolicyName | int


def nearest(given: T | Inherited, inherited: T) -> T:
    """What was given, else what is inherited."""
    return inherited if given is INHERIT else given


def time_limit(what: str, value: Duration | None) -> float | None:
    """Read a timeout: more than 0 seconds, or None for no limit."""
    if value is None:
        return None
    limit = in_seconds(what, value)
    if limit == 0:
        raise InvalidOption(f"{what} of 0 would end every run at once; use None for no limit")
    return limit


def count(what: str, value: int, least: int = 0, most: int | None = None) -> int:
    """Read a whole number from `least` up, or to `most`."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"from {least} up" if most is None else f"from {least} to {most}"
        raise InvalidOption(f"{what} takes a whole number {bounds}, not {value!r}")
    return value


def policy(value: RetryOption | None, inherited: Retry) -> Retry:
    """Read a retry option: a policy, the name of one, or another number of attempts for the inherited one."""
    if value is None:
        return inherited
    found = Retry.of(value)
    # A number changes the attempts alone; a policy without retries has no delay to keep.
    if isinstance(value, int) and inherited.strategy is not Strategy.NONE:
        return inherited.with_attempts(found.attempts)
    return found
