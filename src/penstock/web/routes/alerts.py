"""What fires, and what has."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request

from penstock.alerts.config import Alerting
from penstock.alerts.rules import BY_FAILURE
from penstock.model.access import Scope
from penstock.web.doorway import Doorway, ops_of
from penstock.web.guard import needs
from penstock.web.pages import Limit
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.alerts import AlertEntries, Alerts, Rules, RuleView


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["alerts"]}
    service.get("/alerts", response_model=Alerts, **options)(alerts)
    service.get("/alerts/history", response_model=AlertEntries, **options)(history)
    service.get("/alerts/rules", response_model=Rules, **options)(rules)


@needs(Scope.READ, everything=True)
async def alerts(request: Request) -> dict[str, Any]:
    """Every alert that is not over, the worst first, and how the channels were last reached."""
    desk = (await ops_of(request)).alerts
    return {"alerts": await desk.standing(), "channels": await desk.channels()}


@needs(Scope.READ, everything=True)
async def history(request: Request, limit: Limit = 50) -> dict[str, Any]:
    """What has happened to alerts, newest first."""
    return {"entries": await (await ops_of(request)).alerts.history(limit)}


@needs(Scope.READ, everything=True)
async def rules(request: Request) -> Rules:
    """The rules in force here, built in or from penstock.yaml; none where alerts are switched off."""
    doorway: Doorway = request.app.state.doorway
    alerting = doorway.app.alerting
    return Rules(rules=[] if alerting is None else _rules(alerting))


def _rules(alerting: Alerting) -> list[RuleView]:
    return [
        RuleView(
            rule=rule.name,
            severity=rule.severity or BY_FAILURE,
            condition=rule.condition.text,
            channels=list(alerting.told(rule)),
            built_in=rule.built_in,
        )
        for rule in alerting.rules
    ]
