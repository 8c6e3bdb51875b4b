"""Dead letters: looked at, and recovered, one or many."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.audit import Audit
from penstock.bulk import RECOVER_RATE, told
from penstock.dead_causes import DeadCauses, Found
from penstock.engine import DeadFilter, Engine, Recovery
from penstock.model.errors import MAX_SECONDS, ActionRefused, InvalidOption, JobNotFound
from penstock.model.ids import is_id
from penstock.model.job import DeadLetter
from penstock.model.values import MAX_ARGS_BYTES, dumps
from penstock.ops_answers import Recovered, RecoveredSome
from penstock.paging import MAX_PAGE, cursor, page
from penstock.tasks.ids import new_id
from penstock.tasks.registry import Registry
from penstock.veil import Veil

__all__ = ["RECOVER_RATE", "DeadLetters"]


class DeadLetters:
    """The part of `Ops` about jobs that have failed for good."""

    _engine: Engine
    _registry: Registry
    audit: Audit
    causes: DeadCauses
    _veil: Veil

    async def dead_letters(
        self, where: DeadFilter, limit: int = 50, after: str | None = None
    ) -> list[DeadLetter]:
        """One page of dead letters, newest first."""
        return self._veil.over_all(await self._engine.dead_letters(where, page(limit), cursor(after)))

    async def dead_letter(self, job_id: str) -> DeadLetter:
        """One dead letter, by the id of the job that failed."""
        return self._veil.over(await self._letter(job_id))

    async def _letter(self, job_id: str) -> DeadLetter:
        found = await self._engine.dead_letter(job_id) if is_id(job_id) else None
        if found is None:
            raise JobNotFound(f"there is no dead letter of job {job_id!r}; `penstock dlq` lists them")
        return found

    async def dead_letters_of(
        self, where: DeadFilter, cause: str, limit: int = 50, after: str | None = None
    ) -> Found:
        """One page of the dead letters of one cause, newest first; `after` is the page before's `next`."""
        found = await self.causes.page(where, cause, page(limit), cursor(after))
        return found._replace(letters=self._veil.over_all(found.letters))

    async def dead_count(self) -> int:
        """How many dead letters wait for somebody."""
        return await self._engine.dead_count()

    async def recover(self, job_id: str, args: Mapping[str, Any] | None = None) -> Recovered:
        """Make a new job of a dead letter, with attempts reset; that same job the second time.

        `args` replaces the payload, and must fit the task; ActionRefused where it has been recovered before.
        A secret in it that is masked, as it is shown, stays as it was.
        The new job does not expire: somebody wants it.
        """
        letter = await self._letter(job_id)
        payload = None if args is None else self._payload(letter, args)
        async with self.audit.action("dead letter recover", job_id) as change:
            change.before = {"recovered_as": letter.recovered_as}
            done = await self._recover(job_id, payload)
            change.after = {"recovered_as": done.job_id, "new_arguments": payload is not None}
        return done

    async def _recover(self, job_id: str, payload: str | None) -> Recovered:
        asked = new_id()
        (new,) = await self._engine.recover([Recovery(job_id, asked, payload)])
        if new is None:
            raise JobNotFound(f"the dead letter of job {job_id!r} was purged meanwhile")
        if new != asked and payload is not None:
            raise ActionRefused(
                f"job {job_id} has been recovered already, as job {new}; the new arguments were not used"
            )
        return Recovered(new, already=new != asked)

    async def recover_some(
        self, ids: Sequence[str], rate: float = RECOVER_RATE, *, behind: int = 0
    ) -> RecoveredSome:
        """Recover just these, due at `rate` jobs per second; what is not there any more is left out.

        `behind` is how many of the same wish are due before them.
        """
        if not 0 < rate <= 100_000:
            raise InvalidOption(f"rate must be more than 0 jobs per second, not {rate!r}")
        wanted = [
            Recovery(dead, new_id(), None, min((behind + n) / rate, MAX_SECONDS))
            for n, dead in enumerate(dict.fromkeys(filter(is_id, ids)))
        ]
        async with self.audit.action("dead letters recover", f"{len(wanted)} by their ids") as change:
            change.before = {"dead_letters": [asked.dead_id for asked in wanted]}
            made = await self._engine.recover(wanted)
            new = [got for got, asked in zip(made, wanted, strict=True) if got == asked.new_id]
            gone = made.count(None) + len(ids) - len(wanted)
            done = RecoveredSome(new, len(made) - len(new) - made.count(None), gone)
            change.after = {"recovered": len(new), "already": done.already, "gone": gone}
        return done

    async def recover_all(
        self, where: DeadFilter, *, rate: float = RECOVER_RATE, limit: int | None = None
    ) -> AsyncIterator[str]:
        """Recover every dead letter that matches, spread over time at `rate` jobs per second.

        Yields the id of each new job. Interrupted, it can be started again: what is recovered stays so.
        """
        if not 0 < rate <= 100_000:
            raise InvalidOption(f"rate must be more than 0 jobs per second, not {rate!r}")
        done, where = 0, replace(where, payloads=False)
        after: str | None = None
        async with self.audit.action("dead letters recover", told(where)) as change:
            while limit is None or done < limit:
                step = MAX_PAGE if limit is None else min(MAX_PAGE, limit - done)
                page = await self._engine.dead_letters(where, step, after)
                if not page:
                    break
                after = page[-1].job_id
                wanted = [
                    Recovery(letter.job_id, new_id(), None, min((done + n) / rate, MAX_SECONDS))
                    for n, letter in enumerate(page)
                ]
                done += len(page)
                for new in await self._engine.recover(wanted):
                    if new is not None:
                        yield new
            change.after = {"recovered": done}

    async def purge(self, job_id: str) -> None:
        """Remove a dead letter; its job cannot be recovered any more."""
        letter = await self.dead_letter(job_id)
        async with self.audit.action("dead letter purge", job_id) as change:
            change.before = {"task": letter.task, "reason": letter.reason, "failed_at": letter.failed_at}
            await self._engine.remove_dead_letters([job_id])

    async def purge_some(self, ids: Sequence[str]) -> int:
        """Remove just these; how many. Their jobs cannot be recovered any more."""
        wanted = list(dict.fromkeys(filter(is_id, ids)))
        async with self.audit.action("dead letters purge", f"{len(wanted)} by their ids") as change:
            change.before = {"dead_letters": wanted}
            removed = await self._engine.remove_dead_letters(wanted)
            change.after = {"removed": removed}
        return removed

    def _payload(self, letter: DeadLetter, args: Mapping[str, Any]) -> str:
        wanted = self._veil.filled_in(letter.task, args, letter.args_json)
        task = self._registry.tasks.get(letter.task)
        return dumps(wanted, MAX_ARGS_BYTES, "args") if task is None else task.validate(wanted)
