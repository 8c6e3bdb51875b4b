"""What was claimed, on its way out.

The writer hands it over as the database has written it, and who asked for it reads it: one thread writes, and
while it made objects nobody could.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from penstock.engine import Claimed
from penstock.engines.sqlite.instants import instant
from penstock.model.job import Claim


class Haul(NamedTuple):
    """What a claim took."""

    text: str = "[]"  # a JSON list of what `claimed` tells of each
    order: Sequence[str] | None = None  # of their ids; None: by rank
    probes: Collection[str] = ()  # ids of the jobs that try a breaker
    next_in: float | None = None

    def read(self) -> Claimed:
        rows = json.loads(self.text)
        if self.order is None:
            rows.sort()
            return Claimed([_claim(values) for values in rows], self.next_in)
        claims = {values[1]: _claim(values, probe=values[1] in self.probes) for values in rows}
        return Claimed([claims[job_id] for job_id in self.order], self.next_in)


def _claim(values: Sequence[Any], *, probe: bool = False) -> Claim:
    suspect, crashes, created_at, due_at = values[13:]
    return Claim._make((*values[1:13], suspect != 0, crashes, instant(created_at), instant(due_at), probe))
