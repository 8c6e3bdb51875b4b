"""No connection crosses a fork.

SQLite keeps in memory which locks its process holds. A fork copies that memory and none of the locks: a child
would wait for a transaction that never ends, or go without a lock it believes to have. So the parent lets go
of its connections before a fork, and opens them again when it needs them.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from penstock.engines.sqlite.files import Files
from penstock.model.errors import EngineError

PATIENCE = 10.0  # seconds a fork waits for transactions under way; they last that long where a stranger's is

_forking = threading.Lock()  # one fork at a time, and no new desk during it
_desks: weakref.WeakSet[Desk] = weakref.WeakSet()
_descriptors: weakref.WeakSet[Descriptor] = weakref.WeakSet()
_held: list[Desk] = []  # by the fork under way
_busy: list[Desk] = []  # those that were not left in time
_carried: list[Desk] = []  # what was busy in the parent: kept, as closing a copy does harm too


def _nothing() -> None: ...


class Desk:
    """Where a thread works with its connections; a fork waits until it is left, and clears it."""

    def __init__(self, files: Files, clear: Callable[[], None] = _nothing) -> None:
        self.database = files.database
        self.clear = clear
        self._lock = threading.Lock()
        if not files.in_memory:  # which no child could open
            with _forking:
                _desks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def hold(self, until: float) -> bool:
        return self._lock.acquire(timeout=max(0.0, until - time.monotonic()))


class Descriptor:
    """An open file; a child has no copy, with which it would hold the parent's locks beyond its end."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        _descriptors.add(self)

    def close(self) -> None:
        number, self.number = self.number, -1
        os.close(number)


def check(database: str) -> None:
    """EngineError where this process has copies of its parent's connections to the file."""
    if any(desk.database == database for desk in _carried):
        raise EngineError(
            f"this process was forked while its parent was busy in {database} for more than {PATIENCE:g} s: "
            "it cannot use the file; start such processes before the engine is used, or by `spawn`"
        )


def _before() -> None:
    _forking.acquire()
    until = time.monotonic() + PATIENCE
    for desk in list(_desks):
        if desk.hold(until):
            _held.append(desk)
            desk.clear()
        else:
            _busy.append(desk)


def _after_in_parent() -> None:
    _release()


def _after_in_child() -> None:
    for descriptor in list(_descriptors):
        with suppress(OSError):
            descriptor.close()
    _desks.clear()
    _carried.extend(_busy)
    _release()


def _release() -> None:
    for desk in _held:
        desk.__exit__(None, None, None)
    _held.clear()
    _busy.clear()
    _forking.release()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
