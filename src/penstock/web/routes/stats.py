"""How the queues do: for people, for charts, and for Prometheus."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, Response

from penstock.alerts.gauges import Gauge
from penstock.model.access import Scope
from penstock.telemetry.metrics import Point, Snapshot
from penstock.telemetry.prometheus import CONTENT_TYPE, prometheus_text
from penstock.web.doorway import Doorway, ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.fields import Name
from penstock.web.shapes.gauges import Gauges, LatelyView
from penstock.web.shapes.stats import SeriesView, StatsView


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": dict(RESPONSES), "tags": ["metrics"]}
    service.get("/stats", response_model=StatsView, **options)(stats)
    service.get("/stats/series", response_model=SeriesView, **options)(series)
    service.get("/stats/gauges", response_model=Gauges, **options)(gauges)
    service.get("/stats/lately", response_model=LatelyView, **options)(lately)
    options["responses"] |= {501: RESPONSES[503] | {"description": "penstock[metrics] is not installed"}}
    service.get("/metrics", response_class=PlainTextResponse, **options)(metrics)


@needs(Scope.READ, everything=True)
async def stats(request: Request) -> Snapshot:
    """Every queue and task over the last minute."""
    return await (await ops_of(request)).metrics.snapshot()


@needs(Scope.READ, everything=True)
async def series(
    request: Request, span: Literal["hour", "day", "week"] = "hour", queue: Name | None = None
) -> dict[str, list[Point]]:
    """The last hour, day or week in equal steps, oldest first."""
    return {"points": await (await ops_of(request)).metrics.series(span, queue)}


@needs(Scope.READ, everything=True)
async def gauges(
    request: Request, span: Literal["hour", "day"] = "hour", queue: Name | None = None
) -> dict[str, list[Gauge]]:
    """How deep queues were, and what else stood, over the last hour or day, oldest first."""
    return {"points": await (await ops_of(request)).alerts.gauges(span, queue)}


@needs(Scope.READ, everything=True)
async def lately(request: Request) -> LatelyView:
    """The last hour of every queue, for a small line beside its name."""
    return LatelyView(completed=await (await ops_of(request)).metrics.lately())


@needs(Scope.READ, everything=True, free="")  # scrapers may append what they like
async def metrics(request: Request) -> Response:
    """The same as text for Prometheus, with counters that only grow."""
    doorway: Doorway = request.app.state.doorway
    return Response(await prometheus_text(await doorway.open()), media_type=CONTENT_TYPE)
