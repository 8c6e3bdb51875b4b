"""How jobs are packed: small in memory, and plain enough for a script to read.

Two values for each job: the base, as it came in, and the run, what has happened to it since. The scripts have
the same layouts: see `_base.lua` and `_run.lua`, where they are told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

from penstock.engines.redis.instants import instant, micro
from penstock.model.job import NewJob
from penstock.model.priority import HEAD_START
from penstock.model.states import State

UNIQUE, EXPIRES, OWNER, KEY, LANE, OPTIONS, HEIR, MORE = 1, 2, 4, 8, 16, 32, 64, 128
NOBODY = bytes(16)

STATES = {
    "w": State.WAITING,
    "d": State.DELAYED,
    "b": State.BLOCKED,
    "a": State.ACTIVE,
    "c": State.COMPLETED,
    "f": State.FAILED,
    "x": State.CANCELLED,
}
LETTERS = {state: letter.encode() for letter, state in STATES.items()}
BY_BYTE = {letter.encode(): state for letter, state in STATES.items()}

_HEAD = Struct("<BBHhH")  # flags, priority, max_attempts, head start, length of the kind
BASE = Struct("<ddBBHhH")  # created, due, and the head
_RUN = Struct("<cddBHHHddd16sBHBBH")
DOUBLE, LONG, _SHORT = Struct("<d"), Struct("<I"), Struct("<H")
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
        and job.ties is None
        and job.lane in (None, job.queue)
    )


def pack_base(job: NewJob, *, more: bool = False, heir_of: bytes | None = None) -> bytes:
    """The base of a job, without its times: those are the server's. `more`: there is more of it elsewhere."""
    flags, parts = _optional(job)
    if more:
        flags |= MORE
    if heir_of is not None:
        flags |= HEIR
        parts.append(heir_of)
    head = _head(flags, job.queue, job.task, job.priority, job.max_attempts)
    return b"".join((head, *parts, job.args.encode()))


def plain_head(job: NewJob) -> bytes:
    """What stands before the payload in the base of a plain job."""
    return _head(0, job.queue, job.task, job.priority, job.max_attempts)


@lru_cache(1_024)
def _head(flags: int, queue: str, task: str, priority: int, max_attempts: int) -> bytes:
    kind = kind_of(queue, task)
    return _HEAD.pack(flags, priority, min(max_attempts, 65_535), _HEADS[priority], len(kind)) + kind


def _optional(job: NewJob) -> tuple[int, list[bytes]]:
    flags = UNIQUE if job.unique else 0
    parts: list[bytes] = []
    if job.expire_after is not None:
        flags |= EXPIRES
        parts.append(DOUBLE.pack(micro(job.expire_after)))
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
        parts.append(_text(LONG, job.options))
    return flags, parts


def _text(length: Struct, text: str | None) -> bytes:
    encoded = (text or "").encode()
    return length.pack(len(encoded)) + encoded


def section(name: bytes, text: str | bytes) -> bytes:
    """One named text, as they stand behind each other."""
    encoded = text.encode() if isinstance(text, str) else text
    return _SECTION.pack(name, len(encoded)) + encoded


def sections(raw: bytes, at: int = 0) -> Iterator[tuple[bytes, bytes]]:
    """Names and texts, from `at` to the end."""
    while at < len(raw):
        name, length = _SECTION.unpack_from(raw, at)
        at += _SECTION.size
        yield name, raw[at : at + length]
        at += length


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
    created, due, flags, priority, max_attempts, _, length = BASE.unpack_from(raw)
    at = BASE.size + length
    queue, task = names_of(raw[BASE.size : at])
    plain = (queue, task, created, due, priority, max_attempts)
    if not flags:
        return Base(*plain, raw[at:].decode())
    more: dict[str, Any] = {"unique": bool(flags & UNIQUE)}
    if flags & EXPIRES:
        (more["expire_after"],) = DOUBLE.unpack_from(raw, at)
        at += 8
    for flag, name, size in _TEXTS:
        if flags & flag:
            more[name], at = _read_text(size, raw, at)
    if flags & HEIR:
        more["heir_of"], at = text_id(raw[at : at + 16]), at + 16
    return Base(*plain, raw[at:].decode(), **more)


_TEXTS = ((OWNER, "owner", _SHORT), (KEY, "key", _SHORT), (LANE, "lane", _SHORT), (OPTIONS, "options", LONG))


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


def read_run(raw: bytes, state: State | None = None) -> Run:
    """An empty one is of a job that nobody has touched since it came in; `state` is what its place tells."""
    if not raw:
        return Run(state or State.WAITING)
    (letter, finished, ran_for, flags, attempt, crashes, rescues, due, claimed, started, token, _,
     kind, worker, request, lane) = _RUN.unpack_from(raw)  # fmt: skip
    at = _RUN.size
    words = []
    for length in (kind, worker, request, lane):
        words.append(raw[at : at + length])
        at += length
    texts, errors = _sections(raw, at)
    return Run(
        state or BY_BYTE[letter],
        finished, ran_for, bool(flags & 1), bool(flags & 2), attempt, crashes, rescues, due, claimed, started,
        token, words[0], words[1].decode(), words[3].decode(), texts, errors,
    )  # fmt: skip


def _sections(raw: bytes, at: int) -> tuple[dict[bytes, str], list[dict[str, Any]]]:
    texts: dict[bytes, str] = {}
    errors: list[dict[str, Any]] = []
    for name, text in sections(raw, at):
        if name == b"e":
            errors.append(read_error(text))
        else:
            texts[name] = text_id(text) if name == b"a" else text.decode()
    return texts, errors


def read_error(raw: bytes) -> dict[str, Any]:
    """One error of a job's history."""
    (at,) = DOUBLE.unpack_from(raw)
    record: dict[str, Any] = json.loads(raw[8:])
    return record | {"at": instant(at).isoformat()}
