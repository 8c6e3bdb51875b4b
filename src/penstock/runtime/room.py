"""What a worker can take on now, beside what it has and what it has asked for already."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from uuid import uuid4

from penstock.engine import Want
from penstock.runtime.board import Board
from penstock.runtime.executor import Executor
from penstock.runtime.options import WorkerOptions
from penstock.runtime.pace import Pace


class Room:
    """Touched by the event loop only."""

    def __init__(self, worker: str, board: Board, options: WorkerOptions) -> None:
        self._worker = worker
        self._board = board
        self._options = options
        self._asked = 0  # claims that calls under way ask for
        self._asked_of: Counter[str] = Counter()  # the same by queue
        self.pace = Pace(board.slots, time.monotonic())
        self.paused: frozenset[str] = frozenset()

    def asked(self, want: Want, by: int) -> None:
        """A call asks for this (1), or has been answered (-1)."""
        self._asked += by * want.limit
        for queue, most in want.queues.items():
            self._asked_of[queue] += by * min(most, want.limit)

    def want(self, executor: Executor) -> Want | None:
        """What fits beside what this has; None where nothing does."""
        slots = self._board.slots - len(executor.running) - len(executor.ready) - self._asked
        free = slots + self.pace.ahead
        queues = self.per_queue(executor, free)
        if not queues:
            return None
        limit = min(free, sum(queues.values()))
        tasks = self._options.fingerprints()
        return Want(self._worker, uuid4().hex, queues, limit, tasks, min(limit, max(0, slots)))

    def per_queue(self, executor: Executor, free: int) -> Mapping[str, int]:
        """How many each queue may give us; a queue with a limit of its own is never claimed ahead."""
        room: dict[str, int] = {}
        for queue, limit in self._options.queues.items():
            taken = executor.per_queue[queue] + self._asked_of[queue]
            fits = free if limit is None else min(free, limit - taken)
            if fits > 0 and queue not in self.paused:
                room[queue] = fits
        return room
