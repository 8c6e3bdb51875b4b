"""How much is measured."""

from __future__ import annotations

from typing import NamedTuple


class Size(NamedTuple):
    rounds: int
    turns: int  # in a round, of what is over soon: enqueueing, pick-up
    singles: int  # enqueued one by one in a turn
    cap: float  # seconds that one measurement may take; a rate is reckoned from what was done by then
    bulk: int
    keyed: int
    drained: int
    picked_up: int  # jobs whose wait is measured, one every 20 ms
    idle: float  # seconds a worker is watched while it has nothing to do: it looks for alerts every 15
    imports: int


FULL = Size(
    rounds=3, turns=3, singles=3_000, cap=2.5, bulk=50_000, keyed=20_000, drained=20_000, picked_up=150,
    idle=60.0, imports=9,
)  # fmt: skip
QUICK = Size(
    rounds=1, turns=1, singles=1_000, cap=1.0, bulk=10_000, keyed=5_000, drained=5_000, picked_up=60,
    idle=15.0, imports=3,
)  # fmt: skip
