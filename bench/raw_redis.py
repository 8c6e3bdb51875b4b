"""What Redis itself can do on this machine now: bare scripts on one connection, no job system."""

from __future__ import annotations

import itertools
import os
import socket
import time
from typing import Any

import hiredis

from bench import loops
from bench.places import RedisStore
from bench.samples import RAW, Samples
from bench.size import Size

_BATCH = 1_000
_ENQUEUE = """
local jobs, line = {}, {}
for i = 1, #ARGV, 2 do
  jobs[i], jobs[i + 1] = ARGV[i], ARGV[i + 1]
  line[i], line[i + 1] = '0', ARGV[i]
end
redis.call('HSET', 'jobs', unpack(jobs))
redis.call('ZADD', 'line', unpack(line))
"""
_STEP = """
local ended = {}
for i = 3, #ARGV do ended[#ended + 1] = ARGV[i] end
if #ended > 0 then
  redis.call('HDEL', 'active', unpack(ended))
  if ARGV[2] == '1' then redis.call('RPUSH', 'done', unpack(ended)) end
  if ARGV[2] == '0' then redis.call('HDEL', 'jobs', unpack(ended)) end
end
local taken = redis.call('ZPOPMIN', 'line', ARGV[1])
local ids, active = {}, {}
for i = 1, #taken, 2 do
  ids[#ids + 1] = taken[i]
  active[i], active[i + 1] = taken[i], 'token'
end
if #ids == 0 then return {} end
redis.call('HSET', 'active', unpack(active))
return { ids, redis.call('HMGET', 'jobs', unpack(ids)) }
"""


class _Session:
    """A blocking connection, as thin as it can be."""

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection(("127.0.0.1", port))
        self._line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()

    def call(self, *words: Any) -> Any:
        self._line.sendall(hiredis.pack_command(words))
        while (reply := self._reader.gets()) is False:
            self._reader.feed(self._line.recv(1_048_576))
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        self._line.close()


def measure(store: RedisStore, size: Size, samples: Samples) -> None:
    with store.place() as place:
        session = _Session(int(place.url.rpartition(":")[2].partition("/")[0]))
        enqueue = session.call("SCRIPT", "LOAD", _ENQUEUE)
        numbers = itertools.count()

        def insert(n: int) -> None:
            some = [(b"%016d" % number, b'{"t":0}') for number in itertools.islice(numbers, n)]
            session.call("EVALSHA", enqueue, 0, *itertools.chain.from_iterable(some))

        samples.add(RAW, "enqueue", loops.rate_sync(lambda: insert(1), size.singles, size.cap))
        began = time.perf_counter()
        for _ in range(size.bulk // _BATCH):
            insert(_BATCH)
        samples.add(RAW, "bulk", size.bulk / (time.perf_counter() - began))
        most = size.drained // 2
        samples.add(RAW, "drain, 10 slots", _drained(session, 100, most, keep=True))
        samples.add(RAW, "drain, 100 slots", _drained(session, 300, most, keep=True))
        samples.add(RAW, "drain, 100 slots, not kept", _drained(session, 300, most, keep=False))
        session.close()


def _drained(session: _Session, k: int, jobs: int, *, keep: bool) -> float:
    """Finish k and claim k in one script, over and over."""
    step = session.call("SCRIPT", "LOAD", _STEP)
    ids: list[bytes] = []
    began = time.perf_counter()
    for _ in range(jobs // k):
        os.urandom(16 * k)
        ids, _payloads = session.call("EVALSHA", step, 0, k, int(keep), *ids)
    return jobs // k * k / (time.perf_counter() - began)
