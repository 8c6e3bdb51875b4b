"""What stands, in one look."""

from __future__ import annotations

from datetime import timedelta

from penstock.engine import Survey
from penstock.engines.sqlite.breakers import breakers
from penstock.engines.sqlite.inspection import dead_count, parked, queues
from penstock.engines.sqlite.instants import instant
from penstock.engines.sqlite.schedules import schedules
from penstock.engines.sqlite.series import series
from penstock.engines.sqlite.session import Session
from penstock.engines.sqlite.workers import workers


def survey(session: Session, reach: float) -> Survey:
    """Each as the verb for it tells."""
    now = instant(session.now)
    return Survey(
        now=now,
        queues=queues(session),
        workers=workers(session),
        minutes=series(session, now - timedelta(seconds=reach), now + timedelta(seconds=1), None),
        dead=dead_count(session),
        breakers=breakers(session),
        parked=parked(session),
        schedules=schedules(session),
    )
