"""The same random programs on SQLite, PostgreSQL and Redis: the same answers, step by step."""

from __future__ import annotations

import os
import random

import pytest

from conformance.trio import Trio
from conftest import make_place
from penstock.model.clock import FakeClock

KINDS = ("memory", "postgres", "redis")
PROGRAMS = 400 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 12
STEPS = 120


@pytest.mark.parametrize("seed", range(PROGRAMS))
async def test_engines_give_the_same_answers_to_the_same_program(seed, tmp_path, request):
    clock = FakeClock()
    engines = {kind: make_place(kind, tmp_path, request).engine(clock) for kind in KINDS}
    try:
        for engine in engines.values():
            await engine.migrate()
            await engine.open()
        await Trio(engines, clock, random.Random(seed)).run(STEPS)
    finally:
        for engine in engines.values():
            await engine.close()
