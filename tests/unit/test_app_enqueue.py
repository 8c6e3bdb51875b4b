"""Enqueueing through the front door, and what comes back, over a real engine."""

from __future__ import annotations

import asyncio

import pytest

from penstock import (
    Context,
    InvalidArguments,
    InvalidOption,
    JobCancelled,
    JobFailed,
    JobNotFound,
    NoOp,
    Penstock,
    ResultDropped,
    ResultTimeout,
    ResultUnavailable,
    Settings,
    State,
    Unrecoverable,
)
from penstock.engine import JobFilter

app = Penstock(settings=Settings(url="sqlite://:memory:", max_result_bytes=100))


@app.task
async def add(a: int, b: int = 1) -> int:
    return a + b


@app.task(key="receipt:{order_id}")
async def send_receipt(ctx: Context, order_id: int) -> str:
    return f"{ctx.key} attempt {ctx.attempt}"


@app.task
async def fail(how: str) -> str:
    if how == "no-op":
        raise NoOp("the order is gone")
    if how == "large":
        return "x" * 1_000
    raise Unrecoverable("no such order")


async def work() -> None:
    await app.worker().run(burst=True)


async def test_a_job_goes_in_runs_and_gives_its_result() -> None:
    async with app:
        job = await add.aenqueue(1, b=2)
        assert (job.state, job.duplicate, job.queue, job.task) == (State.WAITING, False, "default", "add")
        assert job.key == job.id
        await work()
        assert await job.aresult(timeout=5) == 3
        assert job.state is State.COMPLETED


async def test_the_same_key_answers_with_the_job_that_holds_it() -> None:
    async with app:
        first = await send_receipt.aenqueue(order_id=7)
        second = await send_receipt.aenqueue(order_id=7)
        assert (second.id, second.duplicate, second.key) == (first.id, True, "receipt:7")
        await work()
        assert await second.aresult(timeout=5) == "receipt:7 attempt 1"


async def test_refused_arguments_create_nothing() -> None:
    async with app:
        with pytest.raises(InvalidArguments):
            await add.aenqueue("one")  # type: ignore[arg-type]
        assert await app.engine.queues() == []


async def test_concurrent_calls_all_get_their_own_job() -> None:
    async with app:
        jobs = await asyncio.gather(*(add.aenqueue(n) for n in range(50)))
        assert len({job.id for job in jobs}) == 50
        await work()
        assert [await job.aresult(5) for job in jobs] == [n + 1 for n in range(50)]


async def test_many_calls_go_in_together_and_in_order() -> None:
    async with app:
        calls = [add.call(n) for n in range(1_500)] + [send_receipt.call(order_id=1)]
        jobs = await app.aenqueue_many(calls)
        assert [job.id for job in jobs] == [call.job.id for call in calls]
        (found,) = [state for state in await app.engine.queues() if state.queue == "default"]
        assert found.counts[State.WAITING] == 1_501


async def test_enqueueing_a_call_again_is_enqueueing_it_once() -> None:
    async with app:
        call = add.call(1)
        (first,) = await app.aenqueue_many([call])
        (second,) = await app.aenqueue_many([call])
        assert second.id == first.id
        (found,) = await app.engine.queues()
        assert found.counts[State.WAITING] == 1
        with pytest.raises(InvalidOption, match="given twice"):
            await app.aenqueue_many([call, call])


async def test_a_call_by_name_is_checked_like_any_other() -> None:
    async with app:
        (job,) = await app.aenqueue_many([app.call_by_name("add", {"a": 1})])
        await work()
        assert await job.aresult(5) == 2
        with pytest.raises(InvalidArguments):
            app.call_by_name("add", {"a": 1, "self": 2})


async def test_a_failed_job_tells_why_and_where_to_look() -> None:
    async with app:
        job = await fail.aenqueue("badly")
        await work()
        with pytest.raises(JobFailed, match="after 1 attempt: Unrecoverable: no such order") as failed:
            await job.aresult(5)
        assert f"penstock job {job.id}" in str(failed.value)
        assert job.state is State.FAILED


async def test_a_cancelled_job_tells_so() -> None:
    async with app:
        job = await add.aenqueue(1)
        await app.engine.cancel([job.id], "not needed")
        with pytest.raises(JobCancelled, match="not needed"):
            await job.aresult(5)


async def test_a_result_too_large_to_keep_is_told_and_the_work_is_done() -> None:
    async with app:
        job = await fail.aenqueue("large")
        await work()
        with pytest.raises(ResultDropped, match="over the limit"):
            await job.aresult(5)
        assert job.state is State.COMPLETED


async def test_a_job_that_found_nothing_to_do_has_no_result() -> None:
    async with app:
        job = await fail.aenqueue("no-op")
        await work()
        with pytest.raises(ResultUnavailable, match="the order is gone"):
            await job.aresult(5)


async def test_a_job_that_goes_on_times_out_and_may_be_asked_again() -> None:
    async with app:
        job = await add.aenqueue(1)
        with pytest.raises(ResultTimeout, match="is waiting"):
            await job.aresult(timeout=0.01)
        await work()
        assert await job.aresult() == 2


async def test_a_job_without_a_record_is_not_found() -> None:
    async with app:
        job = await add.aenqueue(1)
        await work()
        await app.engine.delete([job.id])
        with pytest.raises(JobNotFound):
            await job.arefresh()
        with pytest.raises(JobNotFound):
            await job.aresult(1)


async def test_a_delayed_job_waits() -> None:
    async with app:
        job = await add.using(delay=60, owner="me").aenqueue(1)
        assert job.state is State.DELAYED
        stored = await app.engine.get(job.id)
        assert stored is not None
        assert stored.owner == "me"


async def test_a_call_of_another_apps_task_is_refused_and_nothing_goes_in() -> None:
    here, there = Penstock("sqlite://:memory:"), Penstock("sqlite://:memory:")

    @here.task(name="own")
    def own() -> None: ...

    @there.task(name="foreign")
    def foreign() -> None: ...

    async with here:
        with pytest.raises(InvalidOption, match=r"foreign .* of another app"):
            await here.aenqueue_many([own.call(), foreign.call()])
        assert await here.ops.jobs(JobFilter()) == []
