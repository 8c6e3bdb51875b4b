"""Sends a message by a courier of its own, and kills one that takes too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from penstock.alerts.channels import Channel, Notice

TIMEOUT = 5.0  # seconds that a channel gets to take a message
START = 30.0  # seconds that a courier gets to be loaded; a busy machine may need long


async def send(channel: Channel, notice: Notice, timeout: float = TIMEOUT) -> str | None:
    """Tell a channel; None, or why it does not know."""
    return await _ordered(_order(channel, notice.json(), timeout), timeout)


async def check(channel: Channel, timeout: float = TIMEOUT) -> str | None:
    """Whether a channel could be told, as far as that is known without telling it; None, or why not."""
    return await _ordered(_order(channel, None, timeout), timeout)


async def _ordered(line: bytes, timeout: float) -> str | None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "penstock.alerts.courier"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # the terminal's Ctrl-C is not for it
    )
    try:
        return await _told(process, line, timeout)
    except TimeoutError:
        return "it did not answer in time"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()  # until it is gone and its pipes are closed


async def _told(process: asyncio.subprocess.Process, line: bytes, timeout: float) -> str | None:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(line)
        await process.stdin.drain()
    async with asyncio.timeout(START):
        ready = await process.stdout.readline()
    async with asyncio.timeout(timeout + 1.0):  # it ends by itself before
        answer = await process.stdout.readline() if ready else b""
    if not answer:
        return "its courier died"
    told: dict[str, Any] = json.loads(answer)
    problem = told["problem"]
    return None if problem is None else str(problem)


def _order(channel: Channel, message: dict[str, Any] | None, timeout: float) -> bytes:
    """What a courier reads: one line. Without a message it only looks whether one could be delivered."""
    told = {
        "name": channel.name,
        "kind": channel.kind,
        "url": channel.url,
        "secrets": channel.secrets,
        "to": channel.to,
        "sender": channel.sender,
        "allow": channel.allow,
        "ports": sorted(channel.ports),
    }
    return json.dumps({"channel": told, "message": message, "timeout": timeout}).encode() + b"\n"
