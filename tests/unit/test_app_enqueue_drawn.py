"""Many calls drawn from an iterator: made while the group before goes in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from penstock import InvalidArguments, Penstock, State
from penstock.tasks import gather
from penstock.tasks.call import Call

app = Penstock("sqlite://:memory:")


@app.task
async def add(a: int) -> int:
    return a + 1


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "MAX_BATCH", 4)
    monkeypatch.setattr(gather, "DRAWN", 1)
    monkeypatch.setattr(gather, "LET_IN", 2)


async def waiting() -> int:
    return sum(state.counts[State.WAITING] for state in await app.engine.queues())


async def test_drawn_calls_go_in_whole_and_in_order() -> None:
    async with app:
        jobs = await app.aenqueue_many(add.call(n) for n in range(11))
        assert [job.id for job in jobs] == sorted(job.id for job in jobs)
        await app.worker().run(burst=True)
        assert [await job.aresult(5) for job in jobs] == [n + 1 for n in range(11)]
        assert await app.aenqueue_many(iter(())) == []


async def test_an_iterator_is_drawn_from_while_its_first_group_is_still_on_its_way() -> None:
    drawn: list[int] = []
    seen: list[int] = []

    def calls() -> Iterator[Call[int]]:
        for n in range(12):
            drawn.append(n)
            yield add.call(n)

    async with app:
        put = app.engine.enqueue

        async def slowly(*args, **kwargs):
            while len(drawn) <= 4:
                await asyncio.sleep(0)
            seen.append(len(drawn))
            return await put(*args, **kwargs)

        app.engine.enqueue = slowly  # type: ignore[method-assign]
        try:
            async with asyncio.timeout(10):
                assert len(await app.aenqueue_many(calls())) == 12
        finally:
            app.engine.enqueue = put  # type: ignore[method-assign]
    assert 4 < seen[0] <= 8  # of the next group some, and nothing of the one after it


async def test_an_iterator_that_raises_leaves_the_groups_before_and_nothing_of_its_own() -> None:
    def calls() -> Iterator[Call[int]]:
        for n in range(10):
            yield add.call("none" if n == 9 else n)  # type: ignore[arg-type]

    async with app:
        with pytest.raises(InvalidArguments):
            await app.aenqueue_many(calls())
        assert await waiting() == 8


async def test_an_iterator_that_raises_within_its_first_group_leaves_nothing() -> None:
    async with app:
        with pytest.raises(InvalidArguments):
            await app.aenqueue_many(add.call(n) for n in (1, 2, "three"))  # type: ignore[arg-type]
        assert await waiting() == 0


async def test_a_list_is_checked_as_a_whole_before_the_first_group_goes_in() -> None:
    other = Penstock("sqlite://:memory:")

    @other.task
    async def foreign() -> None: ...

    async with app:
        with pytest.raises(Exception, match="another app"):
            await app.aenqueue_many([*(add.call(n) for n in range(9)), foreign.call()])
        assert await waiting() == 0


async def test_who_is_cancelled_leaves_no_group_under_way() -> None:
    async with app:
        going = asyncio.create_task(app.aenqueue_many(add.call(n) for n in range(1_000)))
        while not await waiting():
            pass
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        before = await waiting()
        assert 0 < before < 1_000
        assert await waiting() == before


@pytest.mark.parametrize("others", [True, False])
async def test_other_threads_are_let_in_now_and_then(monkeypatch: pytest.MonkeyPatch, others: bool) -> None:
    """As SQLite's writer needs it: seen with a real thread, whether it has its turn hangs on the machine."""
    pauses: list[float] = []
    monkeypatch.setattr(gather.time, "sleep", pauses.append)
    monkeypatch.setattr(gather.threading, "active_count", lambda: 1 + others)
    assert [group async for group in gather.drawn(range(7))] == [[0, 1, 2, 3], [4, 5, 6]]
    assert pauses == ([gather.MOMENT] * 3 if others else [])
