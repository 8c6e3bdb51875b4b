"""One shop and one browser for all: each test makes the jobs it looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from dashboard.kit import Shop, open_shop


@pytest_asyncio.fixture(loop_scope="package", scope="package")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    async with open_shop(tmp_path_factory.mktemp("shop")) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_to_complain_of(shop: Shop) -> None:
    """Every test begins with a clean sheet; those that look at it say so."""
    shop.complaints.clear()
