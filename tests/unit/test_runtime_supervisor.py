"""The supervisor: it drains, replaces and gives up, over worker processes that are only played."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from runtime_kit import Flaky, no_waiting, small_app  # noqa: F401 - fixtures

from penstock import EngineError, EngineUnavailable, Penstock
from penstock.runtime import supervisor
from penstock.runtime.supervised import BadApp, KilledEarly
from penstock.runtime.supervisor import Supervisor, SupervisorOptions


# -- supervisor -------------------------------------------------------------------------------------
class FakeSupervised:
    """Lives as the test says: each entry of `lives` is what one worker process does."""

    lives: ClassVar[list[Any]] = []
    born: ClassVar[list[FakeSupervised]] = []

    def __init__(self, *_: object) -> None:
        self.drained: list[bool] = []
        self.worked = 0.0
        self.ended_well = False
        self.began = False
        self.dismissed = False
        self.over = asyncio.Event()
        self.born.append(self)

    def drain(self, *, now: bool) -> None:
        self.drained.append(now)
        self.over.set()

    async def live(self, _engine_for: object) -> None:
        life = self.lives.pop(0) if self.lives else None
        if isinstance(life, Exception):
            raise life
        if life == "begins, and is not heard of again":
            self.began = True
            raise EngineUnavailable("away")
        if isinstance(life, float):
            self.began, self.worked = True, life
            return
        if life is not None:
            self.began = True
            self.ended_well = life in ("well", "dismissed")
            self.dismissed = life == "dismissed"
            return
        await self.over.wait()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeSupervised]:
    monkeypatch.setattr(supervisor, "Supervised", FakeSupervised)
    FakeSupervised.lives, FakeSupervised.born = [], []
    return FakeSupervised


async def _no_engine(_url: str, _schema: str) -> Any:
    raise EngineUnavailable("away")


def make_supervisor(processes: int = 1, *, stays: bool = False) -> Supervisor:
    return Supervisor(SupervisorOptions(app_ref="shop:app", processes=processes, stays=stays), _no_engine)


async def until_born(fake: type[FakeSupervised], count: int) -> None:
    while len(fake.born) < count:
        await asyncio.sleep(0)


async def test_the_first_signal_drains_and_the_second_hands_back(fake: type[FakeSupervised]) -> None:
    boss = make_supervisor(2)
    running = asyncio.create_task(boss.run())
    await until_born(fake, 2)
    boss.stop()
    boss.stop()
    assert await running == 0
    assert [worker.drained for worker in fake.born] == [[False, True], [False, True]]


async def test_a_worker_that_ends_is_replaced(fake: type[FakeSupervised]) -> None:
    fake.lives = ["well", "badly", EngineUnavailable("buried by nobody"), OSError("too many processes")]
    boss = make_supervisor()
    running = asyncio.create_task(boss.run())
    await until_born(fake, 5)
    await boss.restart()
    await until_born(fake, 6)
    boss.stop()
    assert await running == 0
    assert fake.born[4].drained == [True]


async def test_one_that_stays_waits_for_other_code_where_its_worker_was_dismissed(
    fake: type[FakeSupervised],
) -> None:
    fake.lives = ["dismissed"]
    boss = make_supervisor(stays=True)
    running = asyncio.create_task(boss.run())
    await until_born(fake, 1)
    for _ in range(10):
        await asyncio.sleep(0)
    assert (running.done(), len(fake.born)) == (False, 1)
    await boss.restart()
    await until_born(fake, 2)
    boss.stop()
    assert await running == 0


async def test_one_that_stays_ends_when_it_is_told_to(fake: type[FakeSupervised]) -> None:
    fake.lives = ["dismissed"]
    boss = make_supervisor(stays=True)
    running = asyncio.create_task(boss.run())
    await until_born(fake, 1)
    boss.stop()
    assert (await running, len(fake.born)) == (0, 1)


async def test_a_worker_that_an_operator_stopped_is_not_replaced_and_the_last_one_ends_the_supervisor(
    fake: type[FakeSupervised],
) -> None:
    fake.lives = ["dismissed", "well", "dismissed"]
    assert await make_supervisor(2).run() == 0
    assert len(fake.born) == 3


async def test_a_worker_that_was_killed_at_work_is_replaced_at_once_and_one_that_dies_young_is_not(
    fake: type[FakeSupervised], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_off: list[int] = []

    class Recorded(supervisor.Backoff):
        def next(self) -> float:
            put_off.append(len(fake.born))
            return super().next()

    monkeypatch.setattr(supervisor, "Backoff", Recorded)
    fake.lives = [supervisor.STEADY, supervisor.STEADY + 1, 0.1, supervisor.STEADY]
    boss = make_supervisor()
    running = asyncio.create_task(boss.run())
    await until_born(fake, 5)
    boss.stop()
    assert await running == 0
    assert [nth for nth in put_off if nth < 5] == [3]


async def test_an_app_that_never_started_ends_the_supervisor_with_the_reason(
    fake: type[FakeSupervised],
) -> None:
    fake.lives = [BadApp("no module 'x'")]
    boss = make_supervisor()
    assert await boss.run() == 1
    assert boss.problem == "no module 'x'"


async def test_a_worker_killed_before_it_began_is_replaced(
    fake: type[FakeSupervised], caplog: pytest.LogCaptureFixture
) -> None:
    fake.lives = [KilledEarly("killed by SIGKILL")]
    boss = make_supervisor()
    running = asyncio.create_task(boss.run())
    await until_born(fake, 2)
    boss.stop()
    assert await running == 0
    assert boss.problem is None
    assert "killed by SIGKILL" in caplog.text


async def test_an_app_that_broke_later_is_tried_again(
    fake: type[FakeSupervised], caplog: pytest.LogCaptureFixture
) -> None:
    fake.lives = ["well", BadApp("syntax error")]
    boss = make_supervisor()
    running = asyncio.create_task(boss.run())
    await until_born(fake, 3)
    boss.stop()
    assert await running == 0
    assert boss.problem is None
    assert "syntax error" in caplog.text


async def test_an_outage_in_which_a_worker_ends_and_none_can_start_does_not_end_the_supervisor(
    fake: type[FakeSupervised],
) -> None:
    away = BadApp("EngineUnavailable: away")
    fake.lives = ["begins, and is not heard of again", away, away, away]
    boss = make_supervisor()
    running = asyncio.create_task(boss.run())
    await until_born(fake, 5)
    boss.stop()
    assert await running == 0
    assert boss.problem is None


async def test_what_one_worker_process_has_shown_to_work_counts_for_the_others(
    fake: type[FakeSupervised],
) -> None:
    fake.lives = ["well", BadApp("away")]
    boss = make_supervisor(2)
    running = asyncio.create_task(boss.run())
    await until_born(fake, 4)
    boss.stop()
    assert await running == 0


async def test_an_app_that_fails_while_we_stop_is_no_problem(fake: type[FakeSupervised]) -> None:
    fake.lives = [BadApp("killed while it started")]
    boss = make_supervisor()
    boss._signals, _ = 1, boss._stopping
    running = asyncio.create_task(boss._keep_one())
    boss._stopping.set()
    await running
    assert boss.problem is None


async def test_once_the_code_has_changed_a_worker_that_could_not_start_is_started_at_once(
    fake: type[FakeSupervised], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.runtime.backoff.random.uniform", lambda *_: 6000.0)
    fake.lives = ["well", BadApp("syntax error"), BadApp("another")]
    boss = make_supervisor()
    running = asyncio.create_task(boss.run())
    for born in (3, 4):
        await until_born(fake, born - 1)
        while boss._workers:
            await asyncio.sleep(0)
        await boss.restart()
        await until_born(fake, born)
    boss.stop()
    assert await running == 0


async def test_a_change_while_a_worker_was_failing_to_start_is_not_slept_over(
    fake: type[FakeSupervised], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.runtime.backoff.random.uniform", lambda *_: 6000.0)
    boss = make_supervisor()

    class Changing(BadApp):
        def __str__(self) -> str:
            boss._anew.set()
            boss._anew = asyncio.Event()
            return "syntax error"

    fake.lives = ["well", Changing()]
    running = asyncio.create_task(boss.run())
    await until_born(fake, 3)
    boss.stop()
    assert await running == 0


async def test_the_workers_engine_is_opened_once_and_closed_at_the_end(
    app: Penstock, fake: type[FakeSupervised]
) -> None:
    opened: list[str] = []
    closed: list[str] = []

    class Closing(Flaky):
        async def close(self) -> None:
            closed.append("closed")

    async def open_engine(url: str, schema: str) -> Any:
        opened.append(url)
        return Closing(app.engine)

    boss = Supervisor(SupervisorOptions(app_ref="shop:app"), open_engine)
    assert await boss._engine_for("u", "s") is await boss._engine_for("u", "s")
    running = asyncio.create_task(boss.run())
    await until_born(fake, 1)
    boss.stop()
    await running
    assert (opened, closed) == (["u"], ["closed"])
    with pytest.raises((BadApp, EngineError), match="away"):
        await make_supervisor()._engine_for("u", "s")
