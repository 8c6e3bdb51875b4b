"""What an open engine consists of, and the order in which it comes and goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from penstock.engines.sqlite.bell import Bell, Listener
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.reader import Reader
from penstock.engines.sqlite.session import Session
from penstock.engines.sqlite.store import Store
from penstock.engines.sqlite.wake import Wakes
from penstock.engines.sqlite.writer import Writer
from penstock.model.clock import Clock

T = TypeVar("T")


class Look(Protocol):
    """Something that can look at the database: a thread of its own, or the writer of a database in memory."""

    async def run(self, verb: Callable[[Session], T], /) -> T: ...


@dataclass(slots=True)
class Parts:
    """The threads of an open engine and what they share."""

    files: Files
    store: Store
    wakes: Wakes
    writer: Writer
    reads: Look
    beats: Look
    bell: Bell | None = None
    listener: Listener | None = None

    @classmethod
    def open(cls, files: Files, clock: Clock, synchronous: str) -> Parts:
        """Connect, check the schema and start the threads. Blocks."""
        store = Store(files, clock, synchronous)
        try:
            store.open()
        except BaseException:
            store.close()
            raise
        wakes = Wakes()
        bell = None if files.in_memory else Bell(files)

        def woken(queues: set[str]) -> None:
            wakes.ring(queues)
            if bell:
                bell.ring(queues)

        writer = Writer(store, woken)
        writer.start()
        if files.in_memory:
            return cls(files, store, wakes, writer, writer, writer)
        reads, beats = Reader(files, clock, "reads"), Reader(files, clock, "beats")
        return cls(files, store, wakes, writer, reads, beats, bell)

    def listen(self) -> None:
        """Hear other processes from now on: before the first claim, so that no wake-up is missed after it."""
        if self.bell and self.listener is None:
            self.listener = Listener(self.files, self.wakes.ring)
            self.bell.spare(self.listener.path)

    def close(self) -> None:
        """Finish what is queued and let go of everything. Blocks."""
        if self.listener:
            self.listener.stop()
        self.wakes.ring(None)  # who waits for work learns that there will be none
        for reader in (self.reads, self.beats):
            if isinstance(reader, Reader):
                reader.stop()
        self.writer.stop()
        self.store.close()
        if self.bell:
            self.bell.close()
