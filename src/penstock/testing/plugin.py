"""The pytest plugin: `penstock_box`, over the app that your own fixture `penstock_app` returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.app import Penstock
    from penstock.testing.box import Box


@pytest.fixture
def penstock_app() -> Penstock:
    """Your app. Define a fixture of this name that returns it."""
    pytest.fail("define a fixture `penstock_app` that returns your Penstock app")


@pytest.fixture
def penstock_box(penstock_app: Penstock) -> Iterator[Box]:
    """Your app on an engine in memory, with a clock you move; empty for each test."""
    from penstock.testing.box import sandbox  # noqa: PLC0415 - only for tests that use it

    with sandbox(penstock_app) as box:
        yield box
