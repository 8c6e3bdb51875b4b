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
        self._step = step
        self._writing = False
        self.there = True
        self._loop.add_reader(socket, self._ready)

    def _ready(self) -> None:
        self._step()
        if self.there:
            # At a socket with an error uvloop calls once and never again, though there may be more to read.
            self._loop.remove_reader(self._socket)
            self._loop.add_reader(self._socket, self._ready)

    def write(self, wanted: bool) -> None:
        """Whether to be called when the socket can be written, too."""
        if wanted and not self._writing:
            self._loop.add_writer(self._socket, self._ready)
        elif self._writing and not wanted:
            self._loop.remove_writer(self._socket)
        self._writing = wanted

    def leave(self) -> None:
        if self.there:
            self.there = False
            self.write(False)
            self._loop.remove_reader(self._socket)
