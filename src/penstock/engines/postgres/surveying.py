"""What stands, in one round trip."""

from __future__ import annotations

from datetime import UTC

from penstock.engine import OLDEST_LANES, Parked, Survey
from penstock.engines.postgres.base import Base
from penstock.engines.postgres.breakers import breaker_state
from penstock.engines.postgres.database import Call
from penstock.engines.postgres.inspect import queue_states, worker_info
from penstock.engines.postgres.schedules import schedule_row
from penstock.engines.postgres.watched import minute

_PARTS = (
    *("clock", "queues", "oldest", "workers", "minutes_since"),
    *("dead_count", "breakers", "parked", "schedules"),
)


class Surveying(Base):
    """The verb that looks at all of it."""

    async def survey(self, reach: float) -> Survey:
        values = {"now": self._clock.now(), "lanes": OLDEST_LANES, "reach": reach}
        calls = (Call(self._sql[part], values) for part in _PARTS)
        clock, queues, oldest, workers, minutes, dead, breakers, parked, schedules = await self._database.run(
            *calls, repeatable=True
        )
        return Survey(
            now=clock[0][0].astimezone(UTC),
            queues=queue_states(queues, oldest),
            workers=[worker_info(*row) for row in workers],
            minutes=[minute(*row) for row in minutes],
            dead=dead[0][0],
            breakers=[breaker_state(*row) for row in breakers],
            parked=[Parked(*row) for row in parked],
            schedules=[schedule_row(*row) for row in schedules],
        )
