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


@pytest_asyncio.fixture(loop_scope="package", autouse=True)
async def nothing_left_over(shop: Shop) -> AsyncIterator[None]:
    """Every test begins with a clean sheet, and no page goes on working behind those that come after it."""
    shop.complaints.clear()
    yield
    for context in shop.browser.contexts:
        await context.close()
