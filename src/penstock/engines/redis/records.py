"""Records of what is stored: jobs for people, claims for workers, dead letters."""

from __future__ import annotations

import json
from struct import Struct

from penstock.engines.redis.codec import (
    BASE,
    BY_BYTE,
    LONG,
    Run,
    names_of,
    read_base,
    read_error,
    read_run,
    text_id,
)
from penstock.engines.redis.instants import instant, instant_or_none
from penstock.engines.redis.ties import read_more
from penstock.model.job import Claim, DeadLetter, Held, Job
from penstock.model.lanes import is_parked
from penstock.model.priority import Priority
from penstock.model.states import State

_FLAGS_AT = 16
_AGAIN = Struct("<HBHd")
_LETTER = Struct("<dd16sHdd9sH")  # see _letter.lua


def read_job(raw: bytes, base_raw: bytes, run_raw: bytes, state: bytes, more_raw: bytes) -> Job:
    """A job from what is stored of it."""
    base, run, more = read_base(base_raw), read_run(run_raw, BY_BYTE[state]), read_more(more_raw)
    job_id = text_id(raw)
    lane = run.lane or base.lane or base.queue
    expires = None if base.expire_after is None else instant(base.due + base.expire_after)
    progress = run.texts.get(b"p")
    return Job(
        id=job_id,
        queue=base.queue,
        task=base.task,
        lane=lane,
        state=run.state,
        args_json=base.args,
        key=base.key if base.key is not None else job_id,
        unique=base.unique,
        priority=Priority(base.priority),
        attempt=run.attempt,
        max_attempts=base.max_attempts,
        created_at=instant(base.created),
        due_at=instant(run.due or base.due),
        owner=base.owner,
        options_json=base.options,
        expires_at=expires,
        started_at=instant_or_none(run.started),
        claimed_at=instant_or_none(run.claimed),
        finished_at=instant_or_none(run.finished),
        worker=run.worker or None,
        progress=None if progress is None else json.loads(progress),
        result_json=run.texts.get(b"r"),
        note=run.texts.get(b"n"),
        errors=run.errors,
        ran_for=run.ran_for,
        suspect=run.suspect,
        crashes=run.crashes,
        rescues=run.rescues,
        cancel_requested=run.cancel,
        parked=is_parked(lane) and run.state is State.WAITING,
        recovered_from=base.heir_of,
        recovered_as=run.texts.get(b"a"),
        after=more.after,
        blocked_by=more.blocked_by,
        deadline_at=more.deadline_at,
        flow=more.flow,
        origin=more.origin,
    )


def read_claim(raw: bytes, base: bytes, again: bytes, token: str) -> Claim:
    """A claimed job; `again` tells of the runs before, empty for the first."""
    if again or base[_FLAGS_AT]:
        return _other_claim(raw, base, again, token)
    # The most common job, which has nothing but a payload: this is where the time goes.
    created, due, _, priority, max_attempts, _, length = BASE.unpack_from(base)
    at = BASE.size + length
    queue, task = names_of(base[BASE.size : at])
    job_id = text_id(raw)
    since = instant(created)
    return tuple.__new__(Claim, (
        job_id, token, queue, task, queue, base[at:].decode(), job_id, 1, max_attempts, priority,
        None, None, False, 0, since, since if due == created else instant(due), False,
    ))  # fmt: skip


def _other_claim(raw: bytes, base_raw: bytes, again: bytes, token: str) -> Claim:
    base = read_base(base_raw)
    job_id = text_id(raw)
    attempt, flags, crashes, due = _AGAIN.unpack_from(again) if again else (1, 0, 0, base.due)
    lane = again[_AGAIN.size :].decode() or base.lane or base.queue
    key = job_id if base.key is None else base.key
    return Claim(
        job_id, token, base.queue, base.task, lane, base.args, key, attempt, base.max_attempts, base.priority,
        base.owner, base.options, bool(flags & 1), crashes, instant(base.created), instant(due),
        bool(flags & 2),
    )  # fmt: skip


def read_held(raw: bytes, run: Run, base_head: bytes, *, started: bool) -> Held:
    """A job in the hand of a worker that is gone."""
    queue, task = names_of(run.kind)
    max_attempts = BASE.unpack_from(base_head)[4]
    return Held(
        text_id(raw), task, queue, run.attempt, max_attempts, run.rescues, started, run.cancel, run.worker
    )


def read_letter(raw: bytes, letter: bytes) -> DeadLetter:
    """A dead letter from what is stored of it."""
    failed, recovered, heir, attempts, started, ran_for, _, length = _LETTER.unpack_from(letter)
    at = _LETTER.size
    reason, at = letter[at : at + length].decode(), at + length
    (length,) = LONG.unpack_from(letter, at)
    at += 4
    error, base = letter[at : at + length], read_base(letter[at + length :])
    job_id = text_id(raw)
    return DeadLetter(
        job_id=job_id,
        queue=base.queue,
        task=base.task,
        args_json=base.args,
        key=job_id if base.key is None else base.key,
        unique=base.unique,
        priority=Priority(base.priority),
        max_attempts=base.max_attempts,
        owner=base.owner,
        options_json=base.options,
        reason=reason,
        error=read_error(error) if error else None,
        attempts=attempts,
        first_started_at=instant_or_none(started),
        ran_for=ran_for,
        failed_at=instant(failed),
        recovered_at=instant_or_none(recovered),
        recovered_as=text_id(heir) if recovered else None,
    )
