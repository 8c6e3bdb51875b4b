"""Group enqueue: what comes at the same time shares a commit; nobody waits for a stranger's mistake."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from penstock.model.errors import EngineUnavailable, InvalidValue, OutcomeUnknown
from penstock.model.job import Enqueued, NewJob
from penstock.model.states import State
from penstock.tasks import gather
from penstock.tasks.gather import Gatherer


class FakeEngine:
    """Answers each enqueue when told to, with what it is told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], bool]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.failures: list[Exception] = []
        self.bad: set[str] = set()

    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> list[Enqueued]:
        self.calls.append(([job.id for job in jobs], again))
        await asyncio.sleep(0)
        await self.open.wait()
        if self.failures:
            raise self.failures.pop(0)
        if self.bad & {job.id for job in jobs}:
            raise InvalidValue("one row is bad")
        return [Enqueued(job.id, State.WAITING, duplicate=False) for job in jobs]


def job(name: str, *, unique: bool = False, args: str = "{}") -> NewJob:
    return NewJob(name, "default", "task", args, key=name, unique=unique)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def gatherer(engine: FakeEngine) -> Gatherer:
    return Gatherer(engine)


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "FIRST_PAUSE", 0.0)


async def put_all(gatherer: Gatherer, jobs: list[NewJob]) -> list[Enqueued | BaseException]:
    return await asyncio.gather(*(gatherer.put(j, again=False) for j in jobs), return_exceptions=True)


async def test_a_lone_call_goes_at_once_and_alone(gatherer: Gatherer, engine: FakeEngine) -> None:
    assert (await gatherer.put(job("a"), again=False)).id == "a"
    assert engine.calls == [(["a"], False)]


async def test_callers_that_come_again_as_soon_as_they_are_answered_share_one_call_a_round(
    gatherer: Gatherer, engine: FakeEngine
) -> None:
    async def caller(name: str) -> None:
        for n in range(5):
            await gatherer.put(job(f"{name}{n}"), again=False)

    await asyncio.gather(*map(caller, "abcdefghij"))
    sizes = [len(ids) for ids, _ in engine.calls]
    assert (sizes[0], sum(sizes)) == (1, 50), "the first goes at once"
    assert len(sizes) <= 6, "after that each round is one call, and none goes alone before the others"


async def test_calls_made_while_one_is_in_flight_share_the_next(
    gatherer: Gatherer, engine: FakeEngine
) -> None:
    answers = await put_all(gatherer, [job(n) for n in "abcdef"])
    assert [a.id for a in answers] == list("abcdef")
    assert [ids for ids, _ in engine.calls] == [["a"], list("bcdef")]


async def test_jobs_with_given_keys_travel_apart(gatherer: Gatherer, engine: FakeEngine) -> None:
    jobs = [job("a"), job("K", unique=True), job("b"), job("L", unique=True), job("c")]
    await put_all(gatherer, jobs)
    assert sorted(ids for ids, _ in engine.calls) == [["K"], ["L"], ["a"], ["b", "c"]]


async def test_a_bad_row_fails_alone(gatherer: Gatherer, engine: FakeEngine) -> None:
    engine.bad = {"c"}
    answers = await put_all(gatherer, [job(n) for n in "abcd"])
    assert isinstance(answers[2], InvalidValue)
    assert [a.id for n, a in enumerate(answers) if n != 2] == ["a", "b", "d"]
    assert [ids for ids, _ in engine.calls] == [["a"], ["b", "c", "d"], ["b"], ["c"], ["d"]]


async def test_an_engine_that_is_down_is_told_to_everyone_at_once(
    gatherer: Gatherer, engine: FakeEngine
) -> None:
    engine.failures = [EngineUnavailable("down"), EngineUnavailable("down")]
    answers = await put_all(gatherer, [job(n) for n in "abc"])
    assert all(type(a) is EngineUnavailable for a in answers)
    assert len(engine.calls) == 2


@pytest.mark.usefixtures("no_pause")
async def test_a_lost_reply_is_asked_again_with_the_same_ids(gatherer: Gatherer, engine: FakeEngine) -> None:
    engine.failures = [OutcomeUnknown("lost"), EngineUnavailable("restarting")]
    assert (await gatherer.put(job("a"), again=False)).id == "a"
    assert engine.calls == [(["a"], False), (["a"], True), (["a"], True)]


@pytest.mark.usefixtures("no_pause")
async def test_a_reply_that_stays_lost_is_told_as_unknown(gatherer: Gatherer, engine: FakeEngine) -> None:
    engine.failures = [OutcomeUnknown("lost")] + [EngineUnavailable("down")] * 99
    with pytest.raises(OutcomeUnknown):
        await gatherer.put(job("a"), again=False)
    assert len(engine.calls) == gather.UNKNOWN_RETRIES + 1


async def test_a_cancelled_caller_takes_nobody_along(gatherer: Gatherer, engine: FakeEngine) -> None:
    engine.open.clear()
    callers = [asyncio.create_task(gatherer.put(job(n), again=False)) for n in "abc"]
    while not engine.calls:
        await asyncio.sleep(0)
    callers[0].cancel()
    callers[1].cancel()
    engine.open.set()
    assert (await callers[2]).id == "c"
    assert [ids for ids, _ in engine.calls] == [["a"], ["c"]]


async def test_groups_are_bounded_by_count_and_by_bytes(
    gatherer: Gatherer, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "MAX_BATCH", 3)
    monkeypatch.setattr(gather, "MAX_BATCH_BYTES", 100)
    jobs = [job(n) for n in "abcd"] + [job("big", args="x" * 500), job("e")]
    answers = await gatherer.put_many(jobs, again=False)
    assert [a.id for a in answers] == ["a", "b", "c", "d", "big", "e"]
    assert [ids for ids, _ in engine.calls] == [["a", "b", "c"], ["d"], ["big"], ["e"]]


async def test_draining_ends_though_somebody_goes_on_enqueueing(gatherer: Gatherer) -> None:
    async def go_on() -> None:
        while True:
            await gatherer.put(job("a"), again=False)

    going_on = asyncio.create_task(go_on())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await gatherer.drain()
    assert not going_on.done()
    going_on.cancel()


async def test_draining_waits_for_what_is_in_flight(gatherer: Gatherer, engine: FakeEngine) -> None:
    engine.open.clear()
    callers = [asyncio.create_task(gatherer.put(job(n), again=False)) for n in "ab"]
    while not engine.calls:
        await asyncio.sleep(0)
    draining = asyncio.create_task(gatherer.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    engine.open.set()
    await draining
    assert all(caller.done() for caller in callers)
