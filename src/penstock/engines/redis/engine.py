"""The Redis engine: each verb one script, in one round trip where the contract allows it."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from penstock.engine import (
    SERIES_KEPT,
    CancelOrder,
    Claimed,
    Expired,
    Finding,
    Grip,
    Judge,
    Order,
    Orders,
    Outlook,
    Recovery,
    Rescued,
    Retention,
    Rhythm,
    Settled,
    Settlement,
    Want,
    WorkerInfo,
)
from penstock.engines.redis import enqueue, examine, migrate
from penstock.engines.redis.bell import Bell, UnknownScript
from penstock.engines.redis.breakers import Breakers
from penstock.engines.redis.codec import BY_BYTE, STATES, is_plain, names_of, raw_id, text_id
from penstock.engines.redis.instants import SECOND, micro, now_by, number, stored
from penstock.engines.redis.limits import Limits
from penstock.engines.redis.notes import Notes
from penstock.engines.redis.recover import Recoveries
from penstock.engines.redis.rescue import Rescue
from penstock.engines.redis.schedules import Schedules
from penstock.engines.redis.settle import Ends, Wanted, fence, next_in, pack_end
from penstock.engines.redis.surveying import Surveying
from penstock.engines.redis.watched import Watched
from penstock.model.clock import Clock, EngineClock
from penstock.model.errors import WorkerExpired
from penstock.model.ids import is_id
from penstock.model.job import Claim, Enqueued, NewJob
from penstock.model.outcome import EXPIRED, NOT_RECEIVED, UPSTREAM_LATE, UPSTREAM_MISSING
from penstock.model.states import State

logger = logging.getLogger(__name__)


class RedisEngine(Surveying, Schedules, Limits, Breakers, Notes, Watched):
    """Jobs under one prefix of a Redis database. See `penstock.engine.Engine` for its promises."""

    rhythm = Rhythm(calls=3, ends=300)  # a call costs little beside what it carries

    def __init__(self, url: str, *, schema: str = "penstock", clock: Clock | None = None) -> None:
        super().__init__(url, schema, clock or EngineClock())
        self._bell = Bell(self._connector, self._prefix, self._server.ask)
        self._alone = enqueue.Alone(self._server)

    # -- life ---------------------------------------------------------------------------------------
    async def open(self) -> None:
        self._server.open()
        try:
            migrate.check(self.schema, await self._do("schema"))
        except BaseException:
            await self._server.close()
            raise

    async def close(self) -> None:
        await self._bell.close()
        await self._server.close()

    async def migrate(self) -> list[str]:
        async with self._opened():
            migrate.refuse_newer(self.schema, await self._do("schema"))
            return [name.decode() for name in await self._do("migrate", *migrate.KNOWN)]

    async def examine(self) -> list[Finding]:
        async with self._opened():
            found = await examine.examine(self._server.ask, self._connector.address, self._prefix)
            return [*found, migrate.finding(self.schema, await self._do("schema")), *await self._census()]

    # -- in -----------------------------------------------------------------------------------------
    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:  # noqa: ARG002
        """Every call finds what an earlier one with the same ids has made: `again` makes no difference."""
        if not jobs:
            return []
        now = now_by(self._clock)
        if len(jobs) == 1 and not now and is_plain(jobs[0]):
            call = self._alone.call(jobs[0])
        else:
            call = self._server.call("enqueue", now, *enqueue.arguments(jobs))
        return enqueue.answers(jobs, await self._server.send("enqueue", call, repeatable=False))

    # -- run ----------------------------------------------------------------------------------------
    async def register(self, worker: WorkerInfo, ttl: float) -> None:
        about = {"name": worker.name, "queues": worker.queues, "slots": worker.slots}
        started = b"" if worker.started_at is None else number(stored(worker.started_at))
        await self._do(
            "register", worker.id.encode(), number(micro(ttl)), started, json.dumps(about).encode()
        )

    async def beat(self, worker: str, ttl: float, memory: int | None = None) -> Orders:
        size = b"" if memory is None else number(memory)
        orders = await self._do("beat", worker.encode(), number(micro(ttl)), size)
        if orders is None:
            return Orders(given_up=True)
        paused, cancel, watched, ordered = orders
        stops = [
            CancelOrder(text_id(raw), token.hex()) for raw, token in zip(*[iter(cancel)] * 2, strict=True)
        ]
        names = frozenset(queue.decode() for queue in paused)
        return Orders(False, tuple(stops), names, watched == 1, Order(ordered.decode()) if ordered else None)

    async def claim(self, want: Want) -> Claimed:
        wanted = Wanted(want)
        self._bell.look(want.queues)
        return self._claimed(want, wanted, await self._do_once("claim", *wanted.arguments))

    async def claim_next(self, want: Want, timeout: float) -> Claimed:
        wanted, now = Wanted(want), now_by(self._clock)
        queues = frozenset(queue for queue, most in want.queues.items() if most > 0)
        if not now:  # a time that is told would be old by then
            call = self._server.call("claim", now, *wanted.arguments)
            try:
                if (answer := await self._bell.call(queues, timeout, call)) is not None:
                    return self._claimed(want, wanted, answer)
            except UnknownScript:
                return await self.claim(want)
        await self._bell.wait_for(queues, timeout)
        return await self.claim(want)

    def _claimed(self, want: Want, wanted: Wanted, answer: list[Any]) -> Claimed:
        if answer[0] == b"0":
            raise WorkerExpired(f"worker {want.worker} is not alive any more; begin again under a new id")
        return Claimed(self._claims(wanted, answer), next_in(answer), fence(answer))

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        if not ends and want is None:
            return Settled([], [])
        packed = Ends(ends)
        wanted = None if want is None else Wanted(want)
        if want is not None:
            self._bell.look(want.queues)
        refused, *rest = await self._do_once(
            packed.verb,
            b"1" if again else b"0",
            *packed.arguments,
            *(wanted.arguments if wanted else ()),
        )
        accepted = packed.accepted(refused)
        if wanted is None:
            return Settled(accepted, [])
        return Settled(accepted, self._claims(wanted, rest), rest[0] == b"0", next_in(rest), fence(rest))

    def _claims(self, wanted: Wanted, answer: list[Any]) -> list[Claim]:
        if answer[1]:
            logger.error(
                "%d jobs had no record any more: keys were evicted or deleted; see `penstock doctor`",
                answer[1],
            )
        return wanted.read(answer)

    async def progress(self, job_id: str, token: str, progress: str) -> bool:
        try:
            held = raw_id(job_id), raw_id(token)
        except ValueError:
            return False
        return bool(await self._do("progress", *held, progress.encode()))

    async def save_step(self, job_id: str, token: str, name: str, value: str) -> bool:
        try:
            held = raw_id(job_id), raw_id(token)
        except ValueError:
            return False
        return bool(await self._do("save_step", *held, name.encode(), value.encode()))

    async def release(self, worker: str, request: str) -> int:
        end = pack_end(Settlement("", "", NOT_RECEIVED), taken=True)
        count: int = await self._do("release", worker.encode(), request.encode(), end)
        return count

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        await self._bell.wait(queues, timeout)

    # -- upkeep -------------------------------------------------------------------------------------
    async def outlook(self) -> Outlook:
        due_in, tick_in, lost = await self._do("outlook")
        return Outlook(_seconds(due_in), _seconds(tick_in), lost == b"1")

    async def stage(self, limit: int) -> float | None:
        left: int | None = await self._do("stage", number(limit))
        return None if left is None else left / SECOND

    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        return await Rescue(self._do, judge).expired(limit)

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        return await Rescue(self._do, judge).one(worker, started)

    async def expire(self, limit: int) -> list[Expired]:
        told = await self._do(
            "expire", number(limit), EXPIRED.encode(), UPSTREAM_LATE.encode(), UPSTREAM_MISSING.encode()
        )
        return [
            Expired(text_id(raw), *names_of(kind), owner.decode() or None, BY_BYTE[state], missed == b"1")
            for raw, kind, owner, state, missed in zip(*[iter(told)] * 5, strict=True)
        ]

    async def prune(self, retention: Retention, limit: int, *, run: str | None = None) -> int:
        return await self._count(
            "prune",
            retention.queue.encode(),
            _or_empty(retention.keep_completed),
            _or_empty(retention.keep_failed),
            _or_empty(None if retention.max_age is None else micro(retention.max_age)),
            number(limit),
            (run or "").encode(),
        )

    async def purge(self, older_than: float, limit: int) -> int:
        return await self._count("purge", number(micro(older_than)), number(limit))

    async def forget(self, keep: int, older_than: float, limit: int) -> int:  # noqa: ARG002
        """There is no history here."""
        return 0

    async def forget_effects(self, limit: int) -> int:  # noqa: ARG002 - there are none
        return 0

    async def reconcile(self, limit: int, after: str | None = None) -> None:
        """There is no ledger beside it."""

    async def tidy(self, unshelved: Sequence[str] = ()) -> None:
        await self._do("tidy", number(micro(SERIES_KEPT)), *(name.encode() for name in unshelved))

    # -- operate ------------------------------------------------------------------------------------
    async def cancel(self, ids: Sequence[str], reason: str) -> list[State | None]:
        known = [job_id for job_id in ids if is_id(job_id)]
        told = await self._do("cancel", reason.encode(), *map(raw_id, known)) if known else b""
        states = {job_id: STATES.get(chr(letter)) for job_id, letter in zip(known, told, strict=True)}
        return [states.get(job_id) for job_id in ids]

    async def states(self, ids: Sequence[str]) -> list[State | None]:
        """The state each is in; None for no such job."""
        told = await self._do("states", *map(raw_id, ids)) if ids else b""
        return [STATES.get(chr(letter)) for letter in told]

    async def put_off(self, job: NewJob) -> bool:
        """A debounced job has what this one brings, under its id; False where it has begun."""
        return bool(await self._do("put_off", *enqueue.arguments([job])))

    async def held_by(self, worker: str) -> list[Grip]:
        """All that one worker holds."""
        told = await self._do("held_by", worker.encode())
        return [
            Grip(text_id(raw), token.hex(), attempt, micros / SECOND)
            for raw, token, attempt, micros in zip(*[iter(told)] * 4, strict=True)
        ]

    async def promote(self, ids: Sequence[str]) -> int:
        return await self._count("promote", *_each_once(ids)) if ids else 0

    async def reschedule(self, ids: Sequence[str], delay: float) -> int:
        return await self._count("reschedule", number(micro(delay)), *_each_once(ids)) if ids else 0

    async def delete(self, ids: Sequence[str]) -> int:
        return await self._count("delete", *_each_once(ids)) if ids else 0

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        return await Recoveries(self._do, self._do_once).recover(recoveries)

    async def remove_dead_letters(self, ids: Sequence[str]) -> int:
        return await self._count("remove_dead_letters", *_each_once(ids)) if ids else 0

    async def set_paused(self, queue: str, paused: bool) -> None:
        await self._do("set_paused", queue.encode(), b"1" if paused else b"0")

    async def order_worker(self, worker: str, order: Order | None) -> bool:
        told = b"" if order is None else order.value.encode()
        return bool(await self._do("order_worker", worker.encode(), told) == 1)

    async def _count(self, verb: str, *arguments: bytes) -> int:
        count: int = await self._do(verb, *arguments)
        return count


def _seconds(micros: bytes) -> float | None:
    return int(micros) / SECOND if micros else None


def _each_once(ids: Sequence[str]) -> list[bytes]:
    """Without what cannot be the id of a job."""
    return [raw_id(job_id) for job_id in dict.fromkeys(ids) if is_id(job_id)]


def _or_empty(value: int | None) -> bytes:
    return b"" if value is None else number(value)
