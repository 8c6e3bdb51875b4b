"""Circuit breakers."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request

from penstock.model.access import Scope
from penstock.model.breaker import BreakerState, Circuit
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES, not_found
from penstock.web.shapes.breakers import Breakers, BreakerSet, BreakerView
from penstock.web.shapes.fields import Why


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["breakers"]}
    service.get("/breakers", response_model=Breakers, **options)(breakers)
    service.post("/breakers/{name}/reset", response_model=BreakerSet, **options)(reset)
    service.post("/breakers/{name}/open", response_model=BreakerSet, **options)(open_)


@needs(Scope.READ, everything=True)
async def breakers(request: Request) -> Breakers:
    """Every circuit breaker, as it stands."""
    return Breakers(breakers=[_view(state) for state in await (await ops_of(request)).breakers()])


@needs(Scope.OPERATE, everything=True)
async def reset(request: Request, name: str, why: Why | None = None) -> BreakerSet:
    """Close a breaker: the service is well, let its jobs go."""
    await _set(request, name, Circuit.CLOSED, why)
    return BreakerSet(name=name, state="closed")


@needs(Scope.OPERATE, everything=True)
async def open_(request: Request, name: str, why: Why | None = None) -> BreakerSet:
    """Open a breaker: hold the jobs that need it until it is tried again."""
    await _set(request, name, Circuit.OPEN, why)
    return BreakerSet(name=name, state="open")


async def _set(request: Request, name: str, circuit: Circuit, why: Why | None) -> None:
    ops = await ops_of(request, why)
    if name not in {state.breaker.name for state in await ops.breakers()}:
        raise not_found()
    await ops.set_breaker(name, circuit)


def _view(state: BreakerState) -> BreakerView:
    breaker = state.breaker
    return BreakerView(
        name=breaker.name,
        state=state.circuit.value,
        since=state.since,
        failures=state.failures,
        runs=state.runs,
        probing=state.probing,
        retry_in=state.retry_in,
        threshold=breaker.threshold,
        reset=breaker.reset,
        probes=breaker.probes,
        failure_rate=breaker.failure_rate,
    )
