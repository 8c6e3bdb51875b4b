"""What was measured: by whom, of what, once per round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

OURS = "penstock"
RAW = "raw"


class Samples:
    """The figures of one engine. A figure stands for the median of its rounds."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self._values: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.notes: list[str] = []

    def add(self, who: str, what: str, value: float) -> None:
        self._values[who, what].append(value)

    def get(self, who: str, what: str) -> float | None:
        values = self._values.get((who, what))
        return median(values) if values else None

    def of(self, who: str) -> list[str]:
        """What was measured of `who`, in the order in which it first was."""
        return [what for name, what in self._values if name == who]

    def peers(self, what: str) -> Iterator[tuple[str, float]]:
        """Every peer of which the same was measured."""
        for name, measured in self._values:
            if measured == what and name not in (OURS, RAW):
                yield name, median(self._values[name, what])

    def rows(self) -> list[dict[str, object]]:
        return [
            {"engine": self.engine, "who": who, "what": what, "median": median(values), "rounds": values}
            for (who, what), values in self._values.items()
        ]
