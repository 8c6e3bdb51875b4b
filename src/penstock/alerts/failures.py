"""Failures that somebody must hear of: those of an alerted class, and every dead letter."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.alerts.recent import Recent
from penstock.alerts.rules import severity_of
from penstock.model.failure import HANDLING, Alert, FailureClass
from penstock.model.job import DeadLetter
from penstock.telemetry.tally import FAILURE


class Failures(NamedTuple):
    """Of one task, lately."""

    number: float
    worst: str | None  # the class that is alerted loudest; where there is no class, why it is dead


def failures_of(
    minutes: Mapping[tuple[str, str], Recent], letters: Iterable[DeadLetter]
) -> dict[tuple[str, str], Failures]:
    """By queue and task. A run that was counted and made a dead letter is one failure."""
    dead: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for letter in letters:
        dead[letter.queue, letter.task][_kind(letter)] += 1
    found = {}
    for key in {*minutes, *dead}:
        counted = minutes.get(key, Recent({}))
        kinds = {kind: float(n) for kind, n in dead[key].items()}
        for each in FailureClass:
            n = counted.whole(FAILURE + each.value)
            if n and HANDLING[each].alert is not Alert.NONE:
                kinds[each.value] = max(n, kinds.get(each.value, 0.0))
        if kinds:
            worst = max(sorted(kinds), key=lambda kind: severity_of(kind).weight)
            found[key] = Failures(sum(kinds.values()), worst)
    return found


def _kind(letter: DeadLetter) -> str:
    return str((letter.error or {}).get("class") or letter.reason)
