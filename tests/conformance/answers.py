"""What an engine has answered, as it must be equal to what another answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from penstock.engine import Claimed, Flow, Orders, Rescued, Settled, WorkerInfo
from penstock.model.errors import PenstockError
from penstock.model.job import Claim, DeadLetter, Job


def plain(answer: Any) -> Any:
    """As it must be equal: without tokens, which are random, and errors by their type."""
    if isinstance(answer, PenstockError):
        return type(answer).__name__
    if isinstance(answer, Claim):
        return answer._replace(token="")
    if isinstance(answer, Settled | Claimed):
        return answer._replace(claims=[plain(claim) for claim in answer.claims], fence=0)
    if isinstance(answer, Orders):
        return answer.given_up, sorted(order.job_id for order in answer.cancel), answer.paused
    if isinstance(answer, Job):
        timed = [_timed(error) for error in answer.errors]
        return replace(answer, errors=timed, blocked_by=tuple(sorted(answer.blocked_by)))
    if isinstance(answer, Flow):
        return replace(answer, jobs=tuple(plain(job) for job in answer.jobs)) if answer.jobs else None
    if isinstance(answer, WorkerInfo) and not answer.alive:
        return replace(answer, expires_at=None)  # docs/redis.md: a late heartbeat wipes it out there
    if isinstance(answer, DeadLetter) and answer.error is not None:
        return replace(answer, error=_timed(answer.error))
    if isinstance(answer, list) and answer and isinstance(answer[0], Rescued):
        return sorted(answer)
    if isinstance(answer, list | tuple) and type(answer) in (list, tuple):
        return [plain(each) for each in answer]
    return answer


def _timed(error: dict[str, Any]) -> dict[str, Any]:
    """An instant may be written in several ways."""
    return error | {"at": datetime.fromisoformat(error["at"])}


def differing(first: Any, other: Any) -> str:
    """Only what is not the same, where two lists of records are compared."""
    if not isinstance(first, list) or not isinstance(other, list) or len(first) != len(other):
        return f"{other}"
    pairs = [(a, b) for a, b in zip(first, other, strict=True) if a != b]
    return "; ".join(
        ", ".join(
            f"{name} {getattr(a, name)!r} and {getattr(b, name)!r}"
            for name in getattr(a, "__slots__", None) or getattr(a, "_fields", ())
            if getattr(a, name) != getattr(b, name)
        )
        for a, b in pairs
    )
