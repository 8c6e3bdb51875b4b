"""Acting on all jobs that match: which jobs an action is for, and which of them are as they were."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from penstock.model.job import Job
from penstock.model.states import State

Act: TypeAlias = Literal["retry", "promote", "cancel", "delete"]

# In the order in which they are taken: who waits is cancelled before those it waits for, by its own reason.
STATES: dict[Act, tuple[State, ...]] = {
    "retry": (State.FAILED, State.DELAYED),
    "promote": (State.DELAYED,),
    "cancel": (State.BLOCKED, State.DELAYED, State.WAITING, State.ACTIVE),
    "delete": (State.COMPLETED, State.FAILED, State.CANCELLED),
}


def is_for(act: Act, job: Job, cut_off: datetime, *, any_state: bool) -> bool:
    """Whether the action is for this job, which was there at the cut-off, and as it is now.

    `any_state`: nobody asked for one. Then what has not ended may have begun since, and is still to be
    cancelled.
    """
    if job.state not in STATES[act] or (job.recovered_as is not None and act == "retry"):
        return False
    same = job.created_at if any_state and act == "cancel" else _so_since(job)
    return same <= cut_off


def _so_since(job: Job) -> datetime:
    """When it came into its state, as far as its record tells."""
    if job.finished_at is not None:
        return job.finished_at
    times = [job.created_at]
    if job.claimed_at is not None:
        times.append(job.claimed_at)
    if job.state is State.WAITING:
        times.append(job.due_at)
    if job.errors and job.errors[-1].get("at"):
        times.append(datetime.fromisoformat(job.errors[-1]["at"]))
    return max(times)
