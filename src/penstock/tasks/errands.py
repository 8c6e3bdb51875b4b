"""What a running handler has its worker ask of the engine, and the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from penstock.model.states import State

Verb: TypeAlias = Literal["steps", "save_step", "upstream"]


class Errand(NamedTuple):
    """One question. The answer is JSON: a dict of steps, whether one was kept, or a list of upstream jobs."""

    verb: Verb
    name: str = ""  # of a step
    value: str = ""  # its result, as JSON text


STEPS = Errand("steps")
UPSTREAM = Errand("upstream")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A job for which this one waited."""

    id: str
    task: str
    state: State
    result: Any = None  # what it returned, as JSON gives it back
    note: str | None = None  # why it failed or was cancelled
    result_json: str | None = None

    @property
    def completed(self) -> bool:
        return self.state is State.COMPLETED
