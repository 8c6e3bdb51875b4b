"""Limits: groups as declared, and lanes as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from penstock.engine import Group, GroupState, LaneState, LimitState
from penstock.engines.redis.inspect import Inspection
from penstock.engines.redis.instants import SECOND
from penstock.model.lanes import group_of, key_of, queue_of
from penstock.model.limits import NO_LIMIT, Limit

_DECLARED = Struct("<dddddd")  # rate, burst and concurrency, of all and of each: see _groups.lua


class Limits(Inspection):
    """The verbs of groups."""

    async def put_groups(self, groups: Sequence[Group]) -> None:
        if not groups:
            return
        declared = [word for group in groups for word in (group.name.encode(), _pack(group))]
        for name in await self._do("put_groups", *declared):
            lane = await self._do("regroup", name, b"")
            while lane:
                lane = await self._do("regroup", name, lane)

    async def groups(self) -> list[GroupState]:
        rows = zip(*[iter(await self._do("groups"))] * 4, strict=True)
        found = [
            GroupState(_read(name.decode(), raw), active, _seconds(cooled))
            for name, raw, active, cooled in rows
        ]
        listed = [state for state in found if state.group.bounds_something]
        return sorted(listed, key=lambda state: state.group.name)

    async def lanes(self, group: str, limit: int, after: str | None = None) -> list[LaneState]:
        found: list[LaneState] = []
        cursor = (after or "").encode()
        while len(found) < limit:
            cursor, *rows = await self._do("lanes", group.encode(), cursor)
            for lane, waiting, active, opens in zip(*[iter(rows)] * 4, strict=True):
                found.append(LaneState(lane.decode(), waiting, active, _seconds(opens)))
            if not cursor:
                break
        return found[:limit]

    async def limits_of(self, lane: str) -> list[LimitState]:
        names = dict.fromkeys((queue_of(lane), group_of(lane)))
        own = [] if key_of(lane) is None else [lane]
        words = [name.encode() for name in (*names, *own)]
        rows = zip(*[iter(await self._do("limits_of", b"%d" % len(names), *words))] * 4, strict=True)
        found: list[LimitState] = []
        group = Group("")
        for of, (raw, active, cooled, spent) in zip((*names, *own), rows, strict=True):
            if of in names:
                group = _read(of, raw) if raw else Group(of)
            limit = group.limit if of in names else group.per_key
            needs = group.needs if of in names else ()
            found.append(LimitState(of, limit, needs, active, _seconds(cooled), _seconds(spent)))
        return [state for state in found if state.limit != NO_LIMIT or state.needs or state.cooled_for]


def _pack(group: Group) -> bytes:
    numbers = [number for limit in (group.limit, group.per_key) for number in _numbers(limit)]
    needs = b"".join(b"\0" + need.encode() for need in group.needs)
    said = b"".join(b"\1" + limit.said.encode() for limit in (group.limit, group.per_key))
    return _DECLARED.pack(*numbers) + needs + said


def _numbers(limit: Limit) -> tuple[float, float, float]:
    return (_or_none(limit.rate), limit.burst, _or_none(limit.concurrency))


def _or_none(value: float | None) -> float:
    return -1.0 if value is None else value


def _read(name: str, raw: bytes) -> Group:
    numbers = _DECLARED.unpack_from(raw)
    named, said, key_said = raw[_DECLARED.size :].split(b"\1")
    needs = tuple(need.decode() for need in named.split(b"\0")[1:])
    return Group(name, _limit(said, *numbers[:3]), _limit(key_said, *numbers[3:]), needs)


def _limit(said: bytes, rate: float, burst: float, concurrency: float) -> Limit:
    least = None if concurrency < 0 else int(concurrency)
    return Limit(None if rate < 0 else rate, int(burst), least, said.decode())


def _seconds(micros: bytes) -> float | None:
    return int(micros) / SECOND if micros else None
