"""How jobs are packed: small in memory, and plain enough for a script to read.

Two values for each job: the base, as it came in and never rewritten, and the run, what has happened to it
since. The scripts have the same layouts: see `_base.lua`, `_run.lua` and `_letter.lua`, where they are told.
"""

from __future__ import annotations

import json
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

from penstock.engines.redis.instants import instant, instant_or_none, micro
from penstock.model.job import Claim, DeadLetter, Held, Job, NewJob
from penstock.model.lanes import is_parked
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State

UNIQUE, EXPIRES, OWNER, KEY, LANE, OPTIONS, HEIR = 1, 2, 4, 8, 16, 32, 64
NOBODY = bytes(16)

STATES = {
    "w": State.WAITING,
    "d": State.DELAYED,
    "a": State.ACTIVE,
    "c": State.COMPLETED,
    "f": State.FAILED,
    "x": State.CANCELLED,
}
LETTERS = {state: letter.encode() for letter, state in STATES.items()}
_BY_BYTE = {letter.encode(): state for letter, state in STATES.items()}

_HEAD = Struct("<BBHhH")  # flags, priority, max_attempts, head start, length of the kind
_BASE = Struct("<ddBBHhH")  # created, due, and the head
_FLAGS_AT = 16
_RUN = Struct("<cddBHHHddd16sBHBBH")
_AGAIN = Struct("<HBHd")
_LETTER = Struct("<dd16sHddH")
_DOUBLE, _SHORT, _LONG = Struct("<d"), Struct("<H"), Struct("<I")
_SECTION = Struct("<cI")
_HEADS = {int(priority): seconds for priority, seconds in HEAD_START.items()}


# -- ids, tokens, kinds ---------------------------------------------------------------------------------
def raw_id(text: str) -> bytes:
    """The sixteen bytes of an id or token; ValueError for anything else."""
    raw = bytes.fromhex(text.replace("-", ""))
    if len(raw) != 16:
        raise ValueError(f"{text!r} is not an id")
    return raw


def text_id(raw: bytes) -> str:
    """An id as people and callers know it."""
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@lru_cache(1_024)
def kind_of(queue: str, task: str) -> bytes:
    """A queue and a task in one word: no name holds a colon."""
    return f"{queue}:{task}".encode()


@lru_cache(1_024)
def names_of(kind: bytes) -> tuple[str, str]:
    """Queue and task of a kind."""
    queue, _, task = kind.decode().partition(":")
    return queue, task


# -- in -------------------------------------------------------------------------------------------------
def has_key(job: NewJob) -> bool:
    """Whether the key was given; a minted one is the id, and is not stored."""
    return job.unique or job.key not in ("", job.id)


def is_plain(job: NewJob) -> bool:
    """Whether it has nothing but a payload, as most have."""
    return (
        job.key == job.id
        and not job.unique
        and job.owner is None
        and job.options is None
        and job.expire_after is None
        and job.lane in (None, job.queue)
    )


def pack_base(job: NewJob, heir_of: bytes | None = None) -> bytes:
    """The base of a job, without its times: those are the server's."""
    flags, parts = _optional(job)
    if heir_of is not None:
        flags |= HEIR
        parts.append(heir_of)
    head = _head(flags, job.queue, job.task, job.priority, job.max_attempts)
    return b"".join((head, *parts, job.args.encode()))


def pack_plain(job: NewJob) -> bytes:
    """The same for a plain job."""
    return _head(0, job.queue, job.task, job.priority, job.max_attempts) + job.args.encode()


@lru_cache(1_024)
def _head(flags: int, queue: str, task: str, priority: int, max_attempts: int) -> bytes:
    kind = kind_of(queue, task)
    return _HEAD.pack(flags, priority, min(max_attempts, 65_535), _HEADS[priority], len(kind)) + kind


def _optional(job: NewJob) -> tuple[int, list[bytes]]:
    flags = UNIQUE if job.unique else 0
    parts: list[bytes] = []
    if job.expire_after is not None:
        flags |= EXPIRES
        parts.append(_DOUBLE.pack(micro(job.expire_after)))
    if job.owner is not None:
        flags |= OWNER
        parts.append(_text(_SHORT, job.owner))
    if has_key(job):
        flags |= KEY
        parts.append(_text(_SHORT, job.key))
    if job.lane not in (None, job.queue):
        flags |= LANE
        parts.append(_text(_SHORT, job.lane))
    if job.options is not None:
        flags |= OPTIONS
        parts.append(_text(_LONG, job.options))
    return flags, parts


def _text(length: Struct, text: str | None) -> bytes:
    encoded = (text or "").encode()
    return length.pack(len(encoded)) + encoded


def section(name: bytes, text: str) -> bytes:
    """One named text behind a fixed head."""
    encoded = text.encode()
    return _SECTION.pack(name, len(encoded)) + encoded


# -- out ------------------------------------------------------------------------------------------------
class Base(NamedTuple):
    """A job as it came in."""

    queue: str
    task: str
    created: float
    due: float
    priority: int
    max_attempts: int
    args: str
    unique: bool = False
    expire_after: float | None = None
    owner: str | None = None
    key: str | None = None
    lane: str | None = None
    options: str | None = None
    heir_of: str | None = None


def read_base(raw: bytes) -> Base:
    created, due, flags, priority, max_attempts, _, length = _BASE.unpack_from(raw)
    at = _BASE.size + length
    queue, task = names_of(raw[_BASE.size : at])
    plain = (queue, task, created, due, priority, max_attempts)
    if not flags:
        return Base(*plain, raw[at:].decode())
    more: dict[str, Any] = {"unique": bool(flags & UNIQUE)}
    if flags & EXPIRES:
        (more["expire_after"],) = _DOUBLE.unpack_from(raw, at)
        at += 8
    for flag, name, size in _TEXTS:
        if flags & flag:
            more[name], at = _read_text(size, raw, at)
    if flags & HEIR:
        more["heir_of"], at = text_id(raw[at : at + 16]), at + 16
    return Base(*plain, raw[at:].decode(), **more)


