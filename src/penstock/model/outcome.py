"""How a run ended, as a frozen value. Deciding it, carrying it and storing it are three places.

Engines read only the attributes that `Outcome` names, so that each outcome means the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.model.failure import Failure
from penstock.model.fitting import fitted
from penstock.model.states import State

# The notes of jobs that ended without a run: its time was over; one it waited for ended badly; or had not
# ended by its deadline.
EXPIRED = "expired before it could start"
UPSTREAM_FAILED = "job {id}, for which it waited, did not complete"
UPSTREAM_LATE = "the jobs for which it waited had not ended by its deadline"
UNKNOWN_TASK = "no worker here knows task"  # how the note of a job begins that is parked for that reason
UPSTREAM_MISSING = "upstream-missing"  # the reason and the note where that makes a dead letter


MAX_LOGGED = 20  # lines kept with an error


@dataclass(frozen=True, slots=True)
class Park:
    """Set a job aside until a worker comes that knows its task, or knows it by another signature."""

    task: str
    reason: str
    misfit: str | None = None  # the signatures that the payload does not fit, "v1,v2"; None: none is known


class Outcome:
    """What an engine stores when a run ends."""

    verb: ClassVar[str]
    state: State
    delay: float = 0.0  # seconds until due, where the job runs again
    refund: bool = False  # the attempt does not count
    keep_place: bool = False  # the job keeps its rank, so it is first in line again
    result: str | None = None  # JSON text
    note: str | None = None  # one sentence for people
    error: str | None = None  # JSON of one error record, appended to the job's history
    suspect: bool = False  # it was running when its process died: it runs alone from now on
    crashed: bool = False  # it died while alone
    rescued: bool = False  # its worker was lost
    park: Park | None = None
    lane: str | None = None  # where it belongs, where that is not where it was found
    reason: str | None = None  # of a dead letter: exhausted, unrecoverable, crash-loop …
    cooldown: float = 0.0  # seconds for which its key, its task or its queue starts nothing more
    healthy: bool | None = None  # what the run tells of the services it needs; None: nothing


@dataclass(frozen=True)
class Completed(Outcome):
    verb: ClassVar[str] = "complete"
    state = State.COMPLETED
    result: str | None = None
    note: str | None = None
    healthy: bool | None = None


@dataclass(frozen=True)
class Retried(Outcome):
    verb: ClassVar[str] = "retry"
    delay: float
    error: str | None
    cooldown: float = 0.0
    healthy: bool | None = None
    refund: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", _due(self.delay))


@dataclass(frozen=True)
class Snoozed(Outcome):
    verb: ClassVar[str] = "snooze"
    refund = True
    delay: float
    note: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", _due(self.delay))


@dataclass(frozen=True)
class Released(Outcome):
    """Back to waiting, at its old place, with its attempt given back."""

    verb: ClassVar[str] = "release"
    state = State.WAITING
    refund = True
    keep_place = True
    note: str | None = None
    error: str | None = None
    suspect: bool = False
    crashed: bool = False
    rescued: bool = False
    park: Park | None = None
    lane: str | None = None


@dataclass(frozen=True)
class Cancelled(Outcome):
    verb: ClassVar[str] = "cancel"
    state = State.CANCELLED
    note: str | None = None


@dataclass(frozen=True)
class Failed(Outcome):
    """The end of a job that could not be done; the engine writes its dead letter in the same step."""

    verb: ClassVar[str] = "fail"
    state = State.FAILED
    reason: str
    error: str | None
    crashed: bool = False
    rescued: bool = False
    healthy: bool | None = None
    cooldown: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "note", self.reason)


COMPLETED = Completed()
NOT_RECEIVED = Released("its claim was not received")


def _due(delay: float) -> State:
    return State.DELAYED if delay > 0 else State.WAITING


def error_record(
    failure: Failure, attempt: int, ran_for: float, worker: str, log: tuple[dict[str, str], ...] = ()
) -> str:
    """One line of a job's error history, as JSON text; the engine adds `at` by its own clock."""
    record: dict[str, Any] = {
        "attempt": attempt,
        "type": failure.type,
        "message": failure.message,
        "code": failure.code,
        "class": failure.failure_class.value,
        "traceback": failure.traceback,
        "ran_for": round(ran_for, 6),
        "worker": worker,
    }
    if failure.note:
        record["note"] = failure.note
    if failure.causes:
        record["causes"] = failure.causes
    if log:
        record["log"] = log[-MAX_LOGGED:]
    return fitted(record)
