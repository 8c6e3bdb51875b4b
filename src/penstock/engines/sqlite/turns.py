"""The clock on which the lanes of a queue work off what they owe.

It goes with the time, and is put on by what is forgiven to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.engines.sqlite.session import Tx


def clock(tx: Tx, queue: str) -> int:
    """Who owed until then owes nothing any more."""
    return tx.now + _ahead(tx).get(queue, 0)


def forgive(tx: Tx, queue: str, groups: Iterable[str]) -> None:
    """Where all lanes of these groups owe, which may start something: forgive the least of it to all."""
    found = [tx.rows("lanes_least_owed", {"group": group})[0][0] for group in groups]
    least = min([until for until in found if until is not None], default=0)
    if least > clock(tx, queue):
        _ahead(tx)[queue] = least - tx.now
        tx.change("turns_put_on", (queue, least - tx.now))


def _ahead(tx: Tx) -> dict[str, int]:
    if tx.ahead is None:
        tx.ahead = {row["queue"]: row["ahead"] for row in tx.rows("turns")}
    return tx.ahead
