"""Circuit breakers: declared, asked, told, and set by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.engine import Entry
from penstock.engines.postgres.base import Base
from penstock.engines.postgres.database import Call
from penstock.model.breaker import Breaker, BreakerState, Circuit


class Breakers(Base):
    """What a claim and a settle have to do with them is in their own statements."""

    async def put_breakers(self, breakers: Sequence[Breaker]) -> None:
        await self._do("put_breakers", breakers=json.dumps([_declared(breaker) for breaker in breakers]))

    async def breakers(self) -> list[BreakerState]:
        return [breaker_state(*row) for row in await self._do("breakers")]

    async def enter_breaker(self, name: str, permit: str) -> Entry:
        ((allowed, retry_in),) = await self._do("enter_breaker", breaker=name, permit=permit)
        return Entry(allowed, retry_in)

    async def report_breaker(self, name: str, permit: str, healthy: bool | None) -> None:
        values = {"breaker": name, "permit": permit, "healthy": healthy, "now": self._clock.now()}
        await self._database.run(Call(self._sql["report_breaker"], values), repeatable=False)

    async def set_breaker(self, name: str, circuit: Circuit) -> bool:
        return bool(await self._do("set_breaker", breaker=name, circuit=circuit.value))


def _declared(breaker: Breaker) -> dict[str, Any]:
    return {
        "name": breaker.name,
        "threshold": breaker.threshold,
        "reset": breaker.reset,
        "probes": breaker.probes,
        "failure_rate": breaker.failure_rate,
        "window_length": breaker.window,
        "minimum": breaker.minimum,
    }


def breaker_state(
    name: str,
    threshold: int,
    reset: float,
    probes: int,
    failure_rate: float | None,
    window: float,
    minimum: int,
    circuit: str,
    failures: int,
    runs: int,
    since: Any,
    probing: int,
    retry_in: float | None,
) -> BreakerState:
    """A breaker from its row."""
    breaker = Breaker(
        name=name,
        threshold=threshold,
        reset=reset,
        probes=probes,
        failure_rate=failure_rate,
        window=window,
        minimum=minimum,
    )
    return BreakerState(
        breaker=breaker,
        circuit=Circuit(circuit),
        failures=failures,
        runs=runs,
        since=since,
        probing=probing,
        retry_in=retry_in,
    )
