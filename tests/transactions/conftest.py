"""Shops on every engine that has transactions: their own tables beside the jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from conftest import lent as lent_place
from conftest import make_place, no_leaks
from penstock.model.clock import FakeClock
from transactions.shop import Shop


@pytest.fixture(params=["sqlite", "memory", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Shop]:
    """An open app with a table of charges in the database of its jobs."""
    with lent_place(make_place(request.param, tmp_path, request)) as place, no_leaks():
        shop = Shop(place, clock)
        await shop.app.migrate()
        async with shop.app:
            await shop.make_table()
            yield shop
            await shop.drop_table()
        shop.errors.clear()  # which hold on to the statements in which they were raised
