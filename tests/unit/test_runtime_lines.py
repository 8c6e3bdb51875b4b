"""Between a run and the engine: heartbeats and progress."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest
from runtime_kit import Flaky, expire, make_worker
from shop_kit import Shop, begin, open_shop  # noqa: F401 - fixtures
from test_runtime_child import CLAIM

from penstock import EngineUnavailable
from penstock.model.job import Claim
from penstock.runtime import links
from penstock.runtime.heart import Heart, beat
from penstock.runtime.running import Running
from penstock.tasks.errands import STEPS, Errand


# -- heart ------------------------------------------------------------------------------------------
async def test_a_beat_that_finds_the_worker_gone_gives_it_up(shop: Shop) -> None:
    worker = await begin(shop)
    expire(shop.app)
    orders = await beat(shop.app.engine, worker.id, worker.board, os.getpid())
    assert orders.given_up
    assert worker.board.given_up


async def test_a_beat_counts_from_before_it_was_asked(shop: Shop) -> None:
    worker = await begin(shop)
    worker.board.beaten(0.0)
    before = time.monotonic()
    await beat(shop.app.engine, worker.id, worker.board, os.getpid())
    assert worker.board.age() <= time.monotonic() - before


@pytest.mark.parametrize(
    ("error", "told"), [(EngineUnavailable("away"), "away"), (TimeoutError(), "no answer in time")]
)
async def test_a_missed_heartbeat_is_logged_with_the_reason_and_not_the_end(
    shop: Shop, caplog: pytest.LogCaptureFixture, error: Exception, told: str
) -> None:
    worker = await begin(shop)
    engine = Flaky(shop.app.engine)
    engine.before["beat"] = [error]
    heart = Heart(worker, None)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING, "penstock.heart"):
        await heart._beat_once(engine)  # type: ignore[arg-type]
    assert f"heartbeat missed: {told}" in caplog.text
    await heart._beat_once(engine)  # type: ignore[arg-type]
    assert worker.board.age() < 60


# -- progress ---------------------------------------------------------------------------------------
async def test_progress_of_a_thread_is_stored(shop: Shop) -> None:
    job = await shop.app.tasks["tell"].aenqueue()
    engine = Flaky(shop.app.engine)
    worker = make_worker(shop.app, engine)
    await engine.register(worker.info(), 60.0)
    await worker.run(burst=True)
    assert ("progress", '{"percent":30,"message":"on the way"}') in [
        (verb, args[-1]) for verb, args, _ in engine.calls if verb == "progress"
    ]
    assert await job.aresult(5) == "told"


async def test_progress_that_cannot_be_stored_does_not_fail_the_work(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    job = await shop.app.tasks["tell"].aenqueue()
    engine = Flaky(shop.app.engine)
    engine.before["progress"] = [EngineUnavailable("away")]
    worker = make_worker(shop.app, engine)
    await engine.register(worker.info(), 60.0)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await worker.run(burst=True)
    assert "not stored" in caplog.text
    assert await job.aresult(5) == "told"


@pytest.mark.parametrize("task", ["tell", "tell_async"])
async def test_progress_that_hangs_does_not_fail_the_work(
    shop: Shop, task: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def hangs(*_: object) -> bool:
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(links, "PROGRESS_PATIENCE", 0.01)
    monkeypatch.setattr(shop.app.engine, "progress", hangs)
    job = await shop.app.tasks[task].aenqueue()
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await (await begin(shop)).run(burst=True)
    assert await job.aresult(5) == "told"


def test_progress_told_while_the_loop_is_blocked_or_gone_does_not_fail_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Sent(list[str]):
        async def send(self, _claim: object, text: str) -> None:
            self.append(text)

    monkeypatch.setattr(links, "PROGRESS_PATIENCE", 0.0)
    sent, loop = Sent(), asyncio.new_event_loop()
    line = links.Line(sent, Running(CLAIM, loop))  # type: ignore[arg-type]
    line.progress_sync(5, "")
    assert sent == []
    loop.run_until_complete(asyncio.sleep(0))
    assert len(sent) == 1, "told when the loop goes on"
    loop.close()
    line.progress_sync(6, "")
    assert len(sent) == 1


async def test_progress_of_a_job_that_passed_on_is_refused_and_logged(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    worker = await begin(shop)
    job = await shop.app.tasks["tell"].aenqueue()
    await worker._pump.round()
    (running,) = worker.executor.running.values()
    claim = running.claim._replace(token="0" * 32)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await worker.executor._lines.send(claim, "{}")
    assert f"progress of job {job.id} refused" in caplog.text
    while worker.executor.running:
        await asyncio.sleep(0.001)
    worker.executor._threads.close()


# -- errands ----------------------------------------------------------------------------------------
def asked_from_a_thread(line: links.Line) -> Future[Any]:
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            answer.set_result(line.do_sync(STEPS))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return answer


def held_up(loop: asyncio.AbstractEventLoop) -> tuple[links.Line, asyncio.Event]:
    """A line whose errands are begun and never done."""
    begun = asyncio.Event()

    class Lines(links.Lines):
        async def do(self, claim: Claim, errand: Errand) -> Any:
            begun.set()
            await asyncio.Event().wait()

    return Lines(None, None, "worker", None, frozenset()).line(Running(CLAIM, loop)), begun  # type: ignore[arg-type]


def test_an_errand_of_a_thread_whose_worker_is_gone_is_not_done() -> None:
    loop = asyncio.new_event_loop()
    line, _ = held_up(loop)
    loop.close()
    with pytest.raises(EngineUnavailable, match="gone"):
        line.do_sync(STEPS)


def test_an_errand_of_a_thread_whose_worker_ends_meanwhile_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "LOOK", 0.01)

    async def ask() -> Future[Any]:
        line, begun = held_up(asyncio.get_running_loop())
        answer = asked_from_a_thread(line)
        await begun.wait()
        return answer

    answer = asyncio.run(ask())  # which cancels what is left
    with pytest.raises(EngineUnavailable, match="ended"):
        answer.result(10)


def test_an_errand_of_a_thread_whose_loop_stands_still_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "LOOK", 0.01)
    loop = asyncio.new_event_loop()
    line, _ = held_up(loop)
    with pytest.raises(EngineUnavailable, match="ended"):
        asked_from_a_thread(line).result(10)
    loop.run_until_complete(asyncio.sleep(0))
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
