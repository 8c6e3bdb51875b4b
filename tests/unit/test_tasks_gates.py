"""Feature gates: while a gate is closed nothing runs, and what goes in is refused or kept, as declared."""

from __future__ import annotations

import pytest

from penstock import Disabled, Penstock


class Flag:
    def __init__(self) -> None:
        self.on = True

    def __call__(self) -> bool:
        return self.on


@pytest.fixture
def flag() -> Flag:
    return Flag()


@pytest.fixture
def app() -> Penstock:
    return Penstock("sqlite://:memory:")


async def test_a_closed_gate_refuses_and_creates_nothing(app: Penstock, flag: Flag) -> None:
    @app.task(enabled=flag)
    async def render() -> None: ...

    flag.on = False
    async with app:
        with pytest.raises(Disabled, match="task 'render' is switched off") as refused:
            await render.aenqueue()
        assert "Enqueue it again when it is on, or declare when_disabled='park'" in str(refused.value)
        with pytest.raises(Disabled):
            await app.aenqueue_many([render.call()])
        assert await app.engine.queues() == []
        flag.on = True
        assert (await render.aenqueue()).state == "waiting"


async def test_a_closed_queue_refuses_for_all_its_tasks(app: Penstock, flag: Flag) -> None:
    app.queue("media", enabled=flag)

    @app.task(queue="media")
    async def render() -> None: ...

    flag.on = False
    async with app:
        with pytest.raises(Disabled, match="queue 'media'"):
            await render.aenqueue()


async def test_where_declared_jobs_are_let_in_and_kept_back(app: Penstock, flag: Flag) -> None:
    @app.task(enabled=flag, when_disabled="park")
    async def render() -> str:
        return "done"

    flag.on = False
    async with app:
        job = await render.aenqueue()
        assert render.closed() is not None
        assert "render" not in app.registry.fingerprints()
        flag.on = True
        assert render.closed() is None
        assert "render" in app.registry.fingerprints()
        assert (await job.arefresh()).state == "waiting"


def test_a_task_inherits_what_its_queue_does_with_jobs_while_off(app: Penstock) -> None:
    app.queue("media", when_disabled="park")

    @app.task(queue="media", enabled=False)
    def render() -> None: ...

    render.admit()
    assert render.closed() == "task 'render' is switched off"


def test_a_flag_that_cannot_be_read_keeps_the_work_back(app: Penstock) -> None:
    def broken() -> bool:
        raise OSError("the flag server is down")

    @app.task(enabled=broken)
    def render() -> None: ...

    with pytest.raises(Disabled, match="raised OSError"):
        render.admit()
