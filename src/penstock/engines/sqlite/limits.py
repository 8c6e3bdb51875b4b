"""What may hold the jobs of a lane back, as it stands."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.engine import LimitState
from penstock.engines.sqlite.gauges import Gauge
from penstock.engines.sqlite.groups import load
from penstock.engines.sqlite.lanes import LaneRow, row_of
from penstock.engines.sqlite.session import Session
from penstock.model.lanes import group_of, key_of, queue_of
from penstock.model.limits import NO_LIMIT


def limits_of(session: Session, lane: str) -> list[LimitState]:
    """The limits that a lane is under; what bounds nothing is left out."""
    found = [
        LimitState(of, gauge.limit, needs, gauge.active, *gauge.held_for(session.now))
        for of, gauge, needs in _gauges(session, lane)
    ]
    return [state for state in found if state.limit != NO_LIMIT or state.needs or state.cooled_for]


def _gauges(session: Session, lane: str) -> Iterator[tuple[str, Gauge, tuple[str, ...]]]:
    known = load(session)
    for name in dict.fromkeys((queue_of(lane), group_of(lane))):
        if name in known:
            yield name, known[name].gauge, known[name].group.needs
    if key_of(lane) is not None:
        own = row_of(session, lane) or LaneRow(lane, group_of(lane), queue_of(lane))
        yield lane, own.gauge(known.get(group_of(lane))), ()
