"""Breakers, shared by all workers."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

from penstock.engine import Entry
from penstock.engines.redis.inspect import Inspection
from penstock.engines.redis.instants import SECOND, instant_or_none, micro
from penstock.model.breaker import Breaker, BreakerState, Circuit

_DECLARED = Struct("<dddddd")  # see _breakers.lua
_CIRCUITS = {b"c": Circuit.CLOSED, b"o": Circuit.OPEN, b"h": Circuit.HALF_OPEN}


class Breakers(Inspection):
    """The verbs of breakers."""

    async def put_breakers(self, breakers: Sequence[Breaker]) -> None:
        if breakers:
            declared = [word for breaker in breakers for word in (breaker.name.encode(), _pack(breaker))]
            await self._do("put_breakers", *declared)

    async def enter_breaker(self, name: str, permit: str) -> Entry:
        allowed, after = await self._do("enter_breaker", name.encode(), permit.encode())
        return Entry(allowed == b"1", _seconds(after))

    async def report_breaker(self, name: str, permit: str, healthy: bool | None) -> None:
        told = b"" if healthy is None else b"1" if healthy else b"0"
        await self._do("report_breaker", name.encode(), permit.encode(), told)

    async def set_breaker(self, name: str, circuit: Circuit) -> bool:
        letter = b"c" if circuit is Circuit.CLOSED else b"o"
        return bool(await self._do("set_breaker", name.encode(), letter))

    async def breakers(self) -> list[BreakerState]:
        return read_breakers(await self._do("breakers"))


def read_breakers(answer: list[Any]) -> list[BreakerState]:
    """The breakers that `breakers.lua` tells."""
    found = [
        BreakerState(
            breaker=_read(name.decode(), raw),
            circuit=_CIRCUITS[circuit],
            failures=failures,
            runs=runs,
            since=instant_or_none(int(since)),
            probing=probing,
            retry_in=_seconds(after),
        )
        for name, raw, circuit, failures, runs, since, probing, after in zip(*[iter(answer)] * 8, strict=True)
    ]
    return sorted(found, key=lambda state: state.breaker.name)


def _pack(breaker: Breaker) -> bytes:
    share = -1.0 if breaker.failure_rate is None else breaker.failure_rate
    reset, window = micro(breaker.reset), micro(breaker.window)
    return _DECLARED.pack(breaker.threshold, reset, breaker.probes, share, window, breaker.minimum)


def _read(name: str, raw: bytes) -> Breaker:
    threshold, reset, probes, share, window, minimum = _DECLARED.unpack(raw)
    return Breaker(
        name=name,
        threshold=int(threshold),
        reset=reset / SECOND,
        probes=int(probes),
        failure_rate=None if share < 0 else share,
        window=window / SECOND,
        minimum=int(minimum),
    )


def _seconds(micros: bytes) -> float | None:
    return int(micros) / SECOND if micros else None
