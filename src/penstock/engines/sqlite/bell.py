"""Wake-ups between processes: a datagram to each engine that listens, and a slow look at the file."""

from __future__ import annotations

import hashlib
import os
import random
import select
import socket
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from penstock.engines.sqlite.connection import connect_reader
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.forks import Desk
from penstock.model.errors import EngineUnavailable

POLL = 0.5  # seconds between looks at the file, give or take a fifth
_LONGEST_PATH = 100  # the address of a socket holds 104 bytes on some systems
# Not the process's own idea of a place for temporary files: all who share a database must come to the same.
_SHORT = Path("/tmp")  # noqa: S108 - its folders are for this user alone
_MOST_BYTES = 4_096
_SEPARATOR = "\n"
_TRIES = 10
_NAME_LENGTH = 32 + len(".sock")

Ring = Callable[[Iterable[str] | None], None]


def folder_of(files: Files) -> Path:
    """Where the sockets of a database lie: beside it, or in a short place where its path is too long."""
    beside = Path(files.wake)
    if len(os.fsencode(beside)) + 1 + _NAME_LENGTH <= _LONGEST_PATH:
        return beside
    digest = hashlib.sha256(os.fsencode(files.database)).hexdigest()[:24]
    return _SHORT / f"penstock-{os.getuid()}-{digest}"


class Bell:
    """Rings the engines of other processes. Used by the writer thread alone."""

    def __init__(self, files: Files) -> None:
        self._folder = folder_of(files)
        self._own = ""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._listed_at = 0
        self._listeners: list[str] = []

    def ring(self, queues: Iterable[str]) -> None:
        message = _SEPARATOR.join(queues).encode()
        if len(message) > _MOST_BYTES:
            message = b""
        for path in self._others():
            try:
                self._socket.sendto(message, path)
            except (ConnectionRefusedError, FileNotFoundError):
                with suppress(OSError):
                    Path(path).unlink()
            except OSError:  # its buffer is full: it has been rung enough
                continue

    def spare(self, own: str) -> None:
        """Leave out the listener of this engine."""
        self._own = own
        self._listed_at = 0

    def close(self) -> None:
        self._socket.close()

    def _others(self) -> list[str]:
        try:
            changed_at = self._folder.stat().st_mtime_ns
        except FileNotFoundError:
            return []
        if changed_at != self._listed_at:
            self._listed_at = changed_at
            self._listeners = [p for p in map(str, self._folder.iterdir()) if p != self._own]
        return self._listeners


class Listener:
    """Hears the bells of other processes, and looks for itself twice a second."""

    def __init__(self, files: Files, ring: Ring) -> None:
        self._files = files
        self._ring = ring
        self._folder = folder_of(files)
        self.path = str(self._folder / f"{uuid.uuid4().hex}.sock")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._bind()
        self._stopped = threading.Event()
        self._connection: sqlite3.Connection | None = None  # of who is at the desk
        self._version = -1
        self._desk = Desk(files, self._disconnect)
        self._thread = threading.Thread(target=self._loop, name="penstock-sqlite-listener", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Blocks until the thread has ended."""
        self._stopped.set()
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as poke:
            poke.setblocking(False)
            poke.sendto(b"", self.path)
        self._thread.join()
        self._socket.close()
        with suppress(OSError):
            Path(self.path).unlink()
            self._folder.rmdir()  # fails, as it should, while others listen

    def _bind(self) -> None:
        for _ in range(_TRIES):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with suppress(FileNotFoundError):  # the last of the others took the folder along
                self._socket.bind(self.path)
                return
        raise EngineUnavailable(f"cannot listen in {self._folder}: it is taken away again and again")

    def _loop(self) -> None:
        chance = random.Random()  # the global one is the user's, who may have seeded it
        try:
            while not self._stopped.is_set():
                heard, _, _ = select.select([self._socket], [], [], POLL * chance.uniform(0.8, 1.2))
                if heard:
                    self._hear()
                    continue
                with self._desk:
                    changed = self._look()
                if changed:
                    self._ring(None)
        finally:
            with self._desk:
                self._disconnect()

    def _look(self) -> bool:
        """Whether there was a commit of another connection since the last look, or may have been."""
        try:
            self._connection = self._connection or connect_reader(self._files)
            found: int = self._connection.execute("pragma data_version").fetchone()[0]
        except sqlite3.Error:
            return False
        before, self._version = self._version, found
        return found != before

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._version = -1  # what another connection counts is no measure for the next

    def _hear(self) -> None:
        rung: set[str] = set()
        with suppress(BlockingIOError):
            while True:
                message = self._socket.recv(_MOST_BYTES)
                if not message:
                    self._ring(None)
                rung.update(message.decode().split(_SEPARATOR))
        self._ring(rung)
