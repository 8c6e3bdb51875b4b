"""Looking for alerts from the service: somebody must, when no worker is alive."""

from __future__ import annotations

import asyncio
import secrets

from penstock.alerts.watch import AlertWatch
from penstock.model.errors import EngineError
from penstock.web.doorway import Doorway

LOOP = "alerts"
AWAY = 5.0  # seconds until an engine that cannot be opened is tried again
STUCK = 600.0  # seconds in which it must have come round; an engine that is away takes less


async def watch_alerts(doorway: Doorway) -> None:
    """Until cancelled. Of all processes that do, workers too, one looks at a time."""
    alerting = doorway.app.alerting
    if alerting is None:
        return
    pulse = doorway.pulse
    try:
        while True:
            pulse.beat(LOOP, STUCK)
            try:
                app = await doorway.open()
            except EngineError:
                await asyncio.sleep(AWAY)
            else:
                watch = AlertWatch(app.engine, app.registry, alerting, f"serve-{secrets.token_hex(8)}")
                await watch.run(lambda: pulse.beat(LOOP, STUCK + alerting.every))
    finally:
        pulse.ended(LOOP)
