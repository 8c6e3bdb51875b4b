"""What a worker process and its supervisor share: the age of the heartbeat, and which runs are not settled.

It is plain memory, so that writing costs the worker nothing and reading works after the worker has died.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Iterable

_HEADER = 16  # beat time (double), given up (byte), padding
_PLACE = 40  # the token of the run in this place, in ASCII; it begins with a zero when free
_BEAT = struct.Struct("d")
_TOKEN = struct.Struct(f"{_PLACE}s")  # pads with zeros

PLACES = 8_192  # runs that have begun and are not settled; what is beyond is not kept in mind
_SIZE = _HEADER + PLACES * _PLACE


class Board:
    """Times are `time.monotonic()`, which all processes of one host share.

    The side that beats writes the header; the worker writes the runs.
    """

    def __init__(self, memory: bytearray | mmap.mmap, slots: int, ttl: float) -> None:
        self._memory = memory
        self.slots = slots
        self.ttl = ttl
        self._free = [_HEADER + place * _PLACE for place in reversed(range(PLACES))]  # where they begin
        self._places: dict[str, int] = {}

    @classmethod
    def private(cls, slots: int, ttl: float) -> Board:
        """A board for a worker that beats for itself, inside its own process."""
        return cls(bytearray(_SIZE), slots, ttl)

    @classmethod
    def shared(cls, fd: int, slots: int, ttl: float) -> Board:
        """A board in the memory behind `fd`, which `make_file` has made."""
        return cls(mmap.mmap(fd, _SIZE), slots, ttl)

    @staticmethod
    def make_file() -> int:
        """A file without a name, for `shared`; the caller closes it."""
        fd = os.memfd_create("penstock-board", 0) if hasattr(os, "memfd_create") else _unnamed_file()
        os.ftruncate(fd, _SIZE)
        os.set_inheritable(fd, True)
        return fd

    # -- the heartbeat ------------------------------------------------------------------------------
    def beaten(self, asked_at: float) -> None:
        """The engine has renewed the lease; it counts from before it was asked."""
        self._memory[0:8] = _BEAT.pack(asked_at)

    def give_up(self) -> None:
        """The engine has given this worker up. That is final."""
        self._memory[8:9] = b"\x01"

    @property
    def given_up(self) -> bool:
        return self._memory[8:9] != b"\x00"

    def age(self) -> float:
        """Seconds since the lease was last renewed."""
        beat: float = _BEAT.unpack(self._memory[0:8])[0]
        return time.monotonic() - beat

    def may_claim(self) -> bool:
        """Whether enough of the lease is left to take on more."""
        return not self.given_up and self.age() < self.ttl * 2 / 3

    def lost(self) -> bool:
        """Whether the lease is over: what this worker held may be running elsewhere."""
        return self.given_up or self.age() >= self.ttl

    # -- the runs -----------------------------------------------------------------------------------
    def begin(self, token: str) -> None:
        """A run begins."""
        if self._free:
            place = self._places[token] = self._free.pop()
            _TOKEN.pack_into(self._memory, place, token.encode())

    def end(self, token: str) -> None:
        """Its end is settled: until then it may have to run again, and may be what ended its process."""
        self.end_all([token])

    def end_all(self, tokens: Iterable[str]) -> None:
        """The ends of these runs are settled."""
        memory, free = self._memory, self._free
        for place in [self._places.pop(token, 0) for token in tokens]:
            if place:
                memory[place] = 0
                free.append(place)

    def clear(self) -> None:
        """Whatever is not settled did no harm."""
        self.end_all(list(self._places))

    def begun(self) -> frozenset[str]:
        """The tokens of the runs that have begun and are not settled."""
        raw = bytes(self._memory[_HEADER:_SIZE])
        return frozenset(
            raw[at : at + _PLACE].rstrip(b"\0").decode() for at in range(0, len(raw), _PLACE) if raw[at]
        )


def _unnamed_file() -> int:
    import tempfile  # noqa: PLC0415 - only where the system has no memfd

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
