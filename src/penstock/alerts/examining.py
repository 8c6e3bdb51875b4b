"""Whether the channels of alerts can be reached: looked at from outside, and no message is sent."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from penstock.alerts import couriers
from penstock.alerts.channels import Channel, Notice, Told
from penstock.alerts.config import Alerting
from penstock.alerts.life import Phase
from penstock.alerts.rules import Severity
from penstock.engine import Finding, Level

AT_ONCE = 4
MENDED = "mend it in penstock.yaml; `penstock alerts send {name}` tries it with a message"


async def examine(alerting: Alerting, *, send: bool = False) -> list[Finding]:
    """A finding for each channel; with `send` each is sent a message that says that it is a test."""
    if not alerting.channels:
        return [Finding("alerts", Level.OK, "nobody is told: there are no channels in penstock.yaml")]
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(channel: Channel) -> Finding:
        async with at_once:
            return await _examined(channel, send=send)

    return list(await asyncio.gather(*map(one, alerting.channels.values())))


async def _examined(channel: Channel, *, send: bool) -> Finding:
    problem = await (couriers.send(channel, trial()) if send else couriers.check(channel))
    name = f"alerts-{channel.name}"
    if problem is not None:
        return Finding(name, Level.WARNING, f"{problem}: {MENDED.format(name=channel.name)}")
    return Finding(name, Level.OK, "it was told" if send else _SEEN[channel.kind])


def trial() -> Notice:
    """A message that says that it is none."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    text = "This is a test: this channel can be reached"
    return Notice((Told("test", "test", Severity.WARNING, Phase.FIRING, text, now),))


_SEEN = {
    "webhook": "its address is allowed, and somebody answers there",
    "email": "the mail server answers, and lets us in",
    "apprise": "its URL can be read; whether it is reached, only a message tells: doctor --send-alerts",
}
