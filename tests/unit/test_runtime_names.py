"""The asyncio tasks in which handlers run bear the names of their tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from runtime_kit import make_app, make_worker


@pytest.mark.parametrize("has_factory", [False, True])
async def test_a_handler_runs_under_the_name_of_its_task_and_by_the_loops_own_factory(
    has_factory: bool,
) -> None:
    loop, made, names = asyncio.get_running_loop(), [], []
    app = make_app()

    @app.task
    async def hello() -> None:
        current = asyncio.current_task()
        names.append(current and current.get_name())
        assert not has_factory or current in made

    def factory(
        running: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **more: Any
    ) -> asyncio.Task[Any]:
        made.append(asyncio.Task(work, loop=running, **more))
        return made[-1]

    async with app:
        await hello.aenqueue()
        worker = make_worker(app, app.engine, slots=1)
        await app.engine.register(worker.info(), 60.0)
        loop.set_task_factory(factory if has_factory else None)
        try:
            await worker._pump.round()
            while worker.executor.running:
                await asyncio.sleep(0)
        finally:
            loop.set_task_factory(None)
    assert names == ["hello"]
    assert not worker._pump._ends[0].outcome.error
