"""What stands, in one round trip."""

from __future__ import annotations

from penstock.engine import OLDEST_LANES, Survey
from penstock.engines.redis.breakers import read_breakers
from penstock.engines.redis.inspect import Counts, Inspection, read_parked, read_workers
from penstock.engines.redis.instants import instant, micro, number
from penstock.engines.redis.schedules import read_schedules
from penstock.engines.redis.watched import read_minutes


class Surveying(Inspection):
    """The verb that looks at all of it."""

    async def survey(self, reach: float) -> Survey:
        now, told, workers, (_, *minutes), breakers, parked, schedules = await self._do(
            "survey", number(OLDEST_LANES), number(micro(reach))
        )
        counts = Counts(told)
        return Survey(
            now=instant(int(now)),
            queues=counts.queues(),
            workers=read_workers(workers),
            minutes=sorted(read_minutes(minutes), key=lambda minute: minute[:3]),
            dead=counts.dead(),
            breakers=read_breakers(breakers),
            parked=read_parked(parked),
            schedules=read_schedules(schedules),
        )
