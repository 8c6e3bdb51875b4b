"""The answer to a claim or to an enqueue is lost: nothing stays behind, nothing comes twice."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from typing import Any, NamedTuple

from tests.acceptance.fleet import opened
from tests.chaos import history, tasks
from tests.chaos.proxy import Matches, Proxy, postgres_done, redis_done
from tests.chaos.stage import Stage, arguments, stage, until, verdict

from penstock.engines.redis.scripts import scripts
from penstock.model.clock import EngineClock

BOUND = 5.0  # seconds from the cut to the start of every job that was in the lost answer
LEASE = 30.0  # so long that no rescue can help
JOBS = 4  # for each cut
_NUMBER = re.compile(rb'"n": ?(\d+)')


def has_jobs(answer: bytes) -> bool:
    return _NUMBER.search(answer) is not None


def is_done(answer: bytes) -> bool:
    return b"NOSCRIPT" not in answer


class Ear(NamedTuple):
    """How the words of an engine are understood on their way."""

    done: Matches  # the server has done what it was asked for
    is_claim: Matches
    is_enqueue: Matches


def _names(*scripts_of: str) -> Matches:
    shas = [scripts()[name].sha for name in scripts_of]
    return lambda asked: any(sha in asked for sha in shas)


EARS = {
    # A statement is prepared, and goes by a name that says nothing: it is known by its values.
    "postgres": Ear(
        postgres_done,
        lambda asked: b"on_loop" in asked and not has_jobs(asked),
        lambda asked: b"on_loop" in asked and has_jobs(asked),
    ),
    "redis": Ear(redis_done, _names("claim", "settle"), _names("enqueue")),
}


def through(made: Stage) -> Proxy:
    assert made.server is not None
    return Proxy("127.0.0.1", made.server.port, EARS[made.engine].done)


def claims(made: Stage, given: argparse.Namespace) -> bool:
    """Cut the answers to claims, one after the other, while a worker is at work."""
    with through(made) as proxy:
        env = {"PENSTOCK_URL": proxy.url(made.site.url)}
        trees = [made.start("--concurrency", "4", lease=LEASE, env=env) for _ in range(2)]
        made.up(*trees)
        cut_at: dict[int, float] = {}  # the number of a job -> when it was in a lost answer
        ids: dict[int, str] = {}
        for _ in range(2 * given.cuts):  # some pass: another answer came over the same line at that moment
            if len(proxy.cut) == given.cuts or not _cut_one(made, proxy, ids, cut_at):
                break
            made.tell(f"{len(proxy.cut)}/{given.cuts} answers to claims cut")
        drained = made.drain(patience=60)
        found = made.judge()
    starts = {e["job"]: e["t"] for e in history.read(made.history) if e["f"] == "start"}
    found.recovery = [starts.get(ids[n], float("inf")) - cut for n, cut in cut_at.items()]
    faults: dict[str, Any] = dict(found.faults)
    if len(proxy.cut) < given.cuts:
        faults["cuts"] = len(proxy.cut)
    if found.recovered_in(1.0) > BOUND:
        faults["recovery_worst"] = round(found.recovered_in(1.0), 2)
    if not drained:
        faults["not_drained"] = made.left()
    return verdict(
        made,
        faults,
        f"{len(proxy.cut)} answers to claims lost, with {len(cut_at)} jobs in them, each run once of "
        f"{len(ids)} jobs, {found.runs} runs; {found.recovery_figures()}",
    )


def _cut_one(made: Stage, proxy: Proxy, ids: dict[int, str], cut_at: dict[int, float]) -> bool:
    """Lose one answer, and wait until the jobs in it have run; False where that never happens."""
    before = len(proxy.cut)
    proxy.arm(EARS[made.engine].is_claim, has_jobs, 1)
    numbers = range(len(ids), len(ids) + JOBS)
    calls = [tasks.on_loop.call(n=n, seconds=0.005) for n in numbers]
    ids |= dict(zip(numbers, made.enqueue(calls), strict=True))
    here = {ids[n] for n in numbers}
    if not until(lambda: len(proxy.cut) > before or here <= _begun(made)):
        return False
    if len(proxy.cut) == before:
        return True
    now = made.note("cut")
    lost = {int(n) for n in _NUMBER.findall(proxy.cut[-1])}
    cut_at |= dict.fromkeys(lost, now)
    wanted = {ids[n] for n in lost}
    return until(lambda: wanted <= _begun(made))


def _begun(made: Stage) -> set[str]:
    return {event["job"] for event in history.read(made.history) if event["f"] == "start"}


def enqueues(made: Stage, given: argparse.Namespace) -> bool:
    """Cut the answer to each of many enqueues; exactly as many jobs are there afterwards."""
    with through(made) as proxy:
        returned = asyncio.run(_enqueue(made, proxy, given.cuts))
    with opened(tasks.app, made.site.url):
        records = made.records()
    faults: dict[str, Any] = {}
    if len(proxy.cut) != given.cuts:
        faults["cuts"] = len(proxy.cut)
    if set(returned) != records.keys() or len(records) != given.cuts:
        faults["jobs"] = len(records)
    return verdict(
        made,
        faults,
        f"{len(proxy.cut)} answers to enqueues lost, {len(returned)} ids told, {len(records)} jobs",
    )


async def _enqueue(made: Stage, proxy: Proxy, count: int) -> list[str]:
    before = tasks.app.move_to(proxy.url(made.site.url), EngineClock())
    await tasks.app.migrate()
    ids: list[str] = []
    async with tasks.app:
        for n in range(count):
            proxy.arm(EARS[made.engine].is_enqueue, is_done, 1)
            ids.append((await tasks.on_loop.aenqueue(n=n, seconds=0.0)).id)
            made.tell(f"{n + 1}/{count} answers to enqueues cut")
    tasks.app.move_to(*before)
    return ids


def run(engine: str, given: argparse.Namespace) -> bool:
    with stage(engine, "cut-claims") as made:
        good = claims(made, given)
    with stage(engine, "cut-enqueues", client=False) as made:
        return enqueues(made, given) and good


def main() -> None:
    given = arguments("answers cut on their way", ("postgres", "redis"), cuts=200)
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
