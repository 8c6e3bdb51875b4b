"""Flows, as people see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from struct import Struct
from typing import Any, TypeAlias

from penstock.engine import Flow
from penstock.engines.redis.instants import instant, number
from penstock.engines.redis.records import read_job
from penstock.model.job import Job

Do: TypeAlias = Callable[..., Awaitable[Any]]

_FLOW = Struct("<ddd")  # created, next place, unfinished; then the name: see _flows.lua


async def flow(do: Do, flow_id: str) -> Flow | None:
    """A flow and its members, in as many bounded looks as they take."""
    found: Any = None
    members: list[Job] = []
    place = b"0"
    while place:
        answer = await do("flow", flow_id.encode(), place)
        if answer is None:
            break
        found, place, *rows = answer
        members += [read_job(*row) for row in zip(*[iter(rows)] * 5, strict=True)]
    return None if found is None else _read(flow_id, found, tuple(members))


async def flows(do: Do, limit: int, after: str | None) -> list[Flow]:
    """One page of flows."""
    told = await do("flows", (after or "").encode(), number(limit))
    return [_read(raw.decode(), text) for raw, text in zip(*[iter(told)] * 2, strict=True) if text]


def _read(flow_id: str, raw: bytes, jobs: tuple[Job, ...] = ()) -> Flow:
    created, _, unfinished = _FLOW.unpack_from(raw)
    return Flow(
        id=flow_id,
        name=raw[_FLOW.size :].decode(),
        created_at=instant(created),
        unfinished=int(unfinished),
        jobs=jobs,
    )
