"""How many jobs of an owner have not ended: told at once, whatever ended the others."""

from __future__ import annotations

from conformance.kit import FEEDS, blocked, end, failed, make_id, put, take
from penstock.engine import Recovery
from penstock.model.job import Window
from penstock.model.outcome import COMPLETED, Cancelled, Completed


async def owing(engine, owner="ana", most=100):
    await engine.reconcile(100)  # with a ledger: it is told of ends that are not of a run
    return await engine.unfinished_of(owner, most)


async def test_jobs_count_for_their_owner_from_when_they_come_in_until_they_end(engine, worker):
    await put(engine, owner="bea")
    await put(engine, queue="other")
    waiting = await put(engine, queue="a", owner="ana", ties=FEEDS)
    delayed = await put(engine, delay=60, owner="ana")
    running = await take(engine, queue="b", owner="ana")
    await blocked(engine, waiting, owner="ana")
    assert await owing(engine) == 4
    assert await owing(engine, most=3) == 3, "counted no further"
    assert (await owing(engine, "bea"), await owing(engine, "nobody")) == (1, 0)
    await engine.settle([end(running)])
    assert await owing(engine) == 3
    await engine.cancel([delayed], "no need")
    assert await owing(engine) == 2
    await engine.cancel([waiting], "no need")
    assert await owing(engine) == 0, "and what waited for it"


async def test_it_does_not_matter_how_a_job_ends_nor_whether_it_is_kept(engine, worker, clock):
    for outcome, keep in ((COMPLETED, True), (COMPLETED, False), (Completed('"x"'), True), (failed(), True)):
        held = await take(engine, owner="ana")
        assert await owing(engine) == 1
        await engine.settle([end(held, outcome, keep=keep)])
        assert await owing(engine) == 0, outcome
    held = await take(engine, owner="ana")
    await engine.settle([end(held, Cancelled("by hand"))])
    assert await owing(engine) == 0
    await put(engine, owner="ana", expire_after=5)
    clock.advance(6)
    await engine.expire(10)
    assert await owing(engine) == 0


async def test_a_recovered_job_counts_again(engine, worker):
    held = await take(engine, owner="ana")
    await engine.settle([end(held, failed())])
    await engine.recover([Recovery(held.id, make_id())])
    assert await owing(engine) == 1


async def test_who_is_turned_away_by_a_key_does_not_count(engine):
    for _ in range(3):
        await put(engine, key="once", owner="ana")
    assert await owing(engine) == 1


async def test_a_debounced_job_counts_for_the_owner_of_the_latest(engine):
    window = Window("debounce", 30)
    await put(engine, key="k", owner="ana", window=window)
    await put(engine, key="k", owner="bea", window=window)
    assert (await owing(engine), await owing(engine, "bea")) == (0, 1)
