"""What a measured worker process loads. It is told by its environment what to do."""

from __future__ import annotations

import os

from bench import subject
from bench.marks import Mark

mark = Mark(os.environ["BENCH_MARKS"])


async def noop(t: float) -> None:
    mark.begin(t)


subject.noop = noop
app = subject.make(
    os.environ["BENCH_URL"], os.environ["BENCH_SCHEMA"], keep=os.environ.get("BENCH_KEEP") != "no"
)
