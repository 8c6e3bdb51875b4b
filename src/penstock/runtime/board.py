"""What a worker process and its supervisor share: the age of the heartbeat, and which runs have begun.

It is plain memory, so that writing costs the worker nothing and reading works after the worker has died.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from typing import Protocol

_HEADER = 16  # beat time (double), given up (byte), padding
_SLOT = 40  # the token of the run in this slot, in ASCII; zeros when free
_BEAT = struct.Struct("d")


class _Memory(Protocol):
    def __getitem__(self, place: slice, /) -> bytes | bytearray: ...
    def __setitem__(self, place: slice, value: bytes, /) -> None: ...


class Board:
    """Times are `time.monotonic()`, which all processes of one host share.

    The side that beats writes the header; the worker writes the slots.
    """

    def __init__(self, memory: _Memory, slots: int, ttl: float) -> None:
        self._memory = memory
        self.slots = slots
        self.ttl = ttl

    @classmethod
    def private(cls, slots: int, ttl: float) -> Board:
        """A board for a worker that beats for itself, inside its own process."""
        return cls(bytearray(cls.size(slots)), slots, ttl)

    @classmethod
    def shared(cls, fd: int, slots: int, ttl: float) -> Board:
        """A board in the memory behind `fd`, which must hold `size(slots)` bytes."""
        return cls(mmap.mmap(fd, cls.size(slots)), slots, ttl)

    @staticmethod
    def size(slots: int) -> int:
        return _HEADER + slots * _SLOT

    @classmethod
    def make_file(cls, slots: int) -> int:
        """A file without a name, for `shared`; the caller closes it."""
        fd = os.memfd_create("penstock-board", 0) if hasattr(os, "memfd_create") else _unnamed_file()
        os.ftruncate(fd, cls.size(slots))
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
    def begin(self, slot: int, token: str) -> None:
        at = _HEADER + slot * _SLOT
        self._memory[at : at + _SLOT] = token.encode().ljust(_SLOT, b"\0")

    def end(self, slot: int) -> None:
        at = _HEADER + slot * _SLOT
        self._memory[at : at + _SLOT] = b"\0" * _SLOT

    def begun(self) -> frozenset[str]:
        """The tokens of the runs that are under way."""
        raw = bytes(self._memory[_HEADER : self.size(self.slots)])
        tokens = (raw[at : at + _SLOT].rstrip(b"\0").decode() for at in range(0, len(raw), _SLOT))
        return frozenset(t for t in tokens if t)


def _unnamed_file() -> int:
    import tempfile  # noqa: PLC0415 - only where the system has no memfd

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
