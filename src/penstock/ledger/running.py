"""Runs: what begins is written before it is run, and what has ended before it is settled."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from penstock.crash_points import passing
from penstock.engine import Claimed, Settled, Settlement, Want
from penstock.ledger.books import PutIn, Saved
from penstock.ledger.putting import Putting
from penstock.ledger.rows import Line, outcome_of
from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown
from penstock.model.ids import is_id
from penstock.model.job import Claim, NewJob
from penstock.model.outcome import Released
from penstock.model.states import Status

log = logging.getLogger("penstock.ledger")

_STALE = Released("the ledger did not let it begin")


class Running(Putting):
    """A run is its holder's by the token in its row."""

    async def claim(self, want: Want) -> Claimed:
        await self._know_the_books(want)
        claimed = await (await self._engine()).claim(want)
        return claimed._replace(claims=await self._begin(want, claimed.claims, claimed.fence))

    async def claim_next(self, want: Want, timeout: float) -> Claimed:
        await self._know_the_books(want)
        claimed = await (await self._engine()).claim_next(want, timeout)
        return claimed._replace(claims=await self._begin(want, claimed.claims, claimed.fence))

    async def _know_the_books(self, want: Want) -> None:
        """Nothing is claimed while nobody knows whether the books can be written."""
        if self._in_doubt:
            await self._books.counts()
            self._in_doubt = False
        self._claims_for.add(want.worker)

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        if not ends:
            settled = await (await self._engine()).settle(ends, want, again=again)
        else:
            settled = await self._save_and_settle(ends, want, again=again)
        if want is None or not settled.claims:
            return settled
        return settled._replace(claims=await self._begin_or_hand_back(want, settled))

    async def _save_and_settle(
        self, ends: Sequence[Settlement], want: Want | None, *, again: bool
    ) -> Settled:
        await self._free_keys_of(job for end in ends for job in end.then if job.unique)
        passing("ledger-saving")
        lines, saved, put = await self._saved(ends)
        passing("ledger-saved")
        mine = [end.id not in lines or lines[end.id].token == end.token for end in ends]
        passed_on = [
            end._replace(then=tuple(job for job in end.then if job.id in put.lines))
            for end, ours in zip(ends, mine, strict=True)
            if ours
        ]
        settled = await (await self._engine()).settle(passed_on, want, again=again)
        passing("ledger-settled")
        if put.lines:
            await self._dispatch([job for end in passed_on for job in end.then])
        for end in ends:
            if end.then and _is_its_end(lines.get(end.id), end):
                await self._follow_holders(end.then, put)
        told = iter(settled.accepted)
        true = {(end.id, end.token) for end in ends if end.id in saved or again}
        true &= {(line.id, line.token) for line in lines.values() if line.ended}
        accepted = [ours and _accepted(next(told), true, end) for end, ours in zip(ends, mine, strict=True)]
        return settled._replace(accepted=accepted)

    async def _free_keys_of(self, followers: Iterable[NewJob]) -> None:
        """Beforehand: those that follow have their rows together with the end, or are lost with a crash."""
        if keyed := list(followers):
            for holder in (await self._books.holders(keyed)).values():
                await self._let_go(holder)

    async def _follow_holders(self, followers: Sequence[NewJob], put: PutIn) -> None:
        """Those whose keys were held are dealt with as by `enqueue`."""
        for job in followers:
            if job.id not in put.lines:
                await self._duplicate(job, put)

    async def _saved(self, ends: Sequence[Settlement]) -> Saved:
        known = [end for end in ends if is_id(end.id)]
        if not known:
            return Saved({}, frozenset(), PutIn({}, {}))
        try:
            return await self._books.save(known)
        except OutcomeUnknown as error:  # it may be saved again
            raise EngineUnavailable(str(error)) from error

    async def _begin_or_hand_back(self, want: Want, settled: Settled) -> list[Claim]:
        """What was settled is: only the claims cannot be had."""
        try:
            return await self._begin(want, settled.claims, settled.fence)
        except EngineUnavailable as error:
            log.warning("nothing is claimed without the ledger: %s", error)
            return []

    async def _begin(self, want: Want, claims: list[Claim], fence: int) -> list[Claim]:
        """Write that these begin; those that may."""
        if not claims:
            return []
        passing("ledger-claimed")
        try:
            lines = await self._started(want, fence, claims)
        except EngineError as error:
            self._in_doubt = True
            await self._hand_back(want)
            raise EngineUnavailable(
                f"the ledger could not be written, nothing was claimed: {error}"
            ) from error
        passing("ledger-started")
        may = [lines.get(claim.id) and lines[claim.id].token == claim.token for claim in claims]
        if not all(may):
            late = [claim for claim, begins in zip(claims, may, strict=True) if not begins]
            await self._settle_from(lines, late)
        return [
            _as_debounced(claim, lines[claim.id]) for claim, begins in zip(claims, may, strict=True) if begins
        ]

    async def _started(self, want: Want, fence: int, claims: list[Claim]) -> dict[str, Line]:
        lines = await self._books.start(want, fence, claims)
        if unknown := [claim for claim in claims if claim.id not in lines]:
            await self._adopt([claim.id for claim in unknown])
            lines |= await self._books.start(want, fence, unknown)
        return lines

    async def _hand_back(self, want: Want) -> None:
        try:
            await (await self._engine()).release(want.worker, want.request)
        except EngineError as error:
            raise OutcomeUnknown(f"claims could not be written, nor handed back: {error}") from error

    async def _settle_from(self, lines: Mapping[str, Line], claims: Sequence[Claim]) -> None:
        """What has ended by its row is not run again; what another has begun, or may not, is handed back."""
        engine = await self._engine()
        paused = {queue for queue, paused in (await self._settings.pauses()).items() if paused}
        for queue in paused & {claim.queue for claim in claims}:
            await engine.set_paused(queue, True)  # which it did not know
        ends = []
        for claim in claims:
            line = lines.get(claim.id)
            ended = line is not None and line.ended
            ends.append(Settlement(claim.id, claim.token, outcome_of(line) if line and ended else _STALE))
            log.warning(
                "reconciled: job %s (%s) was given out %s",
                claim.id,
                claim.task,
                _why_not(line, paused),
            )
        await engine.settle(ends)

    async def release(self, worker: str, request: str) -> int:
        released = await (await self._engine()).release(worker, request)
        await self._books.release(worker, request)
        return released


def _why_not(line: Line | None, paused: set[str]) -> str:
    if line is not None and line.ended:
        return f"though it is {line.status}; not run"
    return "though its queue is paused" if line is not None and line.queue in paused else "twice; handed back"


def _is_its_end(line: Line | None, end: Settlement) -> bool:
    return line is not None and line.token == end.token and line.status == Status.COMPLETED


def _as_debounced(claim: Claim, line: Line) -> Claim:
    """With what the latest newcomer brought: Redis may not have heard of it before it gave the job out."""
    return claim._replace(args=line.args, owner=line.owner) if line.key_kind == "debounce" else claim


def _accepted(told: bool, true: set[tuple[str, str]], end: Settlement) -> bool:
    """What the ledger has is accepted, whatever the engine says of its token; a token ends one run."""
    saved = (end.id, end.token) in true
    true.discard((end.id, end.token))
    return told or saved
