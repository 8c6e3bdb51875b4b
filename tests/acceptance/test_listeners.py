"""F67 in small: clients that do not read, and clients that vanish, cost the server next to nothing."""

from __future__ import annotations

from pathlib import Path

from chaos.listeners import SMALL, measure


async def test_a_crowd_of_listeners_of_whom_some_never_read_costs_next_to_nothing(tmp_path: Path) -> None:
    found = await measure(SMALL, tmp_path)
    readers = SMALL.clients - SMALL.deaf - SMALL.gone
    assert found.heard >= readers * SMALL.jobs
    assert found.grown <= 10
