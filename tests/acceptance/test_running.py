"""What one worker does with one job: everything here runs on a worker that many tests share."""

from __future__ import annotations

import asyncio
import time

import pytest

from acceptance import jobs
from acceptance.fleet import eventually, is_alive
from acceptance.world import World
from penstock import Disabled, JobCancelled, JobFailed, ResultDropped, ResultUnavailable

PATIENCE = 20.0  # for things that take milliseconds on a quiet machine


def test_a_job_enqueued_from_sync_code_runs_and_returns(steady: World) -> None:
    job = jobs.add.enqueue(a=20, b=22)
    assert job.result(timeout=PATIENCE) == 42
    assert steady.look(job.id).attempt == 1


async def test_a_job_enqueued_from_async_code_runs_and_returns(steady: World) -> None:
    handles = await asyncio.gather(*(jobs.add.aenqueue(a=n, b=n) for n in range(20)))
    results = await asyncio.gather(*(job.aresult(timeout=PATIENCE) for job in handles))
    assert results == [2 * n for n in range(20)]


def test_async_handlers_run_on_the_loop_sync_ones_in_threads_and_process_ones_in_a_child(
    steady: World,
) -> None:
    enqueued = [task.enqueue() for task in (jobs.on_loop, jobs.in_thread, jobs.in_process)]
    on_loop, in_thread, in_process = (job.result(timeout=PATIENCE) for job in enqueued)
    tree = steady.site.trees[0]
    worker, warm = tree.the_worker(), steady.warm(tree)
    assert (on_loop["pid"], on_loop["main_thread"]) == (worker, True)
    assert (in_thread["pid"], in_thread["main_thread"]) == (worker, False)
    assert in_process["pid"] not in (worker, *warm)
    assert (in_process["parent"] in steady.guards(tree), in_process["main_thread"]) == (True, True)


def test_handlers_and_the_loop_pass_the_interpreter_on_before_a_millisecond_is_over(steady: World) -> None:
    assert jobs.in_thread.enqueue().result(timeout=PATIENCE)["switch_interval"] < 0.001


def test_collections_of_garbage_do_not_look_through_all_that_was_loaded(steady: World) -> None:
    assert jobs.in_thread.enqueue().result(timeout=PATIENCE)["kept_from_collections"] > 10_000


def test_progress_is_visible_while_the_handler_runs(steady: World) -> None:
    job = jobs.halfway.enqueue()
    seen = eventually(lambda: steady.look(job.id).progress, PATIENCE, "progress")
    assert seen == {"percent": 50, "message": "half done"}
    cancel(job.id)
    steady.becomes(job.id, "cancelled")


# -- ends -----------------------------------------------------------------------------------------------
def test_a_failed_attempt_is_tried_again_after_its_back_off(steady: World) -> None:
    job = jobs.fails_twice.enqueue()
    assert job.result(timeout=PATIENCE) == "third"
    first, second, third = (start["t"] for start in steady.starts(job.id))
    assert second - first >= 0.3
    assert third - second >= 0.6
    record = steady.look(job.id)
    assert record.attempt == 3
    assert [error["attempt"] for error in record.errors] == [1, 2]
    tree = steady.site.trees[0]
    why = f"fails_twice:{job.id} - retrying: attempt 2 of 3: ConnectionError: attempt 2; retry in 0.6 s"
    eventually(lambda: why in tree.log(), PATIENCE, "the log says why")


def test_unrecoverable_fails_at_once_with_attempts_left(steady: World) -> None:
    job = jobs.says.enqueue(how="unrecoverable")
    with pytest.raises(JobFailed, match="no such order"):
        job.result(timeout=PATIENCE)
    assert len(steady.starts(job.id)) == 1
    assert dead_letter(job.id).reason == "unrecoverable"


def test_rate_limited_waits_as_long_as_it_was_told(steady: World) -> None:
    job = jobs.says.enqueue(how="rate-limited")
    job.result(timeout=PATIENCE)
    first, second = (start["t"] for start in steady.starts(job.id))
    assert second - first >= 0.3


def test_snooze_runs_later_and_burns_no_attempt(steady: World) -> None:
    job = jobs.snoozes.enqueue(until=time.time() + 1.0)
    assert job.result(timeout=PATIENCE) == 1
    starts = steady.starts(job.id)
    assert len(starts) >= 3
    assert {start["attempt"] for start in starts} == {1}


def test_no_op_completes_with_the_reason(steady: World) -> None:
    job = jobs.says.enqueue(how="no-op")
    with pytest.raises(ResultUnavailable, match="the order was deleted"):
        job.result(timeout=PATIENCE)
    record = steady.look(job.id)
    assert (record.state, record.note) == ("completed", "no-op: the order was deleted")


def test_an_oversized_result_is_dropped_and_the_job_completed(steady: World) -> None:
    job = jobs.returns_much.enqueue(megabytes=8)
    with pytest.raises(ResultDropped, match="result dropped"):
        job.result(timeout=PATIENCE)
    record = steady.look(job.id)
    assert (record.state, record.result_json, record.attempt) == ("completed", None, 1)


@pytest.mark.parametrize(
    "how", ["SystemExit", "KeyboardInterrupt", "Strange", "RecursionError", "MemoryError"]
)
def test_whatever_a_handler_raises_ends_as_a_failed_attempt(steady: World, how: str) -> None:
    ends_badly(steady, how, how)


@pytest.mark.parametrize("how", ["StopIteration", "Unreadable", "Long"])
def test_odd_exceptions_end_as_a_failed_attempt_with_a_bounded_text(steady: World, how: str) -> None:
    # Python itself turns a StopIteration that leaves a coroutine into a RuntimeError.
    ends_badly(steady, how, {"Long": "RuntimeError"}.get(how, how))


