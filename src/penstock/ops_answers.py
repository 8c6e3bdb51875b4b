"""What `Ops` answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.engine import Finding, Level
from penstock.model.job import DeadLetter, Job
from penstock.model.limits import NO_LIMIT, Limit
from penstock.model.states import State

UNREACHABLE = "unreachable"


class Retried(NamedTuple):
    """What retrying a job did: made a delayed one due now, or recovered a failed one as a new job."""

    job_id: str
    how: str  # "due now", "recovered" or "recovered already"


class Recovered(NamedTuple):
    """The job that a dead letter became."""

    job_id: str
    already: bool  # it had been recovered before; nothing was done now


class RecoveredSome(NamedTuple):
    """What recovering named dead letters did."""

    job_ids: Sequence[str]  # of the new jobs
    already: int  # they had been recovered before
    gone: int  # there is no such dead letter


class Story(NamedTuple):
    """Everything there is of one job."""

    job: Job
    dead_letter: DeadLetter | None  # of a failed one, until it is purged
    steps: Mapping[str, str]  # the results of its steps, as JSON text


class Cancelled(NamedTuple):
    job_id: str
    state: State  # active: its worker was asked to stop it


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue as people see it: what is declared and what is there."""

    name: str
    declared: bool
    paused: bool
    counts: Mapping[State, int]
    parked: int = 0  # of those waiting
    concurrency: int | None = None  # at once in each worker, as declared; None: as many as it has slots
    limit: Limit = NO_LIMIT  # over all workers, as declared
    rate_key: str | None = None
    workers: int = 0  # alive, that claim from it


def away(error: Exception) -> Finding:
    """What is found where the engine does not answer."""
    advice = "start it, or mend its address in the URL"
    return Finding(UNREACHABLE, Level.UNUSABLE, f"{error}; {advice}")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a look at the engine found, and which of its dangers are accepted."""

    findings: Sequence[Finding]
    accepted: frozenset[str] = frozenset()

    @property
    def unreachable(self) -> bool:
        """Whether the engine could not be looked at."""
        return any(finding.name == UNREACHABLE for finding in self.findings)

    @property
    def refused(self) -> list[Finding]:
        """What keeps a worker from starting."""
        return [*self.unusable, *self.acceptable]

    @property
    def unusable(self) -> list[Finding]:
        """What must be mended: it cannot be accepted."""
        return [f for f in self.findings if f.level is Level.UNUSABLE]

    @property
    def acceptable(self) -> list[Finding]:
        """What is unsafe, and has not been accepted by its name."""
        return [f for f in self.findings if f.level is Level.UNSAFE and f.name not in self.accepted]

    @property
    def clean(self) -> bool:
        """There is nothing at all to say against it."""
        return all(finding.level is Level.OK for finding in self.findings)
