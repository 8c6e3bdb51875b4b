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

DEAD = "exhausted"  # why a job is dead of which no more is known than that

_ALERTED = [each for each in FailureClass if HANDLING[each].alert is not Alert.NONE]


class Failures(NamedTuple):
    """Of one task, lately."""

    number: float
    worst: str | None  # the class that is alerted loudest; where there is no class, why it is dead


def failures_of(
    minutes: Mapping[tuple[str, str], Recent], letters: Iterable[DeadLetter]
) -> dict[tuple[str, str], Failures]:
    """By queue and task: failed runs of alerted classes, and other jobs that are dead."""
    dead: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for letter in letters:
        dead[letter.queue, letter.task][_kind(letter)] += 1
    found = {}
    for key in {*minutes, *dead}:
        kinds = _kinds(minutes.get(key, Recent({})), dead[key])
        if kinds:
            worst = max(sorted(kinds), key=lambda kind: severity_of(kind).weight)
            found[key] = Failures(sum(kinds.values()), worst)
    return found


def _kinds(counted: Recent, dead: Counter[str]) -> dict[str, float]:
    kinds = {each.value: max(counted.whole(FAILURE + each), float(dead[each.value])) for each in _ALERTED}
    told = sum(kinds[each.value] for each in _ALERTED if not HANDLING[each].retry)  # these died of it
    others = max(counted.whole("dead"), float(dead.total())) - told
    if others > 0:
        kinds[max((kind for kind in dead if kind not in kinds), default=DEAD)] = others
    return {kind: number for kind, number in kinds.items() if number}


def _kind(letter: DeadLetter) -> str:
    return str((letter.error or {}).get("class") or letter.reason)
