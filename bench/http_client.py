"""`python -m bench.http_client PORT TOKEN CLIENTS SECONDS`: enqueue over HTTP as fast as answers come.

Prints one JSON object: the rate, the times, the answers by status, and the ids that were accepted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from bench import loops
from bench.subject import QUEUE

BODY = b'{"task":"noop","payload":{"t":0}}'


@dataclass
class Told:
    """What the clients were answered."""

    times: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)


class Client(asyncio.Protocol):
    """One connection, kept alive; the next request goes out when the answer to the last is whole."""

    def __init__(self, request: bytes, until: float, told: Told) -> None:
        self._request = request
        self._until = until
        self._told = told
        self._read = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        self._asked = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        self._told.times.append(time.perf_counter() - self._asked)
        self._told.statuses[head[9:12].decode()] += 1
        if head[9:12] == b"202":
            self._told.ids.append(json.loads(body)["job_id"])
        self._read = b""
        if time.perf_counter() < self._until:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        self.ended.set_result(None)


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])


async def load(port: int, token: str, clients: int, seconds: float) -> dict[str, object]:
    head = f"POST /jobs/{QUEUE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    told, began = Told(), time.perf_counter()

    async def one() -> None:
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(
            lambda: Client(head.encode() + BODY, began + seconds, told), "127.0.0.1", port
        )
        await client.ended

    await asyncio.gather(*[one() for _ in range(clients)])
    took, times = time.perf_counter() - began, sorted(told.times)
    return {
        "rate": len(times) / took,
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[int(len(times) * 0.99)] * 1000,
        "statuses": told.statuses,
        "ids": told.ids,
    }


if __name__ == "__main__":
    port, token, clients, seconds = sys.argv[1:]
    print(json.dumps(loops.run(load(int(port), token, int(clients), float(seconds)))))
