"""What only some jobs have beside base and run: see `_more.lua`, which has the same layout."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from penstock.engines.redis.codec import DOUBLE, raw_id, section, sections, text_id
from penstock.engines.redis.instants import instant, micro
from penstock.model.job import Edge, NewJob, Ties

_EDGE = 17  # bytes: an id and a letter


def pack_more(job: NewJob) -> bytes | None:
    """For a job on its way in, whose deadline counts from now on; None where there is nothing more of it."""
    windowed = job.unique and job.window.kind != "record"
    if job.ties is None and not windowed:
        return None
    packed = [] if job.ties is None else _sections(job.ties)
    if windowed:
        letter, seconds = job.window.kind[0].encode(), job.window.seconds
        packed.append(section(b"w", letter + DOUBLE.pack(micro(seconds))))
    return b"".join(packed)


def delay_of(job: NewJob) -> float:
    """A debounced job comes in delayed by its window too."""
    debounced = job.unique and job.window.kind == "debounce"
    return job.delay + job.window.seconds if debounced else job.delay


def _sections(ties: Ties) -> list[bytes]:
    packed = []
    if ties.after:
        edges = [raw_id(edge.id) + _letter(edge) for edge in ties.after]
        packed.append(section(b"a", b"".join(edges)))
    if ties.deadline is not None:
        packed.append(section(b"d", DOUBLE.pack(micro(ties.deadline)) + ties.at_deadline[0].encode()))
    if ties.flow is not None:
        packed += [section(b"l", ties.flow.id), section(b"n", ties.flow.name)]
    if ties.shelf is not None:
        packed.append(section(b"s", ties.shelf))
    if ties.origin is not None:
        packed.append(section(b"o", ties.origin))
    return packed


def _letter(edge: Edge) -> bytes:
    letter = edge.on_failure[0]
    return (letter.upper() if edge.has_come else letter).encode()


class More(NamedTuple):
    """What there is more of a job."""

    after: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    deadline_at: datetime | None = None
    flow: str | None = None
    origin: str | None = None


NOTHING = More()


def read_more(raw: bytes) -> More:
    if not raw:
        return NOTHING
    found = dict(sections(raw))
    edges, left = found.get(b"a", b""), found.get(b"b", b"")
    deadline = found.get(b"d")
    return More(
        tuple(text_id(edges[i : i + 16]) for i in range(0, len(edges), _EDGE)),
        tuple(text_id(left[i : i + 16]) for i in range(0, len(left), 16)),
        None if deadline is None else instant(DOUBLE.unpack_from(deadline)[0]),
        _text(found.get(b"l")),
        _text(found.get(b"o")),
    )


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode()
