"""The note by which those who could tell something know that somebody listens.

It also says whether the feed is whole. While the note lives, everybody publishes: its *epoch* is the name of
that time. It is *settled* once the slowest of them has surely seen it. From a place in the feed that is of a
settled epoch which still lives one can go on without loss; from any other not, for nobody may have published.
"""

from __future__ import annotations

import json
import random
import secrets
from typing import NamedTuple

from penstock.engine import Engine, Note
from penstock.engine.feeding import LISTENER_KEY as KEY
from penstock.engine.feeding import LISTENER_KIND as KIND

TTL = 15.0  # seconds
RENEW_EVERY = 5.0
CLIENTS_LOOK_EVERY = 5.0
SETTLED_AFTER = CLIENTS_LOOK_EVERY + 1.0  # seconds from the first note


class Epoch(NamedTuple):
    """A time during which somebody has listened without a break."""

    name: str
    settled: bool


def jittered(seconds: float) -> float:
    """Up to a fifth shorter, so that many processes do not march in step."""
    return seconds * (1.0 - 0.2 * random.random())


async def somebody_listens(engine: Engine) -> bool:
    """Whether what happens should be told."""
    return await engine.note(KIND, KEY) is not None


async def keep_listening(engine: Engine, mine: Epoch | None, *, settled: bool) -> Epoch:
    """Say, for some seconds more, that somebody listens; the epoch that this is a part of.

    `settled`: the caller has listened within `mine` for so long that it is settled.
    """
    while True:
        note = await engine.note(KIND, KEY)
        if note is None:
            fresh = Epoch(secrets.token_hex(4), settled=False)
            if await engine.put_note(KIND, KEY, _body(fresh), ttl=TTL, expect=0):
                return fresh
            continue  # somebody else came first
        found = _read(note)
        if settled and mine is not None and found.name == mine.name:
            found = found._replace(settled=True)
        if await engine.put_note(KIND, KEY, _body(found), ttl=TTL, expect=note.version):
            return found


async def break_off(engine: Engine) -> None:
    """Something that happened was not told: nobody must believe that the feed is whole since before."""
    while (note := await engine.note(KIND, KEY)) is not None:
        another = _read(note)._replace(name=secrets.token_hex(4))
        if await engine.put_note(KIND, KEY, _body(another), ttl=TTL, expect=note.version):
            return


def _body(epoch: Epoch) -> str:
    return json.dumps(epoch._asdict())


def _read(note: Note) -> Epoch:
    return Epoch(**json.loads(note.body))
