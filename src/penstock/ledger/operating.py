"""What people do to jobs: in the engine, and in the rows of those that it does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.engine import Recovery
from penstock.ledger.delegate import Fenced
from penstock.ledger.putting import Putting
from penstock.ledger.reconcile import Reconciler
from penstock.ledger.rows import heir_of
from penstock.model.ids import is_id
from penstock.model.states import State


class Operating(Putting):
    """Cancel, move, delete and recover."""

    async def cancel(self, ids: Sequence[str], reason: str) -> list[State | None]:
        told = await self._cancel_there(ids, reason)
        if unknown := [i for i, state in told.items() if state is None and is_id(i)]:
            told |= await self._cancel_here(unknown, reason)
        return [told[job_id] for job_id in ids]

    async def _cancel_there(self, ids: Sequence[str], reason: str) -> dict[str, State | None]:
        states = await (await self._engine()).cancel(ids, reason)
        told = dict(zip(ids, states, strict=True))
        await self._books.note_cancel([i for i, state in told.items() if state is State.ACTIVE], reason)
        await self._end_of(i for i, state in told.items() if state is not None and state.finished)
        return told

    async def _cancel_here(self, ids: Sequence[str], reason: str) -> dict[str, State | None]:
        """What the engine did not know: it may have been dispatched since, and may run."""
        await self._books.cancel(dict.fromkeys(ids, reason), idle=True)
        told = await self._cancel_there(ids, reason)
        lines = await self._books.lines(ids)
        lost = [i for i, line in lines.items() if not line.ended and told[i] is None]
        await self._books.note_cancel(lost, reason)
        told |= {line.id: State(line.status) for line in lines.values() if line.ended}
        return told | dict.fromkeys(lost, State.ACTIVE)

    async def promote(self, ids: Sequence[str]) -> int:
        promoted = await (await self._bring(ids)).promote(ids)
        await self._move(ids)
        return promoted

    async def reschedule(self, ids: Sequence[str], delay: float) -> int:
        moved = await (await self._bring(ids)).reschedule(ids, delay)
        await self._move(ids)
        return moved

    async def _bring(self, ids: Sequence[str]) -> Fenced:
        """The engine, which knows these jobs: those that it lost, or never got, are dispatched."""
        engine = await self._engine()
        await Reconciler(self._books, engine).bring([job_id for job_id in ids if is_id(job_id)])
        return engine

    async def delete(self, ids: Sequence[str]) -> int:
        removed = await (await self._engine()).delete(ids)
        return max(removed, await self._books.delete(ids))

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        heirs = await (await self._engine()).recover(recoveries)
        made = {r.dead_id: heir for r, heir in zip(recoveries, heirs, strict=True) if heir == r.new_id}
        if made:
            await self._adopt(list(made.values()))
            await self._books.hand_down(made)
            await self._books.inherit(made)
        if None not in heirs:
            return heirs
        lost = {r.dead_id: r for r, heir in zip(recoveries, heirs, strict=True) if heir is None}
        told = await self._recover_lost(lost)
        return [heir or told.get(r.dead_id) for r, heir in zip(recoveries, heirs, strict=True)]

    async def _recover_lost(self, wanted: Mapping[str, Recovery]) -> dict[str, str]:
        """What has failed by its row, and of which the engine has no dead letter any more."""
        found = await self._books.lines(list(wanted))
        failed = {dead: wanted[dead].new_id for dead, line in found.items() if line.has_letter}
        lines = await self._books.hand_down(failed) if failed else {}
        heirs = {dead: line.recovered_as for dead, line in lines.items() if line.recovered_as}
        known = await self._books.lines(list(heirs.values()))
        jobs = [heir_of(lines[dead], wanted[dead]) for dead, heir in heirs.items() if heir not in known]
        await self._books.put(jobs)
        await self._books.inherit({dead: heir for dead, heir in heirs.items() if heir not in known})
        await self._dispatch(jobs)
        return heirs
