"""Settlements as the arrays that the statements take, and their answers as the contract has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.engine import Settlement, Want
from penstock.engines.postgres.database import Rows
from penstock.model.ids import is_id
from penstock.model.job import Claim
from penstock.model.lanes import parked_lane
from penstock.model.outcome import Outcome, Park
from penstock.model.states import State

_CLAIM_WIDTH = len(Claim._fields)
_NOBODY = Want(worker="", request="", queues={}, limit=0, tasks={})


def want_values(want: Want | None, now: datetime | None) -> dict[str, Any]:
    """The values of the claiming part; without a want it finds no open lane."""
    want = want or _NOBODY
    return {
        "now": now,
        "worker": want.worker,
        "request": want.request,
        "queues": list(want.queues),
        "most": list(want.queues.values()),
        "limit": want.limit,
        "tasks": list(want.tasks),
        "fingerprints": list(want.tasks.values()),
    }


def plain_values(ends: Sequence[Settlement]) -> dict[str, Any]:
    """The values of `settle`: all of them completed."""
    return {
        "ids": [end.id for end in ends],
        "tokens": [end.token for end in ends],
        "results": _sparse([end.outcome.result for end in ends]),
        "notes": _sparse([end.outcome.note for end in ends]),
        "ran_for": [end.ran_for for end in ends],
        "keep": [end.keep for end in ends],
    }


def other_values(ends: Sequence[Settlement], queues: Mapping[str, str]) -> dict[str, Any]:
    """The values of `settle_other`; `queues` says where a job to be parked belongs."""
    outcomes = [end.outcome for end in ends]
    return {
        **plain_values(ends),
        "states": [outcome.state.value for outcome in outcomes],
        "delays": [outcome.delay for outcome in outcomes],
        "refunds": [outcome.refund for outcome in outcomes],
        "keep_places": [outcome.keep_place for outcome in outcomes],
        "errors": _sparse([outcome.error for outcome in outcomes]),
        "suspects": [outcome.suspect for outcome in outcomes],
        "crashes": [outcome.crashed for outcome in outcomes],
        "rescues": [outcome.rescued for outcome in outcomes],
        "lanes": _sparse([_lane(end, queues) for end in ends]),
        "reasons": _sparse([outcome.reason for outcome in outcomes]),
    }
