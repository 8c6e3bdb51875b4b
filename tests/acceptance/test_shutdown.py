"""SIGTERM: what is finished is settled, what is not is handed back, and nothing is charged for it."""

from __future__ import annotations

import os
import signal
import time

from acceptance import jobs
from acceptance.fleet import eventually
from acceptance.world import World
from penstock.engine import Order

GRACE = 1.0
BOUND = GRACE + 2.0


def test_an_idle_worker_ends_with_exit_code_0(world: World) -> None:
    tree = world.start(grace=GRACE)
    began = time.monotonic()
    tree.signal(signal.SIGTERM)
    assert tree.exit_code(within=30) == 0
    assert time.monotonic() - began <= BOUND
    assert world.workers() == []


def test_an_idle_worker_ends_with_exit_code_0_however_often_it_is_told(world: World) -> None:
    tree = world.start(grace=GRACE)

    def told_again() -> bool:
        tree.signal(signal.SIGTERM)
        return not tree.running

    eventually(told_again, 30, "ended")
    assert tree.exit_code(within=1) == 0
    assert world.workers() == []


def test_an_operator_makes_a_worker_quiet_lets_it_go_on_and_stops_it_for_good(world: World) -> None:
    tree = world.start(grace=20, lease=3)
    (worker,) = world.workers()
    world.order(worker.id, Order.QUIET)
    world.beats(2)
    job = jobs.on_loop.enqueue(seconds=0)
    world.beats(1)
    assert world.state(job.id) == "waiting"
    world.order(worker.id, None)
    world.becomes(job.id, "completed")
    running = jobs.in_thread.enqueue(seconds=0.8)
    world.started(running.id)
    world.order(worker.id, Order.STOP)
    assert tree.exit_code(within=30) == 0
    assert world.state(running.id) == "completed"
    assert world.workers() == []
    assert "no other is started in its place" in tree.log()


def test_sigterm_settles_what_ends_in_time_and_hands_the_rest_back_uncharged(world: World) -> None:
    tree = world.start(grace=GRACE)
    done = jobs.on_loop.enqueue(seconds=0)
    done.result(timeout=20)
    ends_in_time = jobs.in_thread.enqueue(seconds=0.5)
    kinds = (jobs.on_loop, jobs.in_thread, jobs.in_process, jobs.awaits_a_thread)
    unfinished = [task.enqueue(seconds=60) for task in kinds]
    world.started(ends_in_time.id, *(job.id for job in unfinished))
    began = time.monotonic()
    tree.signal(signal.SIGTERM)
    assert tree.exit_code(within=30) == 0
    assert time.monotonic() - began <= BOUND
    assert world.state(ends_in_time.id) == "completed"
    for job in unfinished:
        record = world.look(job.id)
        assert (record.task, record.state, record.attempt) == (job.task, "waiting", 0)
        assert (record.suspect, record.rescues, record.errors) == (False, 0, [])
    assert world.workers() == []


def test_a_second_sigterm_hands_running_jobs_back_at_once(world: World) -> None:
    tree = world.start(grace=60)
    running = [task.enqueue(seconds=60) for task in (jobs.on_loop, jobs.in_thread, jobs.in_process)]
    world.started(*(job.id for job in running))
    tree.signal(signal.SIGTERM)
    time.sleep(0.5)
    assert tree.running, "the first one drains"
    began = time.monotonic()
    tree.signal(signal.SIGTERM)
    assert tree.exit_code(within=30) == 0
    assert time.monotonic() - began <= 2.0
    for job in running:
        record = world.look(job.id)
        assert (record.task, record.state, record.attempt) == (job.task, "waiting", 0)
        assert not record.suspect


def test_without_grace_running_jobs_are_handed_back_at_once_and_without_warnings(world: World) -> None:
    tree = world.start(grace=0)
    running = [task.enqueue(seconds=60) for task in (jobs.on_loop, jobs.in_thread, jobs.in_process)]
    world.started(*(job.id for job in running))
    tree.signal(signal.SIGTERM)
    assert tree.exit_code(within=30) == 0
    for job in running:
        record = world.look(job.id)
        assert (record.task, record.state, record.attempt) == (job.task, "waiting", 0)
    assert "Warning" not in tree.log()


def test_a_signal_to_the_whole_process_group_drains_too(world: World) -> None:
    tree = world.start(grace=GRACE)
    running = [task.enqueue(seconds=0.6) for task in (jobs.on_loop, jobs.in_thread, jobs.in_process)]
    world.started(*(job.id for job in running))
    everybody = [tree.pid, *tree.workers(), *world.warm(tree), *world.children(tree)]
    for pid in everybody:
        os.kill(pid, signal.SIGTERM)
    assert tree.exit_code(within=30) == 0
    assert [world.state(job.id) for job in running] == ["completed"] * 3


def test_signals_that_keep_coming_while_it_ends_leave_a_clean_end(world: World) -> None:
    """As when a shell, a service manager and its own supervisor all pass them on."""
    tree = world.start(grace=GRACE)
    worker = tree.the_worker()

    def told_again() -> bool:
        try:
            for _ in range(20):
                os.kill(worker, signal.SIGTERM)
                time.sleep(0.0005)
        except ProcessLookupError:
            return True
        return False

    tree.signal(signal.SIGTERM)
    eventually(told_again, 30, "ended")
    assert tree.exit_code(within=30) == 0
    assert "Exception ignored" not in tree.log()
    assert "killed" not in tree.log()
