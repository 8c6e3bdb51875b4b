"""A process that delivers one message and ends: what hangs there hangs nobody, and can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from penstock.alerts.addresses import Refused
from penstock.alerts.channels import Channel
from penstock.alerts.mail import knock, mail
from penstock.alerts.webhook import NotTaken, post, reach
from penstock.model.errors import InvalidOption

ALONE = 60  # seconds after which it ends by itself, should nobody be left to kill it

Deliver = Callable[[Channel, dict[str, Any] | None, float], None]


def main() -> None:
    """Read an order, say when loaded, deliver (without a message: only knock), say how that went."""
    signal.alarm(ALONE)
    read = json.loads(sys.stdin.buffer.readline())
    deliver = _DELIVERS[read["channel"]["kind"]]()
    _say({"ready": True})
    try:
        deliver(_channel(read["channel"]), read["message"], read["timeout"])
    except (NotTaken, Refused, InvalidOption) as error:
        _say({"problem": str(error)})
    except TimeoutError:
        _say({"problem": "it did not answer in time"})
    except Exception as error:  # noqa: BLE001 - its message may name a secret
        _say({"problem": f"it could not be told: {type(error).__name__}"})
    else:
        _say({"problem": None})
    os._exit(0)  # a thread that looks up a name may hang


def _channel(told: dict[str, Any]) -> Channel:
    lists = {name: tuple(told[name]) for name in ("secrets", "to", "allow")}
    return Channel(**{**told, **lists, "ports": frozenset(told["ports"])})


def _say(told: dict[str, Any]) -> None:
    print(json.dumps(told), flush=True)


async def _within(seconds: float, sending: Awaitable[None]) -> None:
    async with asyncio.timeout(seconds):
        await sending


def _webhook() -> Deliver:
    def deliver(channel: Channel, message: dict[str, Any] | None, timeout: float) -> None:
        asyncio.run(_within(timeout, reach(channel) if message is None else post(channel, message)))

    return deliver


def _mail() -> Deliver:
    def deliver(channel: Channel, message: dict[str, Any] | None, timeout: float) -> None:
        knock(channel, timeout) if message is None else mail(channel, message, timeout)

    return deliver


def _apprise() -> Deliver:
    try:
        import apprise  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        return _without_apprise

    def deliver(channel: Channel, message: dict[str, Any] | None, _: float) -> None:
        service = apprise.Apprise()
        if not service.add(channel.url):
            raise NotTaken("apprise cannot read its URL")
        if message is not None and not service.notify(title=message["title"], body=message["text"]):
            raise NotTaken("the service did not take it")

    return deliver


def _without_apprise(*_: object) -> None:
    raise NotTaken('apprise is not installed: pip install "penstock[alerts]"')


_DELIVERS: dict[str, Callable[[], Deliver]] = {"webhook": _webhook, "email": _mail, "apprise": _apprise}


if __name__ == "__main__":
    main()
