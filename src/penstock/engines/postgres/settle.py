"""Settlements as the arrays that the statements take, and their answers as the contract has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from penstock.engine import Settled, Settlement, Want
from penstock.engines.postgres.database import Call
from penstock.engines.postgres.straight import Rows
from penstock.model.ids import is_id
from penstock.model.job import Claim, NewJob
from penstock.model.lanes import parked_lane
from penstock.model.states import State

T = TypeVar("T")

_ALIVE = len(Claim._fields)  # the column after the claim
_HEALTH = {True: "t", False: "f", None: "-"}
_NOBODY = Want(worker="", request="", queues={}, limit=0, tasks={}, free=0)


def _want_values(want: Want | None, now: datetime | None) -> dict[str, Any]:
    """The claiming part of the values of `settle`; without a want nothing is looked for."""
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
        "free": want.free,
    }


def _plain_values(ends: Sequence[Settlement]) -> dict[str, Any]:
    """The values of `settle`. What holds no spaces is joined: a list costs the driver ten times as much."""
    return {
        "ids": " ".join([end.id for end in ends]),
        "tokens": " ".join([end.token for end in ends]),
        "results": _sparse([end.outcome.result for end in ends]),
        "notes": _sparse([end.outcome.note for end in ends]),
        "ran_for": " ".join([repr(end.ran_for) for end in ends]),
        "keep": "".join(["t" if end.keep else "h" if end.remember else "f" for end in ends]),
    }


def _health(ends: Sequence[Settlement]) -> dict[str, Any]:
    """What completed runs tell of the services they need, a letter each; most of the time nothing."""
    tell = any(end.outcome.healthy is not None for end in ends)
    return {"healths": "".join([_HEALTH[end.outcome.healthy] for end in ends]) if tell else ""}


def other_call(
    sql: Mapping[str, str], ends: Sequence[Settlement], now: datetime | None, *, by_holder: bool
) -> Call:
    """The statement for every end but the fast one; not `by_holder`: the job is taken away from it."""
    outcomes = [end.outcome for end in ends]
    parks = [outcome.park for outcome in outcomes]
    values = {
        **_plain_values(ends),
        "keep": "t" * len(ends),  # only what completes can go without a record
        "now": now,
        "by_holder": by_holder,
        "states": [outcome.state.value for outcome in outcomes],
        "delays": [float(outcome.delay) for outcome in outcomes],
        "refunds": [outcome.refund for outcome in outcomes],
        "keep_places": [outcome.keep_place for outcome in outcomes],
        "errors": _sparse([outcome.error for outcome in outcomes]),
        "suspects": [outcome.suspect for outcome in outcomes],
        "crashes": [outcome.crashed for outcome in outcomes],
        "rescues": [outcome.rescued for outcome in outcomes],
        "reasons": _sparse([outcome.reason for outcome in outcomes]),
        # Only the statement knows the queue, which the lane's name begins with.
        "lanes": _sparse([outcome.lane for outcome in outcomes]),
        "cooldowns": [float(outcome.cooldown) for outcome in outcomes],
        "healths": _sparse([outcome.healthy for outcome in outcomes]),
        "park_lanes": _sparse([parked_lane("", park) if park else None for park in parks]),
        "park_tasks": _sparse([park.task if park else None for park in parks]),
        "park_misfits": _sparse([park.misfit if park else None for park in parks]),
        "park_reasons": _sparse([park.reason if park else None for park in parks]),
    }
    return Call(sql["end_runs"], values)


def _sparse(values: list[T | None]) -> list[T | None] | None:
    """None for nothing but None: `unnest` fills up, and most columns are empty most of the time."""
    return values if any(value is not None for value in values) else None


class Step:
    """One settle: the statements it takes, and what their answers mean.

    Jobs go in the order of their ids, as every verb locks them: no two calls wait for each other in a circle.
    """

    def __init__(self, ends: Sequence[Settlement], want: Want | None) -> None:
        self._ends = ends
        self._want = want
        # The first word on a run counts; what cannot be an id or a token is held by nobody.
        first = {(end.id, end.token): end for end in reversed(ends)}
        known = [first[run] for run in sorted(first) if is_id(run[0]) and is_id(run[1])]
        self._plain = [end for end in known if end.outcome.state is State.COMPLETED]
        self._others = [end for end in known if end.outcome.state is not State.COMPLETED]

    def calls(self, sql: Mapping[str, str], now: datetime | None) -> list[Call]:
        made = []
        if self._others:
            made.append(other_call(sql, self._others, now, by_holder=True))
        if self._plain or self._want is not None:
            values = _plain_values(self._plain) | _health(self._plain) | _want_values(self._want, now)
            made.append(Call(sql["settle"], values))
        return made

    def read(self, answers: Sequence[Rows]) -> Settled:
        pending = list(answers)
        accepted = {row[:2] for row in pending.pop(0)} if self._others else set()
        rows: Rows = pending.pop() if pending else [(*[None] * _ALIVE, True, None, None)]
        refused = {tuple(pair.split()) for pair in rows[0][_ALIVE + 1] or ()}
        accepted |= {(end.id, end.token) for end in self._plain} - refused
        expired = self._want is not None and not _is_alive(rows)
        return Settled(
            [_once(accepted, end) for end in self._ends], _claims_of(rows), expired, rows[0][_ALIVE + 2]
        )

    def followers(self, settled: Settled) -> list[NewJob]:
        """What is put in after the runs that completed."""
        pairs = zip(settled.accepted, self._ends, strict=True)
        completed = [end for was, end in pairs if was and end.outcome.state is State.COMPLETED]
        return [job for end in completed for job in end.then]

    def recognise(self, settled: Settled, evidence: Rows) -> Settled:
        """Accept what an earlier call with these tokens had ended; `evidence` answers `ended_by`."""
        ended = {(job_id, token) for job_id, token, by_token, _ in evidence if by_token}
        traceless = {(job_id, token) for job_id, token, _, gone in evidence if gone}
        accepted = [
            was or (end.id, end.token) in (ended if _leaves_record(end) else ended | traceless)
            for was, end in zip(settled.accepted, self._ends, strict=True)
        ]
        return settled._replace(accepted=accepted)

    def missing(self, settled: Settled) -> list[Settlement]:
        """What was not accepted, and may have been earlier."""
        known = {(end.id, end.token) for end in (*self._plain, *self._others)}
        pairs = zip(settled.accepted, self._ends, strict=True)
        return [end for was, end in pairs if not was and (end.id, end.token) in known]


def _once(accepted: set[tuple[str, str]], end: Settlement) -> bool:
    """A token ends one run, even where it is given twice."""
    if (end.id, end.token) not in accepted:
        return False
    accepted.remove((end.id, end.token))
    return True


def _leaves_record(end: Settlement) -> bool:
    return end.keep or end.outcome.state is not State.COMPLETED


def _claims_of(rows: Rows) -> list[Claim]:
    """The claims in an answer of `settle`, whose one row may also be empty."""
    if rows[0][0] is None:
        return []
    created, due = Claim._fields.index("created_at"), Claim._fields.index("due_at")
    if str(rows[0][created].tzinfo) == "UTC":
        return [Claim._make(row[:_ALIVE]) for row in rows]
    return [
        Claim._make(
            (*row[:created], row[created].astimezone(UTC), row[due].astimezone(UTC), *row[due + 1 : _ALIVE])
        )
        for row in rows
    ]


def _is_alive(rows: Rows) -> bool:
    alive: bool = rows[0][_ALIVE]
    return alive
