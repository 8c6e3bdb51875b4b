"""Before a worker begins: is the place where jobs live safe?"""

from __future__ import annotations

import logging
from collections.abc import Collection

from penstock.engine import Engine, Level
from penstock.model.errors import EngineUnsafe

log = logging.getLogger("penstock.worker")


async def check_safety(engine: Engine, accepted: Collection[str]) -> None:
    """EngineUnsafe where jobs could be lost in a way that was not accepted by name."""
    refused = []
    for finding in await engine.examine():
        if finding.level is Level.UNSAFE and finding.name not in accepted:
            refused.append(finding)
        elif finding.level is not Level.OK:
            level = logging.WARNING if finding.level is Level.UNSAFE else logging.INFO
            log.log(level, "%s: %s", finding.name, finding.text)
    if refused:
        what = "; ".join(f"{finding.name}: {finding.text}" for finding in refused)
        names = ",".join(finding.name for finding in refused)
        raise EngineUnsafe(f"{what}. To work all the same set PENSTOCK_ACCEPT_UNSAFE={names}")
