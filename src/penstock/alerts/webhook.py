"""Sends one signed message to one webhook: to an address that was checked, and nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from typing import Any, TypeAlias

from penstock.alerts.addresses import Resolve, Target, checked, resolve, target_of
from penstock.alerts.channels import Channel
from penstock.model.signing import HEADER, sign

MAX_ANSWER = 1_024  # bytes of the answer that are read; nothing of it is kept but the status

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotTaken(Exception):
    """The other side did not take the message."""


async def post(channel: Channel, message: dict[str, Any], ask: Resolve = resolve) -> None:
    """Deliver; NotTaken or Refused say in words that name no secret why that was not done."""
    target = target_of(channel.url, channel.ports)
    addresses = await asyncio.to_thread(checked, channel, target, ask)
    body = json.dumps(message, ensure_ascii=False).encode()
    reader, writer = await _connected(addresses, target)
    try:
        writer.write(_request(target, channel, body))
        await writer.drain()
        status = _status(await reader.readline())
    except (OSError, ValueError):  # cut, or a first line without end
        raise NotTaken("it did not answer as HTTP does") from None
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    if not 200 <= status < 300:
        moved = "; redirects are not followed, give the URL it leads to" if 300 <= status < 400 else ""
        raise NotTaken(f"it answered {status}{moved}")


async def reach(channel: Channel) -> None:
    """Connect as `post` does, and say nothing; NotTaken or Refused where that cannot be."""
    target = target_of(channel.url, channel.ports)
    addresses = await asyncio.to_thread(checked, channel, target, resolve)
    _, writer = await _connected(addresses, target)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _connected(addresses: list[str], target: Target) -> Streams:
    for address in addresses:
        with contextlib.suppress(OSError):
            return await _connect(address, target)
    raise NotTaken("nobody answers there, or its certificate is not good")


async def _connect(address: str, target: Target) -> Streams:
    """To the address itself: no name is looked up again."""
    if not target.secure:
        return await asyncio.open_connection(address, target.port, limit=MAX_ANSWER)
    context = ssl.create_default_context()
    return await asyncio.open_connection(
        address, target.port, limit=MAX_ANSWER, ssl=context, server_hostname=target.host.rstrip(".")
    )


def _request(target: Target, channel: Channel, body: bytes) -> bytes:
    headers = {
        "Host": target.named,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "User-Agent": "penstock-alerts",
        "Connection": "close",
    }
    if channel.secrets:
        headers[HEADER] = sign(channel.secrets, body, int(time.time()))
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _status(answer: bytes) -> int:
    parts = answer.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1][:3].isdigit():
        raise NotTaken("it did not answer as HTTP does")
    return int(parts[1][:3])
