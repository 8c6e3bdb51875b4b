"""The end of a verb: what it has counted is written, and who waits for a place that came free is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from penstock.engines.sqlite import lanes
from penstock.engines.sqlite.groups import GroupRow, are_there, load
from penstock.engines.sqlite.session import Tx
from penstock.model.lanes import group_of


def finish(tx: Tx) -> None:
    """Write what is pending."""
    lanes.write(tx)
    if tx.ran and are_there(tx) and any(by < 0 for by in tx.ran.values()):
        _wake(tx, load(tx))
    tx.finish()


def _wake(tx: Tx, groups: Mapping[str, GroupRow]) -> None:
    """Only where something was full: other places are taken by those who look anyhow."""
    fewer: Counter[str] = Counter()
    for (queue, lane), by in tx.ran.items():
        fewer.update(dict.fromkeys({queue, group_of(lane)}, -by))
        if by < 0 and lane != queue and queue not in tx.woken and lanes.has_come_free(tx, lane, -by, groups):
            tx.woken.add(queue)
    for name, ended in fewer.items():
        row = groups.get(name)
        if row is not None and row.waiting and row.gauge.has_come_free(ended):
            tx.woken.add(row.queue)
