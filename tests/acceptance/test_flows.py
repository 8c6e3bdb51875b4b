"""Flows, steps and followers under real workers, some of which are killed."""

from __future__ import annotations

import os
import random
import signal

import pytest

from acceptance import jobs
from acceptance.fleet import eventually
from acceptance.world import World
from penstock import Job, Task
from penstock.engine import Flow, JobFilter

MANY = 998


def flow_of(flow_id: str) -> Flow:
    found = jobs.app.run_on_engine(lambda engine: engine.flow(flow_id), "await")
    assert found is not None
    return found


def followers() -> list[Job]:
    where = JobFilter(task=jobs.after_it.name)
    return jobs.app.run_on_engine(lambda engine: engine.jobs(where, 10), "await")


@pytest.mark.timeout(300)
def test_killing_workers_changes_nothing_in_the_result_of_a_flow_of_a_thousand_jobs(world: World) -> None:
    trees = [world.start("--concurrency", "8", lease=10) for _ in range(2)]
    flow = jobs.app.flow("squares")
    first = flow.add(jobs.numbers.call(count=MANY))
    many = [flow.add(jobs.square.call(n=n), after=[first]) for n in range(MANY)]
    last = flow.add(jobs.total.call(), after=many)
    made = flow.enqueue()
    for left in (800, 600, 400, 200):
        eventually(lambda left=left: flow_of(made.id).unfinished < left, 120, f"{left} jobs left")
        worker = random.choice(trees).the_worker()
        os.kill(worker, signal.SIGKILL)
    assert made[last].result(timeout=120) == sum(n**2 for n in range(MANY))
    found = flow_of(made.id)
    assert found.unfinished == 0
    assert len(found.jobs) == MANY + 2
    assert {str(job.state) for job in found.jobs} == {"completed"}


@pytest.mark.parametrize("task", [jobs.charges, jobs.charges_alone], ids=lambda task: task.name)
def test_a_step_outlives_its_process_and_the_follower_comes_once(world: World, task: Task[[], str]) -> None:
    tree = world.start(lease=120)
    job = task.enqueue()
    world.started(job.id)
    os.kill(tree.the_worker(), signal.SIGKILL)
    eventually(lambda: len(world.starts(job.id)) == 2, 60, "started again")
    receipt = job.result(timeout=20)
    charges = [e for e in world.site.effects() if e["job"] == job.id and e["f"] == "charge"]
    assert [f"receipt {e['pid']}" for e in charges] == [receipt]
    follower = eventually(followers, 20, "the follower")
    assert len(follower) == 1
    world.becomes(follower[0].id, "completed")
