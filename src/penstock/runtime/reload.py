"""Seeing that the code has changed, by asking the file system now and then."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

log = logging.getLogger("penstock.reload")

EVERY = 0.5  # seconds
IGNORED = frozenset({"__pycache__", "node_modules", "site-packages", "dist", "build"})


class Reloader:
    """Calls back when a Python file below `root` appears, changes or goes away."""

    def __init__(self, changed: Callable[[], Awaitable[None]], root: Path | None = None) -> None:
        self._changed = changed
        self._root = root or Path.cwd()
        self._seen = self._look()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self.round()

    async def round(self) -> None:
        """One look; a change is told once."""
        now = await asyncio.to_thread(self._look)
        if now != self._seen:
            changed = sorted(path for path, _ in now.items() ^ self._seen.items())
            self._seen = now
            log.info("%s changed; starting anew", changed[0])
            await self._changed()

    def _look(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for folder, folders, files in os.walk(self._root):
            folders[:] = [f for f in folders if not f.startswith(".") and f not in IGNORED]
            for name in files:
                if name.endswith(".py"):
                    path = Path(folder, name)
                    try:
                        found[str(path)] = path.stat().st_mtime
                    except FileNotFoundError:
                        continue
        return found
