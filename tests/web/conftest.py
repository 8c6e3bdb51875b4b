"""One shop for each test, in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from web.kit import Shop, make_shop, open_shop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")) as made:
        yield made
