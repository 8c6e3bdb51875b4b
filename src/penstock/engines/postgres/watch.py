"""A place at a connection's socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Watch:
    """Calls `step` whenever the socket can be read, and on demand when it can be written, until it is left.

    A lost connection must be left at once, and only once: libpq has closed it already, and the next socket to
    be opened gets its number.
    """

    def __init__(self, socket: int, step: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = socket
        self.step = step
        self.writing = False
        self.there = True
        self.expectant = True  # there is more to come
        self._loop.add_reader(socket, self._ready)

    def _ready(self) -> None:
        self.step()
        if self.there and self.expectant:
            self._loop.call_soon(self._expect_more)  # after those whom this has woken

    def _expect_more(self) -> None:
        """At a socket with an error uvloop calls once and never again, though there may be more to read."""
        if self.there and self.expectant:
            self._loop.remove_reader(self._socket)
            self._loop.add_reader(self._socket, self._ready)

    def is_kept_by(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether this loop calls it."""
        return self.there and self._loop is loop

    def write(self, wanted: bool) -> None:
        """Whether to be called when the socket can be written, too."""
        if wanted and not self.writing:
            self._loop.add_writer(self._socket, self._ready)
        elif self.writing and not wanted:
            self._loop.remove_writer(self._socket)
        self.writing = wanted

    def leave(self) -> None:
        if self.there:
            self.there = False
            self.write(False)
            self._loop.remove_reader(self._socket)


class Seat:
    """A place that is kept from call to call: to take and to leave one costs as much as to read an answer.

    Between calls the server says nothing but goodbye. Then the place is left, and who takes the connection
    next finds it unusable.
    """

    def __init__(self) -> None:
        self._watch: Watch | None = None

    def begin(self, socket: int, step: Callable[[], None]) -> Watch:
        """A call is under way: `step` is what is to be done whenever the socket is ready."""
        watch = self._watch
        if watch is None or not watch.is_kept_by(asyncio.get_running_loop()):
            self.leave()
            watch = self._watch = Watch(socket, step)
        watch.step, watch.expectant = step, True
        return watch

    def rest(self) -> None:
        """The call is over."""
        watch = self._watch
        if watch is not None and watch.there:
            watch.step, watch.expectant = self.leave, False
            if watch.writing:
                watch.write(False)

    def leave(self) -> None:
        """Somebody else reads here now, or the line is gone."""
        if self._watch is not None:
            self._watch.leave()
