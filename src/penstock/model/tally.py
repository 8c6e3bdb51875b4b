"""How far a count has come that is made in bounded looks; whoever counts carries it from look to look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from penstock.model.errors import ActionRefused
from penstock.model.states import State

_WRONG = "`after` takes the `next` of the look before; look again"


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted of what was there at the cut-off, and the place to go on at."""

    cut_off: datetime
    place: str
    by_state: Mapping[State, int]

    def text(self) -> str:
        """As `Tally.read` takes it."""
        counted = ",".join(f"{state}={count}" for state, count in self.by_state.items())
        return f"{self.cut_off.isoformat()}|{self.place}|{counted}"

    @staticmethod
    def read(text: str) -> Tally:
        """What `text` gave; ActionRefused for anything else."""
        try:
            cut_off, place, counted = text.split("|")
            pairs = (pair.split("=") for pair in counted.split(",") if pair)
            by_state = {State(name): int(count) for name, count in pairs}
            at = datetime.fromisoformat(cut_off)
        except ValueError:
            raise ActionRefused(_WRONG) from None
        if at.tzinfo is None or min(by_state.values(), default=0) < 0:
            raise ActionRefused(_WRONG)
        return Tally(at, place, by_state)
