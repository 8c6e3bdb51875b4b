"""How runs ended, as the statements take it: made by who tells of it, while the writer has other work."""

from __future__ import annotations

import json
from collections.abc import Sequence

from penstock.engine import Settlement
from penstock.model.outcome import Completed

_ID, _TOKEN = 36, 32  # characters


class Ends:
    """Settlements, and of those that completed what goes where the statements find it."""

    def __init__(self, ends: Sequence[Settlement]) -> None:
        self.all = ends
        completed = [end for end in ends if type(end.outcome) is Completed]
        self.completed = {(end.id, end.token): end for end in completed}
        self.all_kept = all(end.keep for end in completed)
        plain, others = [], []  # most have nothing to say, and a list for each costs thrice
        for (id_, token), end in self.completed.items():
            outcome = end.outcome
            if outcome.result is None and outcome.note is None and len(id_) == _ID and len(token) == _TOKEN:
                plain.append(f"{id_}{token}{_kept(end)}{end.ran_for!r}")
            else:
                others.append((id_, token, outcome.result, outcome.note, end.ran_for, _kept(end)))
        self.plain = json.dumps(plain, ensure_ascii=False) if plain else None
        self.others = json.dumps(others, ensure_ascii=False) if others else None


def _kept(end: Settlement) -> int:
    return 1 if end.keep else 2 if end.remember else 0
