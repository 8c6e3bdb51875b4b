"""Acting on all jobs that match, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from penstock.model.matched import Act
from penstock.model.states import State
from penstock.searching import MAX_ARGS
from penstock.web.shapes.fields import NO_NUL, Count, Instant, Name, Number, Rate, Text, Why
from penstock.web.shapes.jobs import JobView


class PreviewView(BaseModel):
    """What an action would be done to; `cut_off`, `count` and `confirm` go with the action."""

    act: Act
    cut_off: datetime
    count: Count  # exact where there is no `next`
    by_state: dict[State, Count]
    examples: list[JobView]  # the first few, in the look that meets them
    next: str | None  # give it as `after`, and the counting goes on
    confirm: str | None  # once all are counted


class MatchingStep(Why):
    """Which jobs, what the preview said of them, and where to go on."""

    queue: Name | None = None
    task: Name | None = None
    state: State | None = None
    owner: Text | None = None
    key: Text | None = None
    since: Instant | None = None
    until: Instant | None = None
    parked: bool | None = None
    tag: Name | None = None
    recovered: bool | None = None
    args: Annotated[dict[Annotated[str, Field(max_length=200)], Text], Field(max_length=MAX_ARGS)] | None = (
        None
    )
    cut_off: Instant
    count: Number
    confirm: Annotated[str, Field(max_length=64)]
    after: Annotated[str, Field(max_length=60, pattern=NO_NUL)] | None = None  # the `next` of the step before
    done: Number = 0  # by the steps before
    rate: Rate = 50.0  # at which failed jobs come back


class StepView(BaseModel):
    """What a step has done; where `next` is given, there may be more to do."""

    done: Count
    left: Count  # they were not eligible any more
    next: str | None
