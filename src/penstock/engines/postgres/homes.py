"""Which database the jobs of a URL live in: a lent connection to another one is refused."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import psycopg

from penstock.engines.postgres.catalog import catalog
from penstock.engines.postgres.pool import options_of

log = logging.getLogger("penstock.engine")

PATIENCE = 2  # seconds to connect
AGAIN_AFTER = 600.0  # seconds, where it could not be asked


class Homes:
    """Asked once for each URL and schema, over a connection of our own, and kept."""

    def __init__(self) -> None:
        self._gate = threading.Lock()  # for all below
        self._known: dict[tuple[str, str], str] = {}
        self._ask_at: dict[tuple[str, str], float] = {}

    def name(self, url: str, schema: str) -> str | None:
        """None where it cannot be asked: then the caller's word stands."""
        with self._gate:
            known = self._known.get((url, schema))
            if known is None and time.monotonic() >= self._ask_at.get((url, schema), 0.0):
                known = self._ask(url, schema)
            return known

    async def aname(self, url: str, schema: str) -> str | None:
        """The same, without keeping the loop."""
        return self._known.get((url, schema)) or await asyncio.to_thread(self.name, url, schema)

    def _ask(self, url: str, schema: str) -> str | None:
        options = {**options_of(url), "connect_timeout": PATIENCE}
        try:
            with psycopg.connect(**options, autocommit=True, prepare_threshold=None) as connection:
                row = connection.execute(catalog(schema)["identity"].encode()).fetchone()
        except psycopg.Error as error:
            self._ask_at[url, schema] = time.monotonic() + AGAIN_AFTER
            log.info("whether lent connections lead to the jobs is not checked: %s", type(error).__name__)
            return None
        assert row is not None
        known: str = row[0]
        self._known[url, schema] = known
        return known


homes = Homes()
