"""Flows for people: which there are, how far one is, and ending it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.audit import Audit
from penstock.engine import Engine, Flow
from penstock.feed.events import cancelled
from penstock.feed.publisher import tell_at_once
from penstock.model.errors import ActionRefused, InvalidOption, JobNotFound
from penstock.model.ids import is_id
from penstock.model.redaction import redacted
from penstock.model.states import State
from penstock.veil import Veil

MAX_PAGE = 200


class FlowCancelled(NamedTuple):
    flow_id: str
    cancelled: int  # jobs that had not begun
    stopping: int  # jobs that run: their workers were asked to stop them


class Flows:
    """Everything a person may ask of flows, or do with them."""

    def __init__(self, engine: Engine, audit: Audit, veil: Veil) -> None:
        self._engine = engine
        self._audit = audit
        self._veil = veil

    async def flow(self, flow_id: str) -> Flow:
        """One flow and its jobs; JobNotFound where there is none."""
        found = await self._engine.flow(flow_id) if is_id(flow_id) else None
        if found is None:
            raise JobNotFound(f"there is no flow {flow_id!r}: it never was, or all its jobs have been pruned")
        return self._veil.flow(found)

    async def flows(self, limit: int = 50, after: str | None = None) -> list[Flow]:
        """One page of flows, newest first, without their jobs; `after` is the last id of the page before."""
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidOption(f"a page holds 1 to {MAX_PAGE} rows, not {limit}")
        if after is not None and not is_id(after):
            raise InvalidOption(f"{after!r} is not the id of a flow; take the last of the page before")
        return await self._engine.flows(limit, after)

    async def cancel(self, flow_id: str, reason: str) -> FlowCancelled:
        """Cancel what has not ended of a flow, in one step; what runs is asked to stop."""
        found = await self.flow(flow_id)
        # The last ones first: each gets the reason as its note, not that one it waited for was cancelled.
        left = [job.id for job in reversed(found.jobs) if not job.state.finished]
        async with self._audit.action("flow cancel", flow_id, reason) as change:
            change.before = {"unfinished": len(left)}
            if not left:
                raise ActionRefused(f"all jobs of flow {flow_id} have ended already")
            states = await self._engine.cancel(left, redacted(reason))
            done = FlowCancelled(flow_id, states.count(State.CANCELLED), states.count(State.ACTIVE))
            change.after = done._asdict()
        ended = {job_id for job_id, state in zip(left, states, strict=True) if state is State.CANCELLED}
        await tell_at_once(self._engine, [cancelled(job) for job in found.jobs if job.id in ended])
        return done
