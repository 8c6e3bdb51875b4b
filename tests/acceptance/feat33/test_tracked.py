"""What concerns storage, where `background_jobs` is in SQLite: in one process, without HTTP."""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import Context, Penstock, Retry, State
from servers import redis_server


@dataclass(frozen=True)
class Place:
    """An engine, and where its `background_jobs` are."""

    url: str
    file: Path
    schema: str

    def app(self) -> Penstock:
        database = f"sqlite:///{self.file}"
        ledger = None if self.url == database else database
        made = Penstock(self.url, ledger=ledger, schema=self.schema)
        made.queue("ocr", concurrency=2)
        return made

    def rows(self, columns: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.file)
        try:
            return connection.execute(f"select {columns} from penstock_background_jobs").fetchall()
        finally:
            connection.close()


@pytest.fixture(params=["sqlite", "redis with a ledger"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    file = tmp_path / "jobs.db"
    url = f"sqlite:///{file}" if request.param == "sqlite" else redis_server("redis").url()
    made = Place(url, file, f"t_{secrets.token_hex(4)}")
    await made.app().migrate()
    return made


async def until_all_ended(app: Penstock, place: Place, workers: int = 1) -> None:
    """Work until nothing is pending or processing."""
    working = [asyncio.create_task(app.worker(slots=8).run()) for _ in range(workers)]
    async with asyncio.timeout(60):
        while any(status in ("pending", "processing") for (status,) in place.rows("status")):
            await asyncio.sleep(0.05)
    for worker in working:
        worker.cancel()
    await asyncio.wait(working)


async def test_feat_33_06_a_worker_retries_after_a_transient_failure(place: Place) -> None:
    app = place.app()
    seen: list[tuple[Any, ...]] = []

    @app.task(retry=Retry(3, 0.2))
    async def flaky(ctx: Context) -> str:
        seen.extend(place.rows("status, attempts_made, error_message"))
        if ctx.attempt == 1:
            raise ConnectionResetError("the service was restarted")
        return "done"

    async with app:
        job = await flaky.aenqueue()
        assert place.rows("status, attempts_made, started_at") == [("pending", 0, None)]
        await until_all_ended(app, place)
    assert seen == [
        ("processing", 1, None),
        ("processing", 2, "ConnectionResetError: the service was restarted"),
    ]
    ((job_id, *told),) = place.rows("id, status, attempts_made, result_json, error_message")
    assert str(job_id) == job.id
    assert told == ["completed", 2, '"done"', None]


async def test_feat_33_07_a_job_that_fails_every_time_is_failed_with_a_safe_summary(place: Place) -> None:
    app = place.app()

    @app.task(retry=Retry(3, 0.01))
    async def broken() -> None:
        raise ConnectionError("no way through")

    async with app:
        await broken.aenqueue()
        await until_all_ended(app, place)
    ((status, made, most, error, result, finished),) = place.rows(
        "status, attempts_made, max_attempts, error_message, result_json, finished_at"
    )
    assert (status, made, most, result) == ("failed", 3, 3, None)
    assert error == "ConnectionError: no way through"
    assert "Traceback" not in error
    assert finished is not None


async def test_feat_33_08_the_same_key_is_the_same_job(place: Place) -> None:
    app = place.app()
    effects: list[int] = []

    @app.task(key="invoice:{invoice}")
    async def charge(invoice: int) -> None:
        effects.append(invoice)

    async with app:
        first = await charge.aenqueue(invoice=7)
        again = await charge.aenqueue(invoice=7)
        await until_all_ended(app, place)
        after = await charge.aenqueue(invoice=7)
        await until_all_ended(app, place)
    assert {first.id, again.id, after.id} == {first.id}
    assert (first.duplicate, again.duplicate, after.duplicate) == (False, True, True)
    assert after.state is State.COMPLETED
    assert effects == [7]
    assert place.rows("status, idempotency_key") == [("completed", "invoice:7")]


async def test_feat_33_13_two_workers_share_a_queue_and_no_effect_is_made_twice(place: Place) -> None:
    app = place.app()
    effects: Counter[int] = Counter()
    workers: set[str] = set()

    @app.task
    async def once(ctx: Context, n: int) -> None:
        effects[n] += 1
        workers.add(ctx.job.worker or "")
        await asyncio.sleep(0.01)

    async with app:
        await app.aenqueue_many([once.call(n=n) for n in range(80)])
        await until_all_ended(app, place, workers=2)
    assert effects == Counter(range(80))
    assert len(workers) == 2
    assert Counter(place.rows("status, attempts_made")) == {("completed", 1): 80}


async def test_feat_33_14_a_queue_runs_no_more_at_once_than_it_may(place: Place) -> None:
    app = place.app()
    running, most = 0, 0

    @app.task(queue="ocr")
    async def read_page() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1

    async with app:
        await app.aenqueue_many([read_page.call() for _ in range(12)])
        await until_all_ended(app, place)
    assert most == 2
    assert Counter(place.rows("queue_name, status")) == {("ocr", "completed"): 12}
