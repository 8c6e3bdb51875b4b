"""Two versions of an app on one database: what a worker cannot run waits for one that can."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from acceptance.fleet import eventually
from acceptance.world import World
from penstock import Job

HEAD = """
from penstock import Penstock
app = Penstock()
"""
NEWER = f"""{HEAD}
@app.task
async def added_later(n: int) -> int:
    return n + 1
"""
WIDE = f"""{HEAD}
@app.task
async def resize(path: str) -> str:
    return "resized " + path
"""
NARROW = f"""{HEAD}
@app.task
async def resize(path: int) -> str:
    return "resized %d" % path
"""


def parked(world: World, job_id: str) -> Job | None:
    job = world.look(job_id)
    return job if job.parked else None


def test_a_task_no_worker_knows_is_parked_with_the_reason_and_runs_when_one_does(steady: World) -> None:
    file = write(steady, "newer.py", NEWER)
    job_id = enqueue(steady, "newer.py", "added_later", "{'n': 41}")
    job = eventually(lambda: parked(steady, job_id), 20, "parked")
    assert "no worker here knows task 'added_later'" in (job.note or "")
    assert job.attempt == 0
    tree = steady.start(app=f"{file}:app")
    assert steady.becomes(job_id, "completed").result == 42
    tree.kill()


def test_a_payload_that_no_longer_fits_is_parked_and_runs_after_the_next_deploy(world: World) -> None:
    file = write(world, "shop.py", WIDE)
    job_id = enqueue(world, "shop.py", "resize", "{'path': 'a.png'}")
    file.write_text(NARROW)
    tree = world.start("--reload", app=f"{file}:app")
    job = eventually(lambda: parked(world, job_id), 20, "parked")
    assert "no longer fit task 'resize'" in (job.note or "")
    assert "path" in (job.note or "")
    # The next deploy, without a restart of the supervisor: --reload sees the file change.
    before = tree.the_worker()
    time.sleep(0.01)
    file.write_text(WIDE)
    assert world.becomes(job_id, "completed", within=40).result == "resized a.png"
    assert world.up(tree, not_pid=before)


def write(world: World, name: str, text: str) -> Path:
    file = world.site.folder / name
    file.write_text(text)
    return file


def enqueue(world: World, file: str, task: str, args: str) -> str:
    """Enqueue from a process that has that version of the app."""
    import subprocess

    code = f"import runpy; print(runpy.run_path({file!r})[{task!r}].enqueue(**{args}).id)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=world.site.folder,
        env=world.site.env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
