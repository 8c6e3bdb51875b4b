"""Opening a database, by a caller who may give up."""

from __future__ import annotations

import asyncio
import threading

import pytest

from conftest import no_leaks
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.engines.sqlite.parts import Parts


async def test_an_opening_that_is_cancelled_leaves_nothing_open(tmp_path, monkeypatch):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.migrate()
    begun = threading.Event()
    really_open, others = Parts.open, set(threading.enumerate())

    def told(*args):
        begun.set()
        return really_open(*args)

    monkeypatch.setattr(Parts, "open", told)
    with no_leaks():
        opening = asyncio.create_task(engine.open())
        await asyncio.to_thread(begun.wait)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        ours = set(threading.enumerate()) - others
        assert "penstock-sqlite-writer" not in [thread.name for thread in ours]
