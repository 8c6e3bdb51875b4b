"""unique=: for how long a key keeps others out, as it is declared and as it holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock import Debounce, InvalidOption, Penstock, State, Throttle
from penstock.model.job import RECORD, Window
from penstock.testing import sandbox


def make(**options: Any) -> Penstock:
    app = Penstock("sqlite://:memory:")

    @app.task(key="user:{user}", **options)
    async def sync(user: int, version: int = 0) -> int:
        return version

    @app.task
    async def free() -> None: ...

    return app


@pytest.mark.parametrize(
    ("unique", "window"),
    [
        ("record", RECORD),
        ("unfinished", Window("unfinished")),
        ("started", Window("started")),
        (Throttle(60), Window("period", 60.0)),
        (Throttle(timedelta(minutes=2)), Window("period", 120.0)),
        (Debounce(1.5), Window("debounce", 1.5)),
    ],
)
def test_a_window_travels_with_every_job_of_the_task(unique: Any, window: Window) -> None:
    assert make(unique=unique).tasks["sync"].call(user=1).job.window == window
    assert make().tasks["sync"].using(unique=unique).call(user=1).job.window == window


def test_without_a_word_a_key_is_held_while_the_record_lives() -> None:
    assert make().tasks["sync"].call(user=1).job.window == RECORD


def test_a_call_can_ask_for_another_window_than_its_task() -> None:
    task = make(unique="started").tasks["sync"]
    assert task.using(unique="record").call(user=1).job.window == RECORD
    assert task.using(delay=5).call(user=1).job.window == Window("started")


@pytest.mark.parametrize(
    ("unique", "told"),
    [
        ("finished", "'record', 'unfinished', 'started', Throttle"),
        (60, "Throttle"),
        (None, "Throttle"),
        (Throttle(0), "more than 0"),
        (Debounce(-1), "Debounce of task 'sync'"),
        (Throttle("60"), "Throttle of task 'sync'"),  # type: ignore[arg-type]
        (Debounce(float("inf")), "Debounce of task 'sync'"),
    ],
)
def test_what_cannot_be_is_refused_at_declaration(unique: Any, told: str) -> None:
    with pytest.raises(InvalidOption, match=told):
        make(unique=unique)


def test_a_window_without_a_key_is_refused_with_what_to_do() -> None:
    task = make().tasks["free"].using(unique=Debounce(5))
    with pytest.raises(InvalidOption, match=r"needs a key.*using\(key="):
        task.call()
    assert task.using(key="k").call().job.unique


def test_the_catalogue_tells_the_window() -> None:
    app = make(unique=Throttle(60))
    rows = {row["name"]: row["unique"] for row in app.registry.catalogue()}
    assert rows == {"sync": "period 60 s", "free": None}


async def test_debounced_calls_run_once_with_the_last_arguments() -> None:
    app = make(unique=Debounce(30))
    sync = app.tasks["sync"]
    async with sandbox(app) as box:
        jobs = []
        for version in range(3):
            jobs.append(await sync.aenqueue(user=1, version=version))
            box.advance(20)
            assert await box.adrain() == 0
        assert [job.duplicate for job in jobs] == [False, True, True]
        assert {job.id for job in jobs} == {jobs[0].id}
        box.advance(11)
        assert await box.adrain() == 1
        assert await jobs[0].aresult() == 2


async def test_throttled_calls_make_one_job_in_a_period() -> None:
    app = make(unique=Throttle(60))
    sync = app.tasks["sync"]
    async with sandbox(app) as box:
        first = await sync.aenqueue(user=1)
        await box.adrain()
        box.advance(59)
        assert (await sync.aenqueue(user=1)).duplicate
        box.advance(2)
        second = await sync.aenqueue(user=1)
        assert (second.duplicate, second.state) == (False, State.WAITING)
        assert second.id != first.id


async def test_unfinished_lets_the_next_in_when_the_first_has_ended() -> None:
    app = make(unique="unfinished")
    sync = app.tasks["sync"]
    async with sandbox(app) as box:
        first = await sync.aenqueue(user=1)
        assert (await sync.aenqueue(user=1)).id == first.id
        await box.adrain()
        assert not (await sync.aenqueue(user=1)).duplicate
