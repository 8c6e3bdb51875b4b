"""Ends that the engine refuses to write: each is settled alone, so that no other is held up by one."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from penstock.engine import Settlement
from penstock.model.errors import EngineError
from penstock.runtime.account import Account
from penstock.runtime.backoff import Backoff
from penstock.runtime.exchange import Exchange

log = logging.getLogger("penstock.worker")

LONGEST_REST = 5.0  # seconds between two tries, where the engine refuses one after another


class Apart:
    """Touched by the event loop only."""

    def __init__(self, account: Account, kick: Callable[[], None]) -> None:
        self._account = account
        self._kick = kick  # called when there is one to be tried
        self._untried: deque[tuple[Settlement, bool]] = deque()  # they have only been refused with others
        self._waiting: deque[tuple[Settlement, bool]] = deque()
        self._backoff = Backoff(cap=LONGEST_REST)
        self._resting = False

    def __len__(self) -> int:
        return len(self._untried) + len(self._waiting)

    def next(self, news: int) -> Exchange | None:
        """The next to be tried, by itself and without a claim, which may be what was refused."""
        if not self._untried and (self._resting or not self._waiting):
            return None
        end, again = (self._untried or self._waiting).popleft()
        return Exchange([end], None, again, news, alone=True)

    def put_back(self, exchange: Exchange) -> None:
        """The engine was away: that says nothing of the end."""
        self._untried.extendleft((end, exchange.again) for end in exchange.ends)

    def refused(self, exchange: Exchange, error: EngineError) -> None:
        """The ends of a call that was refused; one by itself waits until the others have been tried."""
        if len(exchange.ends) > 1 or exchange.want is not None:
            # `again`: an engine whose scripts are not undone may have written some of them.
            self._untried.extend((end, True) for end in exchange.ends)
            log.warning("the engine refused: %s; %d ends are settled one by one", error, len(exchange.ends))
        else:
            self._waiting.extend((end, exchange.again) for end in exchange.ends)
            self._tell(exchange.ends[0], error)
            self._rest()

    def written(self) -> None:
        """It takes them again."""
        self._backoff.reset()

    def _tell(self, end: Settlement, error: EngineError) -> None:
        found = self._account.unsettled.get(end.token)
        log.error(
            "the engine refuses to write how job %s (%s) ended: %s; mend what it says. It is tried again "
            "while other jobs go on; if the worker ends before it is written, the job runs again",
            end.id,
            found[0].task if found else "not begun",
            error,
        )

    def _rest(self) -> None:
        self._resting = True
        asyncio.get_running_loop().call_later(self._backoff.next(), self._go_on)

    def _go_on(self) -> None:
        self._resting = False
        self._kick()
