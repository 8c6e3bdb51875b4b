"""What the end of a run means for its job."""

from __future__ import annotations

import random
from dataclasses import replace

from penstock.model.decide import End, Facts, Returned, decide, health_of
from penstock.model.outcome import COMPLETED, Completed, Failed, Outcome, Retried
from penstock.runtime.running import NOTHING, Running


def outcome_of(running: Running, end: End, ran_for: float, worker: str) -> Outcome:
    """A plain completion, as most are, without asking further."""
    needs = running.task is not None and running.task.needs
    if not needs:
        if end is NOTHING:
            return COMPLETED
        if type(end) is Returned and end.dropped is None:
            return Completed(end.result)
    claim = running.claim
    facts = Facts(
        claim.attempt,
        claim.max_attempts,
        claim.crashes,
        ran_for,
        worker,
        random.random(),
        claim.probe,
        tuple(running.logged or ()),
    )
    outcome = decide(facts, end, running.policy)
    if needs and isinstance(outcome, Completed | Retried | Failed):
        return replace(outcome, healthy=health_of(end))
    return outcome
