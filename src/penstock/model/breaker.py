"""Circuit breakers. Pure: engines keep the state, and call this or say the same in SQL or Lua.

closed      everything may start; failures are counted, a success zeroes them
open        nothing may start until `reset` seconds have passed
half-open   `probes` may run at once in the whole fleet; one success closes it, one failure opens it again
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """A breaker as declared."""

    name: str
    threshold: int = 5  # failures in a row that open it
    reset: float = 60.0  # seconds until it is tried again
    probes: int = 1  # at once, in all, while it is tried
    failure_rate: float | None = None  # opens by the share of failures instead, over `window` seconds
    window: float = 60.0
    minimum: int = 20  # runs in a window, below which the share says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """A breaker as it stands."""

    breaker: Breaker
    circuit: Circuit = Circuit.CLOSED
    failures: int = 0  # in a row; by share: in the window
    runs: int = 0  # in the window, where it opens by share
    since: datetime | None = None  # when it came to be as it is
    probing: int = 0  # probes under way
    retry_in: float | None = None  # seconds until it may be tried; None while closed


class Standing(NamedTuple):
    """What an engine stores of a breaker, besides its declaration; instants in seconds."""

    circuit: Circuit = Circuit.CLOSED
    failures: int = 0
    runs: int = 0
    window_from: float = 0.0
    since: float = 0.0  # of the circuit's present state
    probes: tuple[tuple[str, float], ...] = ()  # who probes, and until when that counts


FOREVER = 1e18  # the end of a probe that somebody is sure to report, a job's


def look(breaker: Breaker, standing: Standing, now: float) -> Standing:
    """As it stands now: what was open long enough is half-open, probes whose time has passed are gone."""
    if standing.circuit is Circuit.OPEN and now >= standing.since + breaker.reset:
        return standing._replace(circuit=Circuit.HALF_OPEN, since=standing.since + breaker.reset, probes=())
    if standing.circuit is Circuit.HALF_OPEN:
        return standing._replace(probes=tuple(p for p in standing.probes if p[1] > now))
    return standing


def room(breaker: Breaker, standing: Standing) -> int | None:
    """How many more may start, after `look`; None: no bound."""
    if standing.circuit is Circuit.CLOSED:
        return None
    return 0 if standing.circuit is Circuit.OPEN else max(0, breaker.probes - len(standing.probes))


def retry_in(breaker: Breaker, standing: Standing, now: float) -> float | None:
    """Seconds until it may be tried; None while it is closed, or where only a probe's end tells more."""
    return max(0.0, standing.since + breaker.reset - now) if standing.circuit is Circuit.OPEN else None


def enter(standing: Standing, permit: str, until: float = FOREVER) -> Standing:
    """Somebody starts, under the name `permit`; remembered only where it is a probe."""
    if standing.circuit is not Circuit.HALF_OPEN:
        return standing
    return standing._replace(probes=(*standing.probes, (permit, until)))


def report(breaker: Breaker, standing: Standing, permit: str, healthy: bool | None, now: float) -> Standing:
    """A run ended; `healthy` None says nothing of the service and gives a probe's place back."""
    if standing.circuit is Circuit.HALF_OPEN:
        mine = any(name == permit for name, _ in standing.probes)
        if healthy is None or not mine:
            return standing._replace(probes=tuple(p for p in standing.probes if p[0] != permit))
        return _closed(now) if healthy else _opened(standing, now)
    if standing.circuit is Circuit.OPEN or healthy is None:
        return standing
    if breaker.failure_rate is not None:
        return _by_share(breaker, standing, healthy, now)
    if healthy:
        return standing._replace(failures=0)
    standing = standing._replace(failures=standing.failures + 1)
    return _opened(standing, now) if standing.failures >= breaker.threshold else standing


def _by_share(breaker: Breaker, standing: Standing, healthy: bool, now: float) -> Standing:
    assert breaker.failure_rate is not None
    if now >= standing.window_from + breaker.window:
        standing = standing._replace(window_from=now, failures=0, runs=0)
    standing = standing._replace(runs=standing.runs + 1, failures=standing.failures + (not healthy))
    enough = standing.runs >= breaker.minimum and standing.failures >= breaker.failure_rate * standing.runs
    return _opened(standing, now) if enough and not healthy else standing


def _opened(standing: Standing, now: float) -> Standing:
    return standing._replace(circuit=Circuit.OPEN, since=now, probes=())


def _closed(now: float) -> Standing:
    return Standing(since=now, window_from=now)


def forced(circuit: Circuit, now: float) -> Standing:
    """A person said so: closed, with nothing counted; or open, until it is tried again."""
    return _closed(now) if circuit is Circuit.CLOSED else Standing(Circuit.OPEN, since=now)


def as_seen(breaker: Breaker, standing: Standing, now: float, since: datetime | None) -> BreakerState:
    """For people."""
    return replace(
        BreakerState(breaker=breaker),
        circuit=standing.circuit,
        failures=standing.failures,
        runs=standing.runs,
        since=since,
        probing=len(standing.probes),
        retry_in=retry_in(breaker, standing, now),
    )
