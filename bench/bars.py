"""The numbers to hold (section 6 of the design), each as a question to the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench.samples import OURS, Samples


@dataclass(frozen=True)
class Bar:
    """`what` must be at least (or at most) `bound`, or `bound` times what a peer does in the same run."""

    engine: Literal["sqlite", "postgres", "redis", "any"]
    what: str
    kind: Literal["least", "most"]
    bound: float
    unit: str = ""
    peer: str | None = None
    of: str | None = None  # what the peer is measured by; None: the same

    @property
    def text(self) -> str:
        sign = "≥" if self.kind == "least" else "≤"
        if self.peer is not None:
            return f"{sign} {self.bound:g}× {self.peer}" + (f" ({self.of})" if self.of else "")
        return f"{sign} {self.bound:,g}{self.unit}"

    def holds(self, samples: Samples) -> bool | None:
        """None: not measured."""
        ours = samples.get(OURS, self.what)
        beside = 1.0 if self.peer is None else samples.get(self.peer, self.of or self.what)
        if ours is None or beside is None:
            return None
        return ours >= self.bound * beside if self.kind == "least" else ours <= self.bound * beside


BARS = (
    Bar("postgres", "drain, 100 slots", "least", 2, peer="pgqueuer"),
    Bar("postgres", "drain, 100 slots, not kept", "least", 26_000, "/s (graphile-worker, seen elsewhere)"),
    Bar("postgres", "enqueue", "least", 1.2, peer="pgqueuer"),
    Bar("postgres", "enqueue", "least", 1.2, peer="procrastinate"),
    Bar("postgres", "enqueue, 50 callers", "least", 5, peer="pgqueuer", of="enqueue"),
    Bar("postgres", "bulk, given keys", "least", 40_000, "/s"),
    Bar("postgres", "pick-up, p50", "most", 2.5, " ms"),
    Bar("postgres", "idle, server calls", "most", 2, "/s"),
    Bar("postgres", "enqueue, 32 clients, wake-ups on : off", "least", 0.9),
    Bar("redis", "drain, 100 slots", "least", 4, peer="bullmq"),
    Bar("redis", "drain, 100 slots", "least", 17, peer="dramatiq"),
    Bar("redis", "enqueue", "least", 1.2, peer="bullmq"),
    Bar("redis", "enqueue", "least", 1.2, peer="dramatiq"),
    Bar("redis", "enqueue, 50 callers", "least", 5, peer="dramatiq", of="enqueue"),
    Bar("redis", "bulk, calls made before", "least", 100_000, "/s"),
    Bar("redis", "pick-up, p50", "most", 1, " ms"),
    Bar("redis", "idle, server calls", "most", 2, "/s"),
    Bar("sqlite", "drain, 100 slots", "least", 10, peer="huey"),
    Bar("sqlite", "drain, 100 slots", "least", 3, peer="litequeue"),
    Bar("sqlite", "enqueue, 50 callers", "least", 5, peer="huey", of="enqueue"),
    Bar("sqlite", "pick-up, p50", "most", 5, " ms"),
    Bar("any", "bulk", "least", 100_000, "/s"),
    Bar("any", "pick-up, p99", "most", 10, " ms"),
    Bar("any", "idle, CPU", "most", 1, " %"),
    Bar("any", "import penstock", "most", 150, " ms"),
    Bar("any", "memory, worker process", "most", 60, " MB"),
)


def bars_of(engine: str, what: str) -> list[Bar]:
    return [bar for bar in BARS if bar.engine in (engine, "any") and bar.what == what]
