"""Groups of lanes and their limits: declared, shown and tidied. Claims see to them in SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.engine import Group, GroupState, LaneState, LimitState
from penstock.engines.postgres.base import Base
from penstock.engines.postgres.database import Call
from penstock.engines.postgres.straight import Rows
from penstock.model.lanes import group_of, key_of, queue_of
from penstock.model.limits import Limit


class Limits(Base):
    """The verbs for groups and limited lanes."""

    async def put_groups(self, groups: Sequence[Group]) -> None:
        await self._do("put_groups", groups=json.dumps([_declared(group) for group in groups]))

    async def groups(self) -> list[GroupState]:
        return [_state(*row) for row in await self._after_news("groups")]

    async def lanes(self, group: str, limit: int, after: str | None = None) -> list[LaneState]:
        rows = await self._after_news("lanes", group=group, limit=limit, after=after)
        return [LaneState(*row) for row in rows]

    async def limits_of(self, lane: str) -> list[LimitState]:
        names = {"queue": queue_of(lane), "group": group_of(lane), "lane": lane}
        rows = await self._after_news("limits_of", keyed=key_of(lane) is not None, **names)
        return [
            LimitState(of, Limit(rate, burst or 1, concurrency), tuple(needs), active, cooled, spent)
            for of, rate, burst, concurrency, needs, active, cooled, spent in rows
        ]

    async def _after_news(self, statement: str, **values: Any) -> Rows:
        """What is shown is what a claim would find."""
        values["now"] = self._clock.now()
        calls = (Call(self._sql[name], values) for name in ("fold_news", statement))
        _, rows = await self._database.run(*calls, repeatable=True)
        return rows

    async def _tidy_limits(self) -> None:
        for (queue,) in await self._do("queues_with_limits"):
            await self._do("tidy_limits", queue=queue)
        await self._do("drop_breakers")


def _declared(group: Group) -> dict[str, Any]:
    limit, per_key = group.limit, group.per_key
    return {
        "name": group.name,
        "queue": queue_of(group.name),
        "rate": limit.rate,
        "burst": limit.burst,
        "concurrency": limit.concurrency,
        "said": limit.said,
        "key_rate": per_key.rate,
        "key_burst": per_key.burst,
        "key_concurrency": per_key.concurrency,
        "key_said": per_key.said,
        "needs": list(group.needs),
    }


def _state(
    name: str,
    rate: float | None,
    burst: int,
    concurrency: int | None,
    said: str,
    key_rate: float | None,
    key_burst: int,
    key_concurrency: int | None,
    key_said: str,
    needs: list[str],
    active: int,
    cooled_for: float | None,
) -> GroupState:
    limit = Limit(rate, burst, concurrency, said)
    per_key = Limit(key_rate, key_burst, key_concurrency, key_said)
    return GroupState(Group(name, limit, per_key, tuple(needs)), active, cooled_for)