_TEXTS = ((OWNER, "owner", _SHORT), (KEY, "key", _SHORT), (LANE, "lane", _SHORT), (OPTIONS, "options", _LONG))


def _read_text(size: Struct, raw: bytes, at: int) -> tuple[str, int]:
    (length,) = size.unpack_from(raw, at)
    at += size.size
    return raw[at : at + length].decode(), at + length


class Run(NamedTuple):
    """What has happened to a job."""

    state: State
    finished: float = 0
    ran_for: float = 0
    suspect: bool = False
    cancel: bool = False
    attempt: int = 0
    crashes: int = 0
    rescues: int = 0
    due: float = 0
    claimed: float = 0
    started: float = 0
    token: bytes = NOBODY
    kind: bytes = b""
    worker: str = ""
    lane: str = ""
    texts: dict[bytes, str] = {}  # noqa: RUF012 - never changed
    errors: list[dict[str, Any]] = []  # noqa: RUF012 - never changed


def read_run(raw: bytes, *, delayed: bool) -> Run:
    """An empty one is of a job that nobody has touched since it came in."""
    standing = State.DELAYED if delayed else State.WAITING
    if not raw:
        return Run(standing)
    (state, finished, ran_for, flags, attempt, crashes, rescues, due, claimed, started, token, _,
     kind, worker, request, lane) = _RUN.unpack_from(raw)  # fmt: skip
    at = _RUN.size
    words = []
    for length in (kind, worker, request, lane):
        words.append(raw[at : at + length])
        at += length
    texts, errors = _sections(raw, at)
    return Run(
        _BY_BYTE[state] if state != b"w" else standing,
        finished, ran_for, bool(flags & 1), bool(flags & 2), attempt, crashes, rescues, due, claimed, started,
        token, words[0], words[1].decode(), words[3].decode(), texts, errors,
    )  # fmt: skip


def _sections(raw: bytes, at: int) -> tuple[dict[bytes, str], list[dict[str, Any]]]:
    texts: dict[bytes, str] = {}
    errors: list[dict[str, Any]] = []
    while at < len(raw):
        name, length = _SECTION.unpack_from(raw, at)
        at += _SECTION.size
        text = raw[at : at + length]
        at += length
        if name == b"e":
            errors.append(_error(text))
        else:
            texts[name] = text_id(text) if name == b"a" else text.decode()
    return texts, errors


def _error(raw: bytes) -> dict[str, Any]:
    (at,) = _DOUBLE.unpack_from(raw)
    record: dict[str, Any] = json.loads(raw[8:])
    return record | {"at": instant(at).isoformat()}


def read_job(raw: bytes, base_raw: bytes, run_raw: bytes, *, delayed: bool) -> Job:
    """A job from what is stored of it."""
    base, run = read_base(base_raw), read_run(run_raw, delayed=delayed)
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
    )


def read_claim(raw: bytes, base_raw: bytes, again: bytes, token: str) -> Claim:
    """A claimed job; `again` tells of the runs before, empty for the first."""
    if not again and not base_raw[_FLAGS_AT]:
        return _first_claim(raw, base_raw, token)
    base = read_base(base_raw)
    job_id = text_id(raw)
    attempt, suspect, crashes, due = _AGAIN.unpack_from(again) if again else (1, 0, 0, base.due)
    lane = again[_AGAIN.size :].decode() or base.lane or base.queue
    key = job_id if base.key is None else base.key
    return Claim(
        job_id, token, base.queue, base.task, lane, base.args, key, attempt, base.max_attempts, base.priority,
        base.owner, base.options, bool(suspect), crashes, instant(base.created), instant(due),
    )  # fmt: skip


def _first_claim(raw: bytes, base: bytes, token: str) -> Claim:
    """The same for the most common job, which has nothing but a payload: this is where the time goes."""
    created, due, _, priority, max_attempts, _, length = _BASE.unpack_from(base)
    at = _BASE.size + length
    queue, task = names_of(base[_BASE.size : at])
    job_id = text_id(raw)
    since = instant(created)
    return Claim._make(
        (
            job_id, token, queue, task, queue, base[at:].decode(), job_id, 1, max_attempts, priority,
            None, None, False, 0, since, since if due == created else instant(due),
        )
    )  # fmt: skip


def read_held(raw: bytes, run: Run, base_head: bytes, *, started: bool) -> Held:
    """A job in the hand of a worker that is gone."""
    queue, task = names_of(run.kind)
    max_attempts = _BASE.unpack_from(base_head)[4]
    return Held(
        text_id(raw), task, queue, run.attempt, max_attempts, run.rescues, started, run.cancel, run.worker
    )


def read_letter(raw: bytes, letter: bytes) -> DeadLetter:
    """A dead letter from what is stored of it."""
    failed, recovered, heir, attempts, started, ran_for, length = _LETTER.unpack_from(letter)
    at = _LETTER.size
    reason, at = letter[at : at + length].decode(), at + length
    (length,) = _LONG.unpack_from(letter, at)
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
        error=_error(error) if error else None,
        attempts=attempts,
        first_started_at=instant_or_none(started),
        ran_for=ran_for,
        failed_at=instant(failed),
        recovered_at=instant_or_none(recovered),
        recovered_as=text_id(heir) if recovered else None,
    )
