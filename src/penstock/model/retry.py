"""When to try again, and how long to wait before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.model.failure import HANDLING, FailureClass, code_of

MAX_ATTEMPTS = 1_000
MAX_DELAY = 366 * 86_400.0
MAX_FACTOR = 1e300


class Strategy(StrEnum):
    EXPONENTIAL = "exponential"
    FIXED = "fixed"
    IMMEDIATE = "immediate"
    NONE = "none"


ErrorName: TypeAlias = type[BaseException] | str
ErrorNames: TypeAlias = ErrorName | Iterable[ErrorName]
StrategyName: TypeAlias = Literal["exponential", "fixed", "immediate", "none"]
PolicyName: TypeAlias = Literal[
    "external_api",
    "database",
    "webhook",
    "gamification",
    "critical",
    "exponential",
    "fixed",
    "immediate",
    "none",
]


@dataclass(frozen=True, slots=True, init=False)
class Retry:
    """A retry policy: how many attempts in all, how long between them, and for which errors.

    `retry_on` and `no_retry_on` hold exception types and error codes. `no_retry_on` wins; where
    `retry_on` is given, only what it names is tried again.
    """

    attempts: int
    delay: float
    strategy: Strategy
    factor: float
    cap: float | None
    jitter: float
    retry_on: tuple[ErrorName, ...]
    no_retry_on: tuple[ErrorName, ...]

    def __init__(
        self,
        attempts: int = 3,
        delay: Duration = 5.0,
        strategy: Strategy | StrategyName = Strategy.EXPONENTIAL,
        factor: float = 2.0,
        cap: Duration | None = None,
        jitter: float = 0.1,
        retry_on: ErrorNames = (),
        no_retry_on: ErrorNames = (),
    ) -> None:
        """Durations are seconds or timedeltas; InvalidOption says what may be."""
        if isinstance(attempts, bool) or not isinstance(attempts, int) or not 1 <= attempts <= MAX_ATTEMPTS:
            raise InvalidOption(f"attempts must be a whole number from 1 to {MAX_ATTEMPTS}")
        put = object.__setattr__  # it is frozen
        put(self, "attempts", attempts)
        put(self, "delay", in_seconds("Retry delay", delay))
        put(self, "strategy", _strategy(strategy))
        put(self, "factor", _number("factor", factor))
        put(self, "cap", None if cap is None else in_seconds("Retry cap", cap))
        put(self, "jitter", _number("jitter", jitter))
        put(self, "retry_on", _named(retry_on))
        put(self, "no_retry_on", _named(no_retry_on))

    @classmethod
    def exponential(
        cls,
        attempts: int = 3,
        delay: Duration = 5.0,
        *,
        factor: float = 2.0,
        cap: Duration | None = None,
        jitter: float = 0.1,
        retry_on: ErrorNames = (),
        no_retry_on: ErrorNames = (),
    ) -> Retry:
        """Wait `delay * factor**n`, up to 10 % longer, never longer than `cap`."""
        return cls(attempts, delay, Strategy.EXPONENTIAL, factor, cap, jitter, retry_on, no_retry_on)

    @classmethod
    def fixed(
        cls,
        attempts: int = 3,
        delay: Duration = 5.0,
        *,
        cap: Duration | None = None,
        jitter: float = 0.1,
        retry_on: ErrorNames = (),
        no_retry_on: ErrorNames = (),
    ) -> Retry:
        """Wait the same time before each attempt, up to 10 % longer."""
        return cls(
            attempts,
            delay,
            Strategy.FIXED,
            cap=cap,
            jitter=jitter,
            retry_on=retry_on,
            no_retry_on=no_retry_on,
        )

    @classmethod
    def immediate(
        cls, attempts: int = 3, *, retry_on: ErrorNames = (), no_retry_on: ErrorNames = ()
    ) -> Retry:
        """Try again at once (two retries unless told otherwise)."""
        return cls(attempts, 0.0, Strategy.IMMEDIATE, retry_on=retry_on, no_retry_on=no_retry_on)

    @classmethod
    def none(cls) -> Retry:
        """One attempt only."""
        return cls(1, 0.0, Strategy.NONE)

    @classmethod
    def of(cls, value: Retry | str | int) -> Retry:
        """Read a policy, the name of one, or a number of attempts."""
        if isinstance(value, Retry):
            return value
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise InvalidOption(
                f"retry takes a policy, its name or a number of attempts, not a {type(value).__name__}"
            )
        if isinstance(value, int):
            return cls(attempts=value)
        if value in POLICIES:
            return POLICIES[value]
        raise InvalidOption(f"unknown retry policy {value!r}; use one of {', '.join(sorted(POLICIES))}")

    def with_attempts(self, attempts: int) -> Retry:
        return replace(self, attempts=attempts)

    def allows(self, error: BaseException, failure_class: FailureClass) -> bool:
        """Whether this error may be tried again, attempts aside."""
        if _matches(error, self.no_retry_on):
            return False
        if self.retry_on:
            return _matches(error, self.retry_on)
        return HANDLING[failure_class].retry

    def wait(self, retries: int, chance: float) -> float:
        """Seconds before the next attempt, after `retries` earlier ones; `chance` in [0, 1) is the jitter."""
        if self.strategy in (Strategy.IMMEDIATE, Strategy.NONE):
            return 0.0
        seconds = min(self._grown(retries), MAX_DELAY) * (1 + self.jitter * chance)
        return min(seconds, self.cap if self.cap is not None else MAX_DELAY)

    def longest(self, timeout: float | None) -> float:
        """Seconds that all attempts and the waits between them may take; runs without a limit count as 0."""
        waits = sum(self.wait(retries, 1.0) for retries in range(self.attempts - 1))
        return waits + self.attempts * (timeout or 0.0)

    def _grown(self, retries: int) -> float:
        if self.strategy is not Strategy.EXPONENTIAL or self.delay == 0:
            return self.delay
        try:
            return self.delay * self.factor ** min(retries, 64)
        except OverflowError:
            return MAX_DELAY


def _matches(error: BaseException, wanted: tuple[ErrorName, ...]) -> bool:
    if not wanted:
        return False
    code = code_of(error)
    return any(code == item if isinstance(item, str) else isinstance(error, item) for item in wanted)


def _strategy(value: Strategy | str) -> Strategy:
    try:
        return Strategy(value)
    except ValueError:
        raise InvalidOption(f"unknown retry strategy {value!r}; use one of {', '.join(Strategy)}") from None


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_FACTOR:
        raise InvalidOption(f"Retry {name} takes a number from 0 up to {MAX_FACTOR:g}")
    return float(value)


def _named(items: Any) -> tuple[ErrorName, ...]:
    if isinstance(items, (str, type)):
        items = (items,)
    if not isinstance(items, Iterable):
        raise InvalidOption(f"retry_on and no_retry_on take exception types and codes, not {items!r}")
    for item in items:
        if not isinstance(item, str) and not (isinstance(item, type) and issubclass(item, BaseException)):
            raise InvalidOption(f"retry_on and no_retry_on take exception types and codes, not {item!r}")
    return tuple(items)


POLICIES: dict[str, Retry] = {
    "external_api": Retry.exponential(
        5,
        1.0,
        cap=60.0,
        retry_on=("ECONNRESET", "ETIMEDOUT", "RATE_LIMITED"),
        no_retry_on=("INVALID_TOKEN", "NOT_FOUND"),
    ),
    "database": Retry.fixed(
        3, 5.0, retry_on=("LOCK_TIMEOUT", "DEADLOCK"), no_retry_on=("CONSTRAINT_VIOLATION",)
    ),
    "webhook": Retry.exponential(5, 30.0, cap=3_600.0),
    "gamification": Retry.exponential(3, 2.0),
    "critical": Retry.none(),
    "exponential": Retry.exponential(),
    "fixed": Retry.fixed(),
    "immediate": Retry.immediate(),
    "none": Retry.none(),
}
