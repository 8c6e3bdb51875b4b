"""The contract, over Redis with a ledger beside it: what is true of an engine alone is true of the two."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from conformance import (
    test_cancel,
    test_claim,
    test_debounce,
    test_delete,
    test_enqueue,
    test_expire,
    test_feed,
    test_flows,
    test_notes,
    test_outlook,
    test_owing,
    test_parked,
    test_pause,
    test_progress,
    test_promote,
    test_prune,
    test_recover,
    test_release,
    test_reschedule,
    test_rescue,
    test_rescue_bad_jobs,
    test_rescue_worker,
    test_schedules,
    test_series,
    test_settle,
    test_settle_claims,
    test_settle_fence,
    test_stage,
    test_standing,
    test_steps,
    test_survey,
    test_then,
    test_ties,
    test_ties_on_failure,
    test_values,
    test_windows,
)
from conformance.kit import Place
from conftest import lent, make_place

MODULES = (
    test_cancel, test_claim, test_debounce, test_delete, test_enqueue, test_expire, test_feed, test_flows,
    test_notes, test_outlook, test_owing, test_parked, test_pause, test_progress, test_promote, test_prune,
    test_recover, test_release, test_reschedule, test_rescue, test_rescue_bad_jobs, test_rescue_worker,
    test_schedules, test_series, test_settle, test_settle_claims, test_settle_fence, test_stage,
    test_standing, test_steps, test_survey, test_then, test_ties, test_ties_on_failure, test_values,
    test_windows,
)  # fmt: skip

for module in MODULES:
    for name, test in vars(module).items():
        if name.startswith("test_") and callable(test):
            globals()[f"{name}__{module.__name__.rpartition('.')[2].removeprefix('test_')}"] = test


def ledgered(kind: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    """Redis, and a ledger that nobody has used before."""
    place = make_place("redis", folder, request)
    if kind == "sqlite":
        return replace(place, ledger=f"sqlite:///{folder / secrets.token_hex(4)}.db")
    return replace(place, ledger=request.getfixturevalue("postgres_url"))


# One set of statements serves both databases; `make test LEDGERS=postgres,sqlite` runs the suite over either.
LEDGERS = os.environ.get("LEDGERS", "postgres").split(",")


@pytest.fixture(params=LEDGERS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    place = ledgered(request.param, tmp_path, request)
    with lent(place) if "engine" in request.fixturenames else nullcontext(place) as found:
        yield found


@pytest.fixture(params=LEDGERS)
def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    place = ledgered(request.param, tmp_path, request)
    with lent(place) if "make_engine" in request.fixturenames else nullcontext(place) as found:
        yield found
