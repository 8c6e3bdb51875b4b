"""Ends and wants as the scripts take them, and their answers as the contract has them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from struct import Struct, pack
from typing import Any

from penstock.engine import Settlement, Want
from penstock.engines.redis import enqueue
from penstock.engines.redis.codec import DOUBLE, LETTERS, LONG, NOBODY, raw_id, section
from penstock.engines.redis.instants import SECOND, micro, number
from penstock.engines.redis.records import read_claim
from penstock.model.job import Claim
from penstock.model.lanes import parked_lane
from penstock.model.outcome import COMPLETED, Completed, Outcome
from penstock.model.priority import HEAD_START, Priority

_END = Struct("<16s16sdcBd")  # and state, flags, delay
_REFUND, _KEEP_PLACE, _SUSPECT, _CRASHED, _RESCUED, _KEEP, _TAKEN = 1, 2, 4, 8, 16, 32, 64
_NAMED = 36 + 32  # characters of an id and a token
_UNORDERED = b"2"
_STRANGER = NOBODY  # no job has this id


def pack_end(end: Settlement, *, taken: bool = False) -> bytes:
    """How one run ended; `taken`: not by its holder, whose token is worth nothing from now on."""
    try:
        job, token = raw_id(end.id), raw_id(end.token)
    except ValueError:
        job = token = _STRANGER
    outcome = end.outcome
    flags = _flags(outcome) | (_KEEP if end.keep else 0) | (_TAKEN if taken else 0)
    head = _END.pack(job, token, end.ran_for, LETTERS[outcome.state], flags, micro(outcome.delay))
    return head + _texts(outcome)


def _flags(outcome: Outcome) -> int:
    return (
        _REFUND * outcome.refund
        | _KEEP_PLACE * outcome.keep_place
        | _SUSPECT * outcome.suspect
        | _CRASHED * outcome.crashed
        | _RESCUED * outcome.rescued
    )


def _texts(outcome: Outcome) -> bytes:
    texts = {b"n": outcome.note, b"r": outcome.result, b"e": outcome.error, b"q": outcome.reason}
    if outcome.lane is not None:
        texts[b"m"] = outcome.lane
    if outcome.park is not None:
        # Only the script knows the queue, which the lane's name begins with.
        texts |= {b"l": parked_lane("", outcome.park), b"k": outcome.park.reason}
    packed = [section(name, text) for name, text in texts.items() if text is not None]
    if outcome.cooldown > 0:
        packed.append(section(b"c", DOUBLE.pack(micro(outcome.cooldown))))
    if outcome.healthy is not None:
        packed.append(section(b"h", b"1" if outcome.healthy else b"0"))
    return b"".join(packed)


class Ends:
    """Settlements as `settle.lua` takes them: plain completions together, all other ends one by one.

    Where one of them puts jobs in, `verb` is the script that is refused when memory is full.
    """

    def __init__(self, ends: Sequence[Settlement]) -> None:
        self.verb = "settle"
        kinds = {end.keep if end.outcome is COMPLETED and not end.then else None for end in ends}
        if len(kinds) == 1 and (kept := kinds.pop()) is not None:
            self._take_alike(ends, kept=kept)
        else:
            self._sort(ends)

    def _take_alike(self, ends: Sequence[Settlement], *, kept: bool) -> None:
        """As most are: nothing but an end."""
        self._places: Sequence[int] = range(len(ends))
        plain, nothing = plain_ends(ends), bytes(LONG.size * len(ends))
        self.arguments = [plain, b"", b"", b"0"] if kept else [b"", plain, nothing, b"0"]

    def _sort(self, ends: Sequence[Settlement]) -> None:
        kept: list[Settlement] = []
        unkept: list[Settlement] = []
        left: list[bytes] = []  # what the unkept leave, should they be kept all the same
        others: list[bytes] = []
        followers: list[bytes] = []
        places: tuple[list[int], list[int], list[int]] = ([], [], [])
        for place, end in enumerate(ends):
            if _is_plain(end):
                plain, group = (kept, 0) if end.keep else (unkept, 1)
                plain.append(end)
                if not end.keep:
                    texts = b"" if end.outcome is COMPLETED else _texts(end.outcome)
                    left += (LONG.pack(len(texts)), texts)
            else:
                group = 2
                others.append(pack_end(end))
                if end.then:
                    jobs = enqueue.arguments(end.then)
                    followers += (number(len(others)), number(len(jobs)), *jobs)
            places[group].append(place)
        self.arguments = [plain_ends(kept), plain_ends(unkept), b"".join(left), number(len(others)), *others]
        if followers:
            self.verb = "settle_then"
            self.arguments += (number(sum(bool(end.then) for end in ends)), *followers)
        self._places = [place for group in places for place in group]

    def accepted(self, refused: Sequence[int]) -> list[bool]:
        """In the order in which they were given; the script counts from 1, in its own order."""
        told = [True] * len(self._places)
        for place in refused:
            told[self._places[place - 1]] = False
        return told


def _is_plain(end: Settlement) -> bool:
    if end.then or end.outcome.healthy is not None:
        return False
    return end.outcome is COMPLETED or (type(end.outcome) is Completed and not end.keep)


def plain_ends(ends: Sequence[Settlement]) -> bytes:
    """Id and token of each, and then the doubles: how long each ran."""
    named = [end.id + end.token for end in ends]
    if set(map(len, named)) <= {_NAMED}:
        with suppress(ValueError):
            raw = bytes.fromhex("".join(named).replace("-", ""))
            return raw + pack(f"<{len(ends)}d", *[end.ran_for for end in ends])
    return b"".join(map(_named, ends)) + pack(f"<{len(ends)}d", *[end.ran_for for end in ends])


def _named(end: Settlement) -> bytes:
    try:
        return raw_id(end.id) + raw_id(end.token)
    except ValueError:
        return _STRANGER + _STRANGER


class Wanted:
    """A want as the scripts take it, with fresh tokens for all that may be claimed."""

    def __init__(self, want: Want) -> None:
        tokens = os.urandom(16 * max(0, want.limit))
        self._tokens = tokens.hex()
        self.arguments = [
            want.worker.encode(),
            want.request.encode(),
            number(want.limit),
            tokens,
            _known(want.tasks),
            number(want.free),
        ]
        for queue, most in want.queues.items():
            self.arguments += (queue.encode(), number(most))

    def read(self, answer: Sequence[Any]) -> list[Claim]:
        """The claims in an answer: after the first four, three values for each."""
        tokens = [self._tokens[at : at + 32] for at in range(0, (len(answer) - 4) // 3 * 32, 32)]
        claims = list(map(read_claim, answer[4::3], answer[5::3], answer[6::3], tokens))
        return sorted(claims, key=_rank) if answer[0] == _UNORDERED else claims


def next_in(answer: Sequence[Any]) -> float | None:
    """Seconds after which it is worth asking again, by the answer to a want."""
    return int(answer[2]) / SECOND if answer[2] else None


def fence(answer: Sequence[Any]) -> int:
    """The fence of the claims, by the answer to a want."""
    return int(answer[3])


def _rank(claim: Claim) -> tuple[datetime, str]:
    return claim.due_at - timedelta(seconds=HEAD_START[Priority(claim.priority)]), claim.id


def _known(tasks: Mapping[str, str]) -> bytes:
    return "".join(f"\1{task}\0{signature}" for task, signature in tasks.items()).encode() + b"\1"
