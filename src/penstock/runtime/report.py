"""What the log says of a run that did not end well: which job, why, and what happens next. No arguments."""

from __future__ import annotations

import json
import logging

from penstock.model.failure import shorten
from penstock.model.job import Claim
from penstock.model.outcome import Outcome
from penstock.model.states import State

log = logging.getLogger("penstock.worker")

MAX_MESSAGE = 500  # characters; the job's own record has more


def report(claim: Claim, outcome: Outcome) -> None:
    """One line for a failed attempt, or for a job that was parked; nothing for any other end."""
    if outcome.error is not None:
        log.log(
            logging.ERROR if outcome.state is State.FAILED else logging.WARNING,
            "job %s (%s) failed at attempt %d of %d: %s; %s",
            claim.id,
            claim.task,
            claim.attempt,
            claim.max_attempts,
            _why(outcome.error),
            _next(outcome),
        )
    elif outcome.park is not None:
        log.warning("job %s (%s) is parked: %s", claim.id, claim.task, outcome.park.reason)


def _why(error: str) -> str:
    """The type and the message, on one line."""
    record = json.loads(error)
    message = " ".join(record["message"].split())
    return shorten(f"{record['type']}: {message}", MAX_MESSAGE)


def _next(outcome: Outcome) -> str:
    if outcome.state is State.FAILED:
        return f"dead-lettered ({outcome.reason})"
    if outcome.suspect:
        return "runs again, alone in a process"
    counted = " (it was a probe of a breaker: not counted)" if outcome.refund else ""
    return f"retry in {outcome.delay:.1f} s{counted}"
