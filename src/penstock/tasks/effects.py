"""How long the record of an effect must live, and the key by which other services know one."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID, uuid5

from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.model.names import check_text
from penstock.model.retry import Retry
from penstock.model.values import dumps

DAY = 86_400.0
USUAL = 60 * DAY  # seconds, unless a job may run again later than that
_OURS = UUID("7b9c5c0a-3d0e-5f6b-9a55-0d6f2f1f4a10")  # under which the keys for other services are made
_MAX_TEXT = 16_384


class Lifetimes(NamedTuple):
    """What an app says of how long things are kept, in seconds."""

    effects: float | None  # None: USUAL, or as long as is needed
    dead_letters: float


def effects_for(
    what: str, given: Duration | None, kept: Lifetimes, retry: Retry, timeout: float | None
) -> float:
    """Seconds that the records of a task's effects live; InvalidOption for fewer than its jobs may need.

    A job may run again in all its attempts, and while its dead letter can be recovered.
    """
    tries = retry.longest(timeout)
    needed = tries + kept.dead_letters
    chosen = kept.effects if given is None else in_seconds(f"effects_for of {what}", given)
    if chosen is None:
        return max(USUAL, needed)
    if chosen < needed:
        name = "keep_effects_for" if given is None else "effects_for"
        raise InvalidOption(
            f"{name} of {chosen:,.0f} s is too short for {what}: its attempts may take {tries:,.0f} s and "
            f"its dead letter is kept for {kept.dead_letters:,.0f} s, and with the record gone by then an "
            f"effect could happen twice; give at least {needed:,.0f} s"
        )
    return chosen


def key_for(task: str, key: str, provider: str) -> str:
    """A UUID that is the same for every run of the same job, and another for each provider."""
    named = dumps([task, key, check_text("the name of a provider", provider)], _MAX_TEXT, "a key")
    return str(uuid5(_OURS, named))
