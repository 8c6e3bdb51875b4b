"""Processes that die: their jobs come back, at once or when the lease is over, and bystanders do not pay."""

from __future__ import annotations

import os
import signal
import time

from acceptance import jobs
from acceptance.fleet import HERE, eventually, is_alive
from acceptance.world import World

LEASE = 3.0
REAPER = LEASE / 3


def test_jobs_of_a_killed_worker_process_are_back_at_once_uncharged_and_run_again(world: World) -> None:
    tree = world.start(lease=120)
    victims = [task.enqueue(seconds=60) for task in (jobs.on_loop, jobs.in_thread, jobs.in_process)]
    world.started(*(job.id for job in victims))
    worker = tree.the_worker()
    children = world.children(tree)
    assert children
    os.kill(worker, signal.SIGKILL)
    # Far below the lease: the supervisor saw the process die.
    eventually(lambda: all(len(world.starts(job.id)) == 2 for job in victims), 60, "started again")
    assert not any(map(is_alive, (worker, *children)))
    for job in victims:
        job.result(timeout=20)
        record = world.look(job.id)
        assert (record.attempt, record.rescues, record.crashes) == (1, 1, 0)
    assert "killed by SIGKILL" in tree.log()


def test_children_of_a_killed_worker_do_not_outlive_it(world: World) -> None:
    tree = world.start(lease=120)
    for _ in range(5):
        job = jobs.in_process.enqueue(seconds=60)
        world.started(job.id)
        worker = world.up(tree)
        (warm,), (child,) = world.warm(tree), world.children(tree)
        os.kill(worker, signal.SIGKILL)
        eventually(lambda job=job: len(world.starts(job.id)) == 2, 60, "started again")
        # What had not died by then would have run beside it.
        assert not any(map(is_alive, (worker, warm, child)))
        world.becomes(job.id, "completed")


def test_a_worker_whose_warm_process_was_killed_goes_on(world: World) -> None:
    tree = world.start()
    (warm,) = world.warm(tree)
    assert jobs.in_process.enqueue().result(timeout=20)["parent"] in world.guards(tree)
    on_loop, alone = jobs.on_loop.enqueue(seconds=2), jobs.in_process.enqueue(seconds=60)
    world.started(on_loop.id, alone.id)
    worker = tree.the_worker()
    os.kill(warm, signal.SIGKILL)
    # Nobody knows whose doing that was: it is a suspect, is not charged, and runs again.
    assert alone.result(timeout=20)["parent"] in world.guards(tree)
    record = world.look(alone.id)
    assert (record.attempt, record.crashes, record.rescues) == (1, 0, 1)
    assert on_loop.result(timeout=20)["pid"] == worker
    assert not is_alive(warm)


def test_where_the_app_cannot_be_copied_children_load_it_and_die_with_their_worker_too(world: World) -> None:
    careless = world.site.folder / "careless.py"
    careless.write_text(
        f"import sys, threading\nsys.path.insert(0, {str(HERE)!r})\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\nfrom jobs import app\n"
    )
    tree = world.start(app=f"{careless}:app", lease=120)
    assert world.warm(tree) == [], "it is started when it is needed"
    job = jobs.in_process.enqueue(seconds=60)
    world.started(job.id)
    worker = tree.the_worker()
    (warm,), (child,) = world.warm(tree), world.children(tree)
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: len(world.starts(job.id)) == 2, 60, "started again")
    assert not any(map(is_alive, (worker, warm, child)))
    job.result(timeout=20)


def test_a_killed_supervisor_takes_its_children_along_and_its_jobs_are_rescued(world: World) -> None:
    doomed = world.start(lease=LEASE)
    jobs_of_it = [task.enqueue(seconds=60) for task in (jobs.on_loop, jobs.in_thread, jobs.in_process)]
    world.started(*(job.id for job in jobs_of_it))
    other = world.start(lease=LEASE)
    processes = [*doomed.workers(), *world.warm(doomed), *world.children(doomed)]
    assert len(processes) == 3
    killed_at = time.monotonic()
    os.kill(doomed.pid, signal.SIGKILL)
    eventually(lambda: not any(map(is_alive, processes)), 20, "children gone")
    assert time.monotonic() - killed_at <= 2.0
    eventually(lambda: all(len(world.starts(job.id)) == 2 for job in jobs_of_it), 60, "rescued")
    for job in jobs_of_it:
        record = world.look(job.id)
        assert (record.attempt, record.rescues) == (1, 1)
        again_at = record.claimed_at.timestamp() - time.time() + time.monotonic()
        assert again_at - killed_at <= LEASE + REAPER + 1
    assert other.running


def test_a_segfaulting_job_is_a_dead_letter_after_three_crashes_alone_and_no_good_job_pays(
    world: World,
) -> None:
    tree = world.start("--concurrency", "8")
    good = jobs.app.enqueue_many(jobs.in_thread.call(seconds=0.01) for _ in range(100))
    poison = jobs.crashes.enqueue(how="segfault")
    good += jobs.app.enqueue_many(jobs.in_thread.call(seconds=0.01) for _ in range(100))
    record = world.becomes(poison.id, "failed", within=60)
    assert (record.note, record.crashes) == ("crash-loop", 3)
    # Once among others, which did not count, and three times alone.
    assert len(world.starts(poison.id)) == 4
    for job in good:
        job.result(timeout=60)
        assert world.look(job.id).attempt == 1
    assert tree.running


def test_a_handler_that_exits_its_process_is_a_crash_whatever_the_code_and_the_worker_goes_on(
    world: World,
) -> None:
    tree = world.start()
    for code in (0, 2, 3, 4):
        job = jobs.crashes.enqueue(how="exit", code=code)
        record = world.becomes(job.id, "failed", within=60)
        assert (record.note, len(world.starts(job.id))) == ("crash-loop", 4)
        assert f"exited with code {code}" in record.errors[-1]["message"]
        assert f"died: its process exited with code {code}" in tree.log()
    assert tree.running


def test_blocking_the_gil_or_the_loop_for_five_leases_starts_nothing_twice(world: World) -> None:
    lease = 2.0
    queues = ("default", "alone", "switched")
    holder, blocker, bystander = trees = [world.site.start("--queue", queue, lease=lease) for queue in queues]
    for tree in trees:
        world.up(tree)
    gil = jobs.holds_the_gil.enqueue(seconds=5 * lease)
    loop = jobs.blocks_the_loop.enqueue(seconds=5 * lease)
    for job in (gil, loop):
        world.becomes(job.id, "completed", within=60)
        assert len(world.starts(job.id)) == 1
        record = world.look(job.id)
        assert (record.attempt, record.rescues) == (1, 0)
    warning = next(line for line in blocker.log().splitlines() if "event loop has been blocked" in line)
    assert f"blocks_the_loop {loop.id}" in warning
    assert "rescued" not in bystander.log()
    assert holder.running
