"""`penstock serve`: the service on a socket of its own."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI

from penstock.app import Penstock
from penstock.model.errors import InvalidOption
from penstock.model.hosts import is_loopback
from penstock.runtime import signals

GRACE = 10  # seconds that requests under way get to end


async def check_address(app: Penstock, host: str) -> None:
    """InvalidOption where others could come in, and there is no token by which to tell them apart."""
    if is_loopback(host):
        return
    async with app:
        if not await app.ops.tokens.any():
            raise InvalidOption(
                f"there are no tokens, so that everybody who reaches {host} could do everything: make one "
                "with `penstock token create`, or serve on 127.0.0.1"
            )


async def serve(service: FastAPI, host: str, port: int, log_level: str) -> None:
    """Serve until a signal comes."""
    config = uvicorn.Config(
        service,
        host=host,
        port=port,
        log_level=log_level.lower(),
        log_config=None,  # what it logs goes where ours goes, and is as clean
        access_log=False,
        server_header=False,
        # Who asks is who connects: a header that says otherwise could be anybody's.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=16_384,
    )
    # Uvicorn answers the signals, and raises them once more when it has ended: that is then no news.
    signals.answer_by(lambda: None)
    await uvicorn.Server(config).serve()
    signals.ignore()