def ends_badly(steady: World, how: str, named: str) -> None:
    tasks = (jobs.raises, jobs.raises_in_thread, jobs.raises_in_process)
    for task, job in [(task, task.enqueue(how=how)) for task in tasks]:
        record = steady.becomes(job.id, "failed")
        (error,) = record.errors
        expected = "RuntimeError" if how == "StopIteration" and task is jobs.raises else named
        assert error["type"] == expected
        assert sum(len(str(value).encode()) for value in error.values()) <= 8_192
        assert (record.attempt, record.crashes, record.rescues) == (1, 0, 0)


# -- stopping -------------------------------------------------------------------------------------------
def test_a_waiting_job_that_is_cancelled_never_runs(steady: World) -> None:
    job = jobs.on_loop.using(delay=1.0).enqueue()
    cancel(job.id)
    with pytest.raises(JobCancelled, match="not wanted"):
        job.result(timeout=PATIENCE)
    after = jobs.on_loop.using(delay=1.2).enqueue()
    after.result(timeout=PATIENCE)
    assert steady.starts(job.id) == []


@pytest.mark.parametrize("task", [jobs.on_loop, jobs.in_process], ids=["async", "process"])
def test_a_running_job_that_is_cancelled_is_stopped(steady: World, task: object) -> None:
    assert task in (jobs.on_loop, jobs.in_process)
    job = task.enqueue(seconds=600)  # type: ignore[union-attr]
    steady.started(job.id)
    cancel(job.id)
    record = steady.becomes(job.id, "cancelled", within=10)
    assert record.attempt == 1
    (start,) = steady.starts(job.id)
    if task is jobs.in_process:
        assert not is_alive(start["pid"])
    assert not [e for e in steady.site.effects() if e["job"] == job.id and e["f"] == "end"]


def test_an_endless_process_is_gone_within_two_seconds_of_its_deadline(steady: World) -> None:
    job = jobs.endless.enqueue()
    steady.started(job.id)
    (start,) = steady.starts(job.id)
    eventually(lambda: not is_alive(start["pid"]), PATIENCE, "the child is gone")
    assert time.monotonic() - start["t"] <= 1.0 + 2.0
    record = steady.becomes(job.id, "failed")
    assert record.errors[-1]["type"] == "JobTimeout"


def test_a_thread_that_overruns_is_settled_as_timed_out_and_its_slot_replaced(steady: World) -> None:
    slow = jobs.overruns.enqueue(seconds=4)
    steady.started(slow.id)
    quick = jobs.after_it.enqueue()
    record = steady.becomes(slow.id, "failed")
    assert record.errors[-1]["type"] == "JobTimeout"
    quick.result(timeout=PATIENCE)
    (slow_start,), (quick_start,) = steady.starts(slow.id), steady.starts(quick.id)
    assert quick_start["t"] < slow_start["t"] + 4, "it did not wait for the thread to end"
    eventually(lambda: ended(steady, slow.id), PATIENCE, "the thread ends")
    assert steady.state(slow.id) == "failed"


def ended(world: World, job_id: str) -> bool:
    return any(e["job"] == job_id and e["f"] == "end" for e in world.site.effects())


# -- switches -------------------------------------------------------------------------------------------
def test_a_paused_queue_gives_nothing_until_it_is_resumed(steady: World) -> None:
    operate("pause", "alone")
    job = jobs.after_it.enqueue()
    jobs.on_loop.enqueue().result(timeout=PATIENCE)
    assert steady.state(job.id) == "waiting"
    operate("resume", "alone")
    job.result(timeout=PATIENCE)


def test_a_job_past_its_expiry_is_cancelled_and_not_run(steady: World) -> None:
    operate("pause", "alone")
    job = jobs.after_it.using(expire_after=0.2).enqueue()
    jobs.on_loop.using(delay=0.5).enqueue().result(timeout=PATIENCE)
    operate("resume", "alone")
    jobs.after_it.enqueue().result(timeout=PATIENCE)
    assert steady.starts(job.id) == []
    jobs.app.run_on_engine(lambda engine: engine.expire(10), "await")  # what the sweeper does now and then
    with pytest.raises(JobCancelled, match="expired"):
        job.result(timeout=PATIENCE)


def test_a_task_switched_off_is_parked_or_refused_and_runs_when_switched_on(steady: World) -> None:
    switch = steady.site.folder / "switched-on"
    job = jobs.kept_aside.enqueue()
    record = eventually(lambda: parked(steady, job.id), PATIENCE, "parked")
    assert "switched off" in record.note
    assert record.attempt == 0
    with pytest.raises(Disabled, match="nothing was enqueued"):
        jobs.turned_away.enqueue()
    switch.touch()
    try:
        job.result(timeout=PATIENCE)
        jobs.turned_away.enqueue().result(timeout=PATIENCE)
    finally:
        switch.unlink()


def parked(world: World, job_id: str) -> object:
    job = world.look(job_id)
    return job if job.parked else None


def cancel(job_id: str) -> None:
    jobs.app.run_on_engine(lambda engine: engine.cancel([job_id], "not wanted"), "await")


def operate(verb: str, queue: str) -> None:
    jobs.app.run_on_engine(lambda engine: engine.set_paused(queue, verb == "pause"), "await")


def dead_letter(job_id: str) -> object:
    return jobs.app.run_on_engine(lambda engine: engine.dead_letter(job_id), "await")
