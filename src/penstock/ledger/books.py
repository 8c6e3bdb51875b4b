"""What can be written into a ledger and read from it; each a step of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from penstock.engine import HistoryFilter, Rescued, Retention, Settlement, Want
from penstock.ledger.database import Database, Rows, Say
from penstock.ledger.rows import (
    Line,
    adopt_values,
    buried_values,
    end_values,
    moved_values,
    put_values,
    save_values,
    written,
)
from penstock.model.ids import id_range, is_id
from penstock.model.job import Claim, DeadLetter, Job, NewJob
from penstock.tasks.spec import shelf_of

KeyName: TypeAlias = tuple[str, str, str]

FIRST_ID = "00000000-0000-0000-0000-000000000000"
SAFE = 3_600.0  # seconds that a row outlives its job's end: Redis may not know of it yet
ENDS_WITH_JOB = ("unfinished", "started", "debounce")  # windows that are over when the job is
AGES = timedelta(days=365)


class Holder(NamedTuple):
    """Who holds a key."""

    id: str
    kind: str
    status: str

    @property
    def ended(self) -> bool:
        return self.status not in ("pending", "processing")


class PutIn(NamedTuple):
    """What became of jobs on their way in."""

    lines: Mapping[str, Line]  # by id: those that have a row, from now or from an earlier call
    holders: Mapping[KeyName, Holder]


class Saved(NamedTuple):
    """What became of the ends of runs."""

    lines: Mapping[str, Line]  # by id, as they are now
    saved: frozenset[str]  # ids of those that this call has written
    put: PutIn  # the jobs that follow


class Books:
    """The verbs of a ledger, in batches: one statement, or a few in one transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # -- in ---------------------------------------------------------------------------------------------
    async def put(self, jobs: Sequence[NewJob]) -> PutIn:
        """Write a row for each job whose key is free, all or none; debounced ones have what others bring."""
        now = await self.database.now()
        return (await self._put([], [put_values(job, now) for job in jobs], now))[1]

    async def _put(
        self, before: list[Say], rows: list[dict[str, Any]], now: datetime
    ) -> tuple[list[Rows], PutIn]:
        """Also what `before`, done in the same transaction, has answered."""
        if not rows:
            return await self.database.run(before), PutIn({}, {})
        keyed = [row for row in rows if row["key_held"]]
        says = [Say("end_periods", _rows(keyed, now=now))] if keyed else []
        says += [Say("put", _rows(rows))]
        says += [Say("replace", _rows(_last_of_each_key(keyed), now=now))] if keyed else []
        says += [Say("look", _ids(row["id"] for row in rows))]
        says += [Say("holders", _rows(keyed))] if keyed else []
        answers = await self.database.run([*before, *says])
        holders = _holders(answers[-1]) if keyed else {}
        return answers, PutIn(_lines(answers[-2] if keyed else answers[-1]), holders)

    async def mark(self, ids: Iterable[str]) -> None:
        await self._do("mark", _ids(ids))

    async def holders(self, jobs: Sequence[NewJob]) -> dict[KeyName, Holder]:
        """Who holds the keys of these."""
        now = await self.database.now()
        rows = [put_values(job, now) for job in jobs if job.unique]
        (found,) = await self.database.run([Say("holders", _rows(rows))]) if rows else ([],)
        return _holders(found)

    async def retie(self, jobs: Sequence[NewJob]) -> None:
        """Other edges than they were put in with."""
        now = await self.database.now()
        await self._do("retie", _rows([put_values(job, now) for job in jobs]))

    async def adopt(self, jobs: Sequence[Job]) -> None:
        """Write rows for jobs that only Redis knows."""
        await self._do("adopt", _rows([adopt_values(job) for job in jobs], now=await self.database.now()))

    async def move(self, jobs: Sequence[Job]) -> None:
        """They are due, and expire, when the engine says."""
        await self._do("move", _rows([moved_values(job) for job in jobs]))

    async def hold(self, job_id: str, until: datetime, error: str) -> None:
        """It could not be dispatched, and is not tried again before then."""
        await self._do("hold", _rows([{"id": job_id, "held_until": written(until), "error": error}]))

    async def hand_down(self, heirs: Mapping[str, str]) -> dict[str, Line]:
        """Failed jobs are recovered as these, unless they have been before; their rows as they are then."""
        rows = [{"id": dead, "heir": heir} for dead, heir in heirs.items()]
        says = [Say("hand_down", _rows(rows)), Say("look", _ids(heirs))]
        return _lines((await self.database.run(says))[-1])

    async def inherit(self, heirs: Mapping[str, str]) -> None:
        """Recovered jobs, by the id of the failed one, take over its key."""
        rows = [{"id": dead, "heir": heir, "key_until": None} for dead, heir in heirs.items()]
        await self._do("inherit", _rows(rows))

    # -- run --------------------------------------------------------------------------------------------
    async def start(self, want: Want, fence: int, claims: Sequence[Claim]) -> dict[str, Line]:
        """Write that runs begin; the rows as they are then."""
        rows = [
            {"id": claim.id, "token": claim.token, "fence": fence, "attempt": claim.attempt}
            for claim in claims
        ]
        now = await self.database.now()
        by = {"now": now, "worker": want.worker, "request": want.request}
        says = [Say("start", _rows(rows, **by)), Say("look", _ids(c.id for c in claims))]
        return _lines((await self.database.run(says))[-1])

    async def save(self, ends: Sequence[Settlement]) -> Saved:
        """Write how runs ended, under their tokens, and the jobs that follow; the rows as they are then."""
        now = await self.database.now()
        says = [
            Say("save", _rows([save_values(end, now) for end in ends], now=now)),
            Say("look", _ids(end.id for end in ends)),
        ]
        followers = [put_values(job, now, end) for end in ends for job in end.then]
        answers, put = await self._put(says, followers, now)
        return Saved(_lines(answers[1]), frozenset(job_id for (job_id,) in answers[0]), put)

    async def release(self, worker: str, request: str) -> None:
        values = {"worker": worker, "request": request, "now": await self.database.now()}
        await self._do("release", values)

    async def take_back(self, rescued: Sequence[Rescued]) -> None:
        rows = [{"id": job.id, "worker": job.worker} for job in rescued]
        await self._do("take_back", _rows(rows, now=await self.database.now()))

    # -- ends that are not of a run -------------------------------------------------------------------------
    async def end(self, jobs: Sequence[Job]) -> None:
        """Write ends that Redis knows of."""
        await self._end([end_values(job) for job in jobs])

    async def cancel(self, reasons: Mapping[str, str], *, idle: bool = False) -> None:
        """End what Redis does not know, by its id; `idle`: what does not run."""
        empty = dict.fromkeys(("result", "finished_at", "attempt", "failure"))
        await self._end(
            [
                {"id": job_id, "status": "cancelled", "error": reason, **empty}
                for job_id, reason in reasons.items()
            ],
            idle=idle,
        )

    async def bury(self, letters: Sequence[DeadLetter]) -> None:
        """End what has failed, of which Redis has only the dead letter."""
        await self._end([buried_values(letter) for letter in letters])

    async def _end(self, rows: list[dict[str, Any]], *, idle: bool = False) -> None:
        await self._do("end", _rows(rows, now=await self.database.now(), idle=idle))

    async def note_cancel(self, ids: Sequence[str], reason: str) -> None:
        """These are not to run again."""
        await self._do("cancel_note", _ids(ids) | {"note": reason})

    async def drop_letters(self, ids: Sequence[str]) -> int:
        """These can be recovered no more."""
        return await self.database.changed(Say("drop_letters", _ids(ids)))

    async def delete(self, ids: Sequence[str]) -> int:
        return await self.database.changed(Say("delete", _ids(ids) | {"now": await self.database.now()}))

    # -- upkeep -----------------------------------------------------------------------------------------
    async def to_dispatch(self, older_than: float, limit: int) -> list[Line]:
        now = await self.database.now()
        values = {"before": now - timedelta(seconds=older_than), "now": now, "limit": limit}
        (rows,) = await self.database.run([Say("to_dispatch", values)])
        return [Line(*row) for row in rows]

    async def unfinished(self, after: str | None, limit: int) -> list[Line]:
        """Those that were dispatched, by id."""
        values = {"after": after or FIRST_ID, "limit": limit, "now": await self.database.now()}
        (rows,) = await self.database.run([Say("unfinished", values)])
        return [Line(*row) for row in rows]

    async def restore(self, lines: Sequence[Line]) -> list[Line]:
        """These begin in Redis with no attempts; those of them that were as they are here."""
        seen = [{"id": line.id, "attempts": line.attempts, "token": line.token} for line in lines]
        (rows,) = await self.database.run([Say("restore", _rows(seen))]) if seen else ([],)
        restored = {job_id for (job_id,) in rows}
        return [line for line in lines if line.id in restored]

    async def release_keys(self, retention: Retention, limit: int) -> None:
        """What the queue keeps no more holds its key no more: so many completed ones at most, and others."""
        now = await self.database.now()
        before = None if retention.max_age is None else now - timedelta(seconds=retention.max_age)
        kept = {True: retention.keep_completed, False: retention.keep_failed}
        for completed, keep in kept.items():
            values = {
                "shelf": retention.queue,
                "completed": completed,
                "before": now + AGES if keep == 0 else before,
                "counted": int(bool(keep)),
                "newer": max(0, (keep or 0) - 1),
                "limit": limit,
            }
            if before is not None or keep is not None:
                await self._do("release_keys", values)

    async def unshelve(self, schedules: Sequence[str]) -> None:
        """Jobs of schedules that are gone count with those of their queue."""
        shelves = _rows([{"shelf": shelf_of(schedule)} for schedule in schedules])
        await self.database.run([Say("unshelve", shelves), Say("unshelve_unfinished", shelves)])

    async def forget(self, keep: int, older_than: float, limit: int) -> int:
        now = await self.database.now()
        safe = now - timedelta(seconds=SAFE)
        before = min(safe, now - timedelta(seconds=older_than))
        values = {"before": before, "now": now, "safe": safe, "keep": keep, "limit": limit}
        return await self.database.changed(Say("forget", values))

    async def purge(self, older_than: float, limit: int) -> int:
        """What failed that long ago can be recovered no more."""
        before = await self.database.now() - timedelta(seconds=older_than)
        return await self.database.changed(Say("purge", {"before": before, "limit": limit}))

    # -- look -------------------------------------------------------------------------------------------
    async def lines(self, ids: Sequence[str]) -> dict[str, Line]:
        (rows,) = await self.database.run([Say("look", _ids(ids))]) if ids else ([],)
        return _lines(rows)

    async def ended(
        self, where: HistoryFilter, limit: int, after: str | None, *, ids_tell_time: bool
    ) -> list[Line]:
        """Those that have ended, newest first."""
        first, beyond = id_range(where.since, where.until) if ids_tell_time else (None, None)
        conditions = {
            "queue": "j.queue_name = :queue",
            "task": "j.job_type = :task",
            "status": "j.status = :status",
            "owner": "j.owner = :owner",
            "key": "j.idempotency_key = :key",
            "since": "j.created_at >= :since",
            "until": "j.created_at < :until",
            "after": "j.id < cast(:after as {uuid})",
            "first": "j.id >= cast(:first as {uuid})",
            "beyond": "j.id < cast(:beyond as {uuid})",
        }
        values: dict[str, Any] = {"after": after, "first": first, "beyond": beyond}
        values |= {name: getattr(where, name) for name in ("queue", "task", "owner", "key", "since", "until")}
        values["status"] = where.status and where.status.value
        asked = {name: value for name, value in values.items() if value is not None}
        terms = " and ".join(conditions[name] for name in asked) or "true"
        verb = "list" if where.payloads else "list_without_payloads"
        (rows,) = await self.database.run([Say(verb, asked | {"limit": limit}, terms)])
        return [Line(*row) for row in rows]

    async def counts(self) -> tuple[int, int]:
        """How many have not ended, and how many of them were not dispatched."""
        ((unfinished, waiting),) = (await self.database.run([Say("count", {})]))[0]
        return int(unfinished), int(waiting)

    async def unfinished_of(self, owner: str, most: int) -> int:
        """How many of an owner have not ended, also those that were not dispatched."""
        (rows,) = await self.database.run([Say("unfinished_of", {"owner": owner, "most": most})])
        return int(rows[0][0])

    async def _do(self, name: str, values: dict[str, Any]) -> None:
        if values.get("rows") != "[]":
            await self.database.run([Say(name, values)])


def _holders(rows: Rows) -> dict[KeyName, Holder]:
    return {row[1:4]: Holder(row[0], *row[4:]) for row in rows}


def _last_of_each_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of several newcomers in one call the last one counts."""
    return list({(row["queue_name"], row["job_type"], row["idempotency_key"]): row for row in rows}.values())


def _rows(rows: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    return {"rows": json.dumps(rows, ensure_ascii=False), **more}


def _ids(ids: Iterable[str]) -> dict[str, Any]:
    return _rows([{"id": job_id} for job_id in sorted(set(ids)) if is_id(job_id)])


def _lines(rows: Rows) -> dict[str, Line]:
    return {row[0]: Line(*row) for row in rows}
