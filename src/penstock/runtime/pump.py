"""The conversation with the engine: settle what ended and claim what fits, in one call, as handlers run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from penstock import crash_points
from penstock.engine import Engine, Settled, Settlement, Want
from penstock.model.decide import Committed, End
from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown, WorkerExpired
from penstock.model.job import Claim
from penstock.model.outcome import Completed, Released
from penstock.runtime.account import Account
from penstock.runtime.apart import Apart
from penstock.runtime.backoff import Backoff, jittered
from penstock.runtime.board import Board
from penstock.runtime.exchange import Exchange, passed_on, soonest_again, take_ends
from penstock.runtime.executor import Executor
from penstock.runtime.options import WorkerOptions
from penstock.runtime.outcomes import outcome_of
from penstock.runtime.room import Room
from penstock.runtime.running import Running

log = logging.getLogger("penstock.worker")

MAX_UNSETTLED = 5_000  # ended but not acknowledged; beyond it nothing new is claimed
POLL = 5.0  # seconds between looks at the queues when no wake-up comes


class Pump:
    """Touched by the event loop only."""

    def __init__(
        self,
        engine: Engine,
        worker: str,
        board: Board,
        options: WorkerOptions,
        account: Account,
        due_in: Callable[[float], None],
    ) -> None:
        self._engine = engine
        self._account = account
        self._due_in = due_in  # whom to tell when a job of ours falls due again
        self._worker = worker
        self._board = board
        self._options = options
        self._unkept, self._limited, self._remember = options.unkept, options.limited, options.remembers
        self._ends: deque[Settlement] = deque()
        self._doubtful: deque[Settlement] = deque()  # an earlier settle of these may have succeeded
        self._lost_requests: list[str] = []  # claims whose answer was lost
        self._quiet = False  # a person has told it to claim nothing
        self.next_in: float | None = None  # seconds after which what a limit holds back may be had
        self._backoff = Backoff()
        # The last look found nothing, and there was no news since it was begun: only news make us look again.
        self._looked_empty = asyncio.Event()
        self._news = 0
        self._hearing: asyncio.Task[None] | None = None  # waits for work to come
        self._kick = asyncio.Event()
        self._exchanged = asyncio.Event()
        self._apart = Apart(account, self._kick.set)
        self._talking = 0  # exchanges under way
        self._rhythm = engine.rhythm
        self._room = Room(worker, board, options)
        self._count_end = self._room.pace.ended
        self._stopped = False  # it will never claim again
        self._willing = asyncio.Event()  # to claim more
        self._willing.set()
        self.thorough = False  # nothing is to be left that an end has let go
        self.expired = False
        self.settled = 0
        self.refused = 0
        self.executor: Executor

    # -- what the worker is told --------------------------------------------------------------------
    def ended(self, running: Running, end: End) -> None:
        """A run ended: decide what it means, to be written with the next call."""
        claim = running.claim
        if type(end) is Committed:
            self._ended_by_itself(running)
            return
        if crash_points.chosen:
            crash_points.passing("run-ended")
        now = time.monotonic()
        ran_for = now - running.started
        outcome = outcome_of(running, end, ran_for, self._worker)
        keep = claim.queue not in self._unkept
        then = tuple(running.then) if running.then and isinstance(outcome, Completed) else ()
        ended = (claim.id, claim.token, outcome, ran_for, keep, then, self._remember)
        self._ends.append(tuple.__new__(Settlement, ended))  # by its own name it takes twice as long
        self._account.unsettled[claim.token] = (claim, running.started, running.stop)
        self._free(claim, now)
        if outcome.park is not None:
            log.warning("job %s (%s) is parked: %s", claim.id, claim.task, outcome.park.reason)

    def _ended_by_itself(self, running: Running) -> None:
        """The handler's own transaction has settled the run: there is nothing to write."""
        self._board.end(running.claim.token)
        self._account.committed(running)
        self.settled += 1
        if running.then:
            self._hear_of_work()  # its followers are in, and nobody need have told us
        self._free(running.claim, time.monotonic())
        self._exchanged.set()

    def _free(self, claim: Claim, now: float) -> None:
        self._count_end(now)
        if claim.lane != claim.queue or claim.queue in self._limited:
            self._hear_of_work()  # its place is free: the call that says so may take the next
        if self._options.queues.get(claim.queue) is not None:
            self._hear_no_more()  # we did not listen for what there was no room for
        self._kick.set()

    def hand_back(self, claims: list[Claim]) -> None:
        """Release claims that were not started."""
        self._ends.extend(Settlement(c.id, c.token, Released()) for c in claims)
        self._kick.set()

    def pause(self, queues: frozenset[str]) -> None:
        """These queues are paused now: give back what was claimed from them and not started."""
        resumed, self._room.paused = self._room.paused - queues, queues
        self._exchanged.set()
        if resumed:
            self.wake()  # they called when they were resumed, and we did not look into them
        if queues:
            self.hand_back(self.executor.take_back(queues))

    def hush(self, *, quiet: bool) -> None:
        """A person has told it to claim nothing more, or to go on: what was not started is given back."""
        if quiet == self._quiet:
            return
        self._quiet = quiet
        self._exchanged.set()
        self._obey()

    def stop_claiming(self) -> None:
        """For good; what was not started is given back."""
        self._stopped = True
        self._obey()

    def _obey(self) -> None:
        if self._quiet or self._stopped:
            self._willing.clear()
            self._hear_no_more()
            self.hand_back(self.executor.take_back())
        else:
            self._willing.set()
            self.wake()

    def relieve(self) -> None:
        """Asked now and then: give back what lies ready behind long jobs, and claim nothing more ahead.

        Another worker may have a free slot; and were this one lost, its lease would have to pass first.
        """
        if stuck := self.executor.stuck_ready():
            self._room.pace.forget()
            self.hand_back(stuck)

    def wake(self) -> None:
        """There may be work."""
        self._hear_of_work()
        self._hear_no_more()
        self._kick.set()

    def _hear_of_work(self) -> None:
        self._news += 1
        self._looked_empty.clear()

    def look_again(self) -> None:
        """What kept us from claiming may be over, a pause or a late heartbeat: nobody tells us so."""
        if not self.looked_empty:
            self._kick.set()

    @property
    def idle(self) -> bool:
        """Nothing runs, nothing is ready, everything is settled."""
        return self._settled_all and not (self.executor.running or self.executor.ready)

    @property
    def exhausted(self) -> bool:
        """Idle, and nothing more to be had: the queues are empty, or all are paused, or it is quiet."""
        nowhere = self._quiet or self._room.paused >= self._options.queues.keys()
        return self.idle and (self.looked_empty or nowhere)

    @property
    def told(self) -> bool:
        """Whatever has ended is settled, and no claim is left whose answer was lost."""
        return self._settled_all and not self._lost_requests

    @property
    def _settled_all(self) -> bool:
        return not (self._ends or self._doubtful or self._talking or self._apart)

    @property
    def looked_empty(self) -> bool:
        """The last look at the queues found nothing."""
        return self._looked_empty.is_set()

    # -- the loop -----------------------------------------------------------------------------------
    async def run(self) -> None:
        """Talk to the engine until this worker is given up."""
        await asyncio.gather(*[self._rounds() for _ in range(self._rhythm.calls)])

    async def _rounds(self) -> None:
        while not (self.expired or self._board.lost()):
            await self.round()

    async def round(self) -> None:
        """One exchange with the engine, or one wait for a reason to have one."""
        if (exchange := self._next_exchange()) is not None:
            await self._exchange(exchange)
        if self._apart and (one := self._apart.next(self._news)) is not None:
            await self._exchange(one)
        elif exchange is None:
            await self._rest()

    async def _exchange(self, exchange: Exchange) -> None:
        self._under_way(exchange, 1)
        asked_at = time.monotonic()
        try:
            settled = await self._have(exchange)
        except WorkerExpired:
            self.expired = True
        except EngineError as error:
            if self._failed(error, exchange):
                await asyncio.sleep(self._backoff.next())
        except asyncio.CancelledError:
            self._doubt(exchange)
            raise
        else:
            self._backoff.reset()
            if exchange.patience is None:
                now, idle = time.monotonic(), not (self.executor.running or self.executor.ready)
                self._room.pace.answered(now, now - asked_at, idle=idle)
            self._succeeded(exchange, settled)
        finally:
            self._under_way(exchange, -1)
            self._exchanged.set()
            self._kick.set()
        await asyncio.sleep(0)  # what was just started and takes no time ends first, to go with the next call

    async def listen(self) -> None:
        """Wait for wake-ups, and look by ourselves now and then: a wake-up is only a hint."""
        while True:
            await self._willing.wait()
            await self._looked_empty.wait()
            standing = self._standing()
            self._hearing = asyncio.create_task(
                self._wait() if standing is None else self._exchange(standing)
            )
            try:
                await asyncio.wait([self._hearing])
            finally:
                self._hear_no_more()
            if not self._hearing.cancelled():
                self._hearing.result()
            if standing is None:
                await self._look_now()

    async def _wait(self) -> None:
        try:
            await self._engine.wait(list(self._options.queues), self._patience())
        except EngineError:
            await asyncio.sleep(jittered(1.0))

    def _standing(self) -> Exchange | None:
        """A claim that waits for work. Only while nothing runs that could hold up what it brings."""
        if not self.idle or (want := self._want(standing=True)) is None:
            return None
        return Exchange([], want, again=False, news=self._news, patience=self._patience())

    def _hear_no_more(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()

    async def _look_now(self) -> None:
        """There may be work: ask at once, and leave it to the others only where they are at it."""
        self._hear_of_work()
        if (exchange := self._next_exchange()) is None:
            self._kick.set()
        else:
            await self._exchange(exchange)

    def _patience(self) -> float:
        """How long to wait for a wake-up: no longer than until what a limit holds back may be had."""
        return jittered(POLL) if self.next_in is None else min(jittered(POLL), self.next_in)

    async def exchanged(self) -> None:
        """Until the next exchange is done, or the pauses of the queues may have changed."""
        self._exchanged.clear()
        await self._exchanged.wait()

    async def _rest(self) -> None:
        self._kick.clear()
        await self._kick.wait()

    def _next_exchange(self) -> Exchange | None:
        if self._talking and len(self._ends) < self._rhythm.ends:
            return None
        again = bool(self._doubtful)
        want = self._want()
        ends = take_ends(self._doubtful if again else self._ends)
        if not ends and want is None and not self._lost_requests:
            return None
        return Exchange(ends, want, again, self._news)

    def _under_way(self, exchange: Exchange, by: int) -> None:
        if exchange.patience is None:
            self._talking += by
        if exchange.want is not None:
            self._room.asked(exchange.want, by)

    async def _have(self, exchange: Exchange) -> Settled:
        while self._lost_requests and not exchange.alone:
            await self._release(self._lost_requests.pop())
        ends, want, again, _, patience, _ = exchange
        if ends:
            crash_points.passing("settling")
            settled = await self._engine.settle(ends, want, again=again)
            crash_points.passing("settled")
            return settled
        if want is None:
            return Settled([], [])
        if patience is None:
            claimed = await self._engine.claim(want)
        else:
            claimed = await self._engine.claim_next(want, patience)
        return Settled([], claimed.claims, next_in=claimed.next_in)

    async def _release(self, request: str) -> None:
        try:
            await self._engine.release(self._worker, request)
        except (EngineError, asyncio.CancelledError):
            self._lost_requests.append(request)
            raise

    def _succeeded(self, exchange: Exchange, settled: Settled) -> None:
        if exchange.ends:
            self._written(exchange, settled)
        self.expired = self.expired or settled.expired
        if exchange.want is not None:
            self.next_in = settled.next_in
            if settled.claims:
                # Fewer than wanted may only mean that others were at the same rows: look once more.
                self._looked_empty.clear()
                self._take_on(settled.claims)
            elif exchange.news == self._news:
                self._looked_empty.set()

    def _written(self, exchange: Exchange, settled: Settled) -> None:
        self._account.settled(exchange.ends, settled.accepted)
        self._board.end_all([end.token for end in exchange.ends])
        if exchange.alone:
            self._apart.written()
        if not all(settled.accepted):
            self.refused += passed_on(exchange.ends, settled.accepted)
        if due_in := soonest_again(exchange.ends):
            self._due_in(due_in)  # only now: before it was written it could not be found
        self.settled += len(exchange.ends)
        if self.thorough and exchange.want is None:
            self._hear_of_work()

    def _take_on(self, claims: list[Claim]) -> None:
        if self._board.lost():
            return  # the answer came after the lease: others may have them by now
        if self._willing.is_set():
            self.executor.offer(claims)
        else:
            self.hand_back(claims)

    def _failed(self, error: EngineError, exchange: Exchange) -> bool:
        """Whether there is nothing to do but wait."""
        if isinstance(error, EngineUnavailable):
            log.warning("the engine is not available: %s", error)
            if isinstance(error, OutcomeUnknown):
                self._doubt(exchange)
            elif exchange.alone:
                self._apart.put_back(exchange)
            else:
                (self._doubtful if exchange.again else self._ends).extendleft(reversed(exchange.ends))
        elif exchange.ends:
            self._apart.refused(exchange, error)
            return False
        else:
            log.error("the engine refused: %s", error)
        return True

    def _doubt(self, exchange: Exchange) -> None:
        """Nobody knows what became of it."""
        self._doubtful.extendleft(reversed(exchange.ends))
        if exchange.want is not None:
            self._lost_requests.append(exchange.want.request)

    # -- what fits ----------------------------------------------------------------------------------
    def _want(self, *, standing: bool = False) -> Want | None:
        if not self._willing.is_set() or not self._board.may_claim():
            return None
        if self.looked_empty and not standing:
            return None
        if len(self._ends) + len(self._doubtful) + len(self._apart) > MAX_UNSETTLED:
            return None
        return self._room.want(self.executor)
