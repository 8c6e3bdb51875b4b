"""The service looks for alerts, and its liveness tells when it does so no more."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.web import watching
from penstock.web.watching import watch_alerts
from web.kit import make_shop, open_shop, reached


async def test_without_any_worker_the_service_tells_that_none_is_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.yaml").write_text("every: 1s")
    monkeypatch.setenv("PENSTOCK_ALERTS", str(tmp_path / "rules.yaml"))
    async with open_shop(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")) as shop:
        await shop.enqueue(delay=0.1)  # which nobody but the service makes due
        doorway = shop.service.state.doorway
        task = asyncio.create_task(watch_alerts(doorway))

        async def told() -> bool:
            return any(alert.rule == "worker_down" for alert in await shop.app.ops.alerts.standing())

        await reached(20, told)
        assert (await shop.ask("GET", "/healthz", None)).status_code == 200
        doorway.pulse.beat(watching.LOOP, -1)
        assert (await shop.ask("GET", "/healthz", None)).status_code == 503
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert (await shop.ask("GET", "/healthz", None)).status_code == 200, "it has ended as it was meant to"
