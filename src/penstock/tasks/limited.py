"""Which limits the jobs of a task are under, and so which lane they go to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.engine import Group
from penstock.model.errors import InvalidOption
from penstock.model.lanes import group_name, limited_lane
from penstock.model.limits import MOST_COUNTED, NO_LIMIT, Limit, parse_rate
from penstock.model.names import check_name
from penstock.tasks.inherit import count
from penstock.tasks.keys import KeyTemplate

if TYPE_CHECKING:
    from penstock.tasks.declared import TaskOptions
    from penstock.tasks.queue import Queue
    from penstock.tasks.signature import Signature


@dataclass(frozen=True, slots=True)
class LaneRule:
    """The group of a task's lanes, and what makes the key of one, where they have any."""

    group: Group
    key: KeyTemplate | None = None

    def lane(self, values: Mapping[str, Any]) -> str:
        """The lane of a job with these arguments."""
        return limited_lane(self.group.name, None if self.key is None else self.key.render(values))


def read_limit(what: str, rate: str | None, concurrency: int | None, named: str) -> Limit:
    """A limit as declared; `named` is what the concurrency is called there."""
    limit = NO_LIMIT if rate is None else parse_rate(f"rate= of {what}", rate)
    if concurrency is None:
        return limit
    return limit._replace(concurrency=count(f"{named}= of {what}", concurrency, 1, MOST_COUNTED))


def read_needs(what: str, needs: str | Iterable[str] | None) -> tuple[str, ...]:
    """The breakers that a task needs, each once."""
    if needs is not None and not isinstance(needs, Iterable):
        raise InvalidOption(f"needs= of {what} takes names of breakers, not {needs!r}")
    names = (needs,) if isinstance(needs, str) else tuple(needs or ())
    return tuple(dict.fromkeys(check_name(f"breaker (needs= of {what})", name) for name in names))


def lane_rule(name: str, signature: Signature, queue: Queue, options: TaskOptions) -> LaneRule | None:
    """The rule for a task; None where its jobs go to the open lane of their queue."""
    what = f"task {name!r}"
    limit = read_limit(what, options.rate, options.concurrency, "concurrency")
    needs = read_needs(what, options.needs)
    if options.rate_key is not None and limit == NO_LIMIT:
        raise InvalidOption(f"rate_key= of {what} has nothing to count: give rate= or concurrency= too")
    if limit == NO_LIMIT and not needs:
        return _shared(name, signature, queue)
    return _own(name, signature, queue, options.rate_key, limit, needs)


def _shared(name: str, signature: Signature, queue: Queue) -> LaneRule | None:
    if queue.rate_key is None:
        return None
    key = KeyTemplate(name, queue.rate_key, signature, "rate_key")
    return LaneRule(Group(group_name(queue.name), per_key=queue.limit), key)


def _own(
    name: str, signature: Signature, queue: Queue, rate_key: str | None, limit: Limit, needs: tuple[str, ...]
) -> LaneRule:
    group = Group(group_name(queue.name, name), needs=needs)
    if limit == NO_LIMIT and queue.rate_key is not None:
        rate_key, limit = queue.rate_key, queue.limit
    if rate_key is None:
        return LaneRule(group._replace(limit=limit))
    return LaneRule(group._replace(per_key=limit), KeyTemplate(name, rate_key, signature, "rate_key"))


def groups_of(queues: Iterable[Queue], rules: Iterable[LaneRule | None]) -> tuple[Group, ...]:
    """Every group that an app declares, its queues' own too."""
    limited = [queue for queue in queues if queue.rate_key is None and queue.limit != NO_LIMIT]
    found = {queue.name: Group(queue.name, limit=queue.limit) for queue in limited}
    found |= {rule.group.name: rule.group for rule in rules if rule is not None}
    return tuple(found.values())
