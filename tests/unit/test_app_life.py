"""The app's life: opened and closed by blocks or by need, from loops, threads and forks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock
from penstock import CalledInLoop, EngineError, Penstock, State


def make(url: str) -> Penstock:
    app = Penstock(url)

    @app.task
    def double(x: int) -> int:
        return 2 * x

    return app


@pytest.fixture
def app(tmp_path: Path):
    made = make(f"sqlite:///{tmp_path}/jobs.db")
    yield made
    made.close()


def total(app: Penstock) -> int:
    async def count() -> int:
        async with app:
            return sum(state.counts.get(State.WAITING, 0) for state in await app.engine.queues())

    return asyncio.run(count())


def test_a_sync_program_needs_no_loop(app: Penstock) -> None:
    with app:
        job = app.tasks["double"].enqueue(4)
        assert job.refresh().state is State.WAITING
        assert len(app.enqueue_many([app.tasks["double"].call(1)])) == 1
    assert total(app) == 2


def test_the_first_call_opens_the_app_and_close_lets_go(app: Penstock) -> None:
    before = threading.active_count()
    app.tasks["double"].enqueue(4)
    assert threading.active_count() > before
    app.close()
    assert threading.active_count() == before
    app.tasks["double"].enqueue(4)
    assert total(app) == 2


async def test_blocking_calls_inside_a_loop_name_their_twin(app: Penstock) -> None:
    double = app.tasks["double"]
    async with app:
        job = await double.aenqueue(1)
        for call, twin in [
            (lambda: double.enqueue(1), "aenqueue"),
            (lambda: app.enqueue_many([double.call(1)]), "aenqueue_many"),
            (job.refresh, "arefresh"),
            (job.result, "aresult"),
            (app.open, "async with app"),
            (app.close, "aclose"),
        ]:
            with pytest.raises(CalledInLoop, match=f"`{twin}`"):
                call()


def portals() -> set[threading.Thread]:
    """The threads in which apps are open; others than the one under test may be."""
    return {thread for thread in threading.enumerate() if thread.name == "penstock-portal"}


async def test_a_thread_beside_the_loop_uses_the_loops_engine(app: Penstock) -> None:
    before = portals()
    async with app:
        job = await asyncio.to_thread(app.tasks["double"].enqueue, 3)
        assert await app.engine.get(job.id) is not None
        assert portals() <= before


def test_a_loop_beside_the_sync_program_uses_the_same_engine(app: Penstock) -> None:
    with app:
        first = app.tasks["double"].enqueue(1)
        second = asyncio.run(app.tasks["double"].aenqueue(2))
        assert first.refresh().state is second.refresh().state is State.WAITING


def test_a_loop_that_ended_without_closing_leaves_the_engine_to_the_next(app: Penstock) -> None:
    before = threading.active_count()
    asyncio.run(app.tasks["double"].aenqueue(1))
    open_for_one = threading.active_count()
    asyncio.run(app.tasks["double"].aenqueue(2))
    assert threading.active_count() == open_for_one
    app.close()
    assert threading.active_count() == before
    assert total(app) == 2


def test_one_loop_after_another_may_use_the_app(app: Penstock) -> None:
    async def use() -> None:
        async with app:
            await app.tasks["double"].aenqueue(1)

    asyncio.run(use())
    asyncio.run(use())
    assert total(app) == 2


async def test_blocks_may_be_nested(app: Penstock) -> None:
    async with app:
        async with app:
            await app.tasks["double"].aenqueue(1)
        assert await app.engine.queues()
    with pytest.raises(EngineError, match="not open"):
        _ = app.engine


def test_many_threads_open_one_engine(app: Penstock) -> None:
    before = portals()
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda: ids.append(app.tasks["double"].enqueue(1).id)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(portals() - before) == 1
    app.close()
    assert len(set(ids)) == total(app) == 8


@pytest.mark.parametrize("place", ["file", "memory"])
def test_threads_with_loops_that_come_and_go_need_not_open_the_app(tmp_path: Path, place: str) -> None:
    app = make(f"sqlite:///{tmp_path}/jobs.db" if place == "file" else "sqlite://:memory:")
    double = app.tasks["double"]

    def in_loops(n: int) -> list[str]:
        return [asyncio.run(double.aenqueue(n)).id for _ in range(20)]

    def plain(n: int) -> list[str]:
        return [double.enqueue(n).id for _ in range(20)]

    with ThreadPoolExecutor(5) as pool:
        calls = [pool.submit(call, 1) for call in (in_loops, in_loops, in_loops, plain, plain)]
        ids = {job for call in calls for job in call.result(60)}
    assert len(ids) == total(app) == 100


def test_a_database_in_memory_moves_from_the_sync_program_to_a_loop() -> None:
    app = make("sqlite://:memory:")
    job = app.tasks["double"].enqueue(21)

    async def work() -> int:
        async with app:
            await app.worker().run(burst=True)
            return await job.aresult(5)

    assert asyncio.run(work()) == 42


def test_a_forked_child_opens_its_own_engine(app: Penstock) -> None:
    app.tasks["double"].enqueue(1)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            app.tasks["double"].enqueue(2)
            app.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    app.tasks["double"].enqueue(3)
    app.close()
    assert total(app) == 3


def test_a_program_that_forgets_to_close_ends_in_good_order(tmp_path: Path) -> None:
    code = (
        "from penstock import Penstock\n"
        f"app = Penstock('sqlite:///{tmp_path}/jobs.db')\n"
        "@app.task\n"
        "def hello() -> None: ...\n"
        "print(hello.enqueue().state)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=False, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "waiting\n", "")


def test_importing_penstock_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import penstock; penstock.Penstock, penstock.Retry\n"
        "print([m for m in ('pydantic', 'typer', 'sqlite3', 'psycopg') if m in sys.modules.keys() - before])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    assert list(penstock.__all__) == sorted(penstock.__all__)
    assert all(getattr(penstock, name) is not None for name in penstock.__all__)
    assert dir(penstock) == sorted(penstock.__all__)
    with pytest.raises(AttributeError):
        _ = penstock.nonsense
