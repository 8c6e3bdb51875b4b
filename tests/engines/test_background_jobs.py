"""background_jobs: in SQL, every job is one row with the documents' columns, words and indexes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest

from conformance.kit import QUEUE, TASK, Place, claim, failed, put, register, retried, settle, take
from conftest import make_place
from penstock.engine import Engine, Retention
from penstock.model.clock import FakeClock
from penstock.model.outcome import Cancelled, Completed
from penstock.model.record import Record

COLUMNS = [
    "id",
    "queue_name",
    "job_type",
    "bull_job_id",
    "status",
    "payload_json",
    "result_json",
    "error_message",
    "attempts_made",
    "max_attempts",
    "idempotency_key",
    "created_at",
    "started_at",
    "finished_at",
    "updated_at",
]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return make_place(request.param, tmp_path, request)


def ask(place: Place, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """What somebody without Penstock reads: the names of the columns, and the rows."""
    if place.kind == "postgres":
        with psycopg.connect(place.address) as connection:
            found = connection.execute(
                sql.replace("BACKGROUND_JOBS", f"{place.schema}.background_jobs").encode()
            )
            return [column.name for column in found.description or ()], found.fetchall()
    with sqlite3.connect(place.address) as database:
        cursor = database.execute(sql.replace("BACKGROUND_JOBS", "penstock_background_jobs"))
        rows = [tuple(row) for row in cursor.fetchall()]
    database.close()
    return [column[0] for column in cursor.description], rows


async def life(engine: Engine) -> dict[str, tuple[str, int, str | None]]:
    """A job in every situation, by id: its status, attempts and error."""
    await register(engine)
    done = await take(engine)
    await settle(engine, done, Completed('"ok"'))
    lost = await take(engine)
    await settle(engine, lost, failed(message="bad"))
    unwanted = await take(engine)
    await settle(engine, unwanted, Cancelled("no"))
    again = await take(engine)
    await settle(engine, again, retried(60, "first"))
    running = await take(engine)
    waiting = await put(engine)
    return {
        done.id: ("completed", 1, None),
        lost.id: ("failed", 1, "Boom: bad"),
        unwanted.id: ("cancelled", 1, "no"),
        again.id: ("processing", 1, "Boom: first"),
        running.id: ("processing", 1, None),
        waiting: ("pending", 0, None),
    }


DETAILED = 'duplicate key value violates "once"\nDETAIL:  Key (email)=(ana@example.com) already exists.'
TOLD = [
    (DETAILED, 'Boom: duplicate key value violates "once"'),
    ("\n\t first\r\nsecond", "Boom: first"),
    ("ä" * 2_000, "Boom: " + "ä" * 494),
    ("", "Boom: "),
]


@pytest.mark.parametrize(("message", "told"), TOLD, ids=["detail", "lines", "long", "empty"])
async def test_an_error_is_told_in_one_bounded_line_without_the_values_behind_it(
    place: Place, clock: FakeClock, message: str, told: str
) -> None:
    engine = place.engine(clock)
    await engine.migrate()
    await engine.open()
    await register(engine)
    again = await take(engine)
    await settle(engine, again, retried(60, message))
    lost = await take(engine)
    await settle(engine, lost, failed(message=message))
    unwanted = await take(engine)
    await settle(engine, unwanted, Cancelled(f" {told}\nand more"))
    for _ in range(2):
        found = dict(ask(place, "select id, error_message from BACKGROUND_JOBS")[1])
        assert {str(job): line for job, line in found.items()} == dict.fromkeys(
            (again.id, lost.id, unwanted.id), told
        )
        for ended in (lost, unwanted):
            record = await engine.history(ended.id)
            assert record is not None
            assert record.error_message == told
        await engine.prune(Retention(QUEUE, keep_completed=0, keep_failed=0), 10)
    job = await engine.get(again.id)
    assert job is not None
    assert (job.errors[-1]["message"], Record.of(job).error_message) == (message, told)
    await engine.close()


@pytest.mark.parametrize("keep", [None, 0], ids=["kept", "pruned"])
async def test_every_job_is_one_row_in_the_documents_words(
    engine: Engine, place: Place, keep: int | None
) -> None:
    wanted = await life(engine)
    await engine.prune(Retention(QUEUE, keep_completed=keep, keep_failed=keep), 100)
    names, rows = ask(place, "select * from BACKGROUND_JOBS")
    assert names == COLUMNS
    told = {str(row[0]): dict(zip(names, row, strict=True)) for row in rows}
    assert {i: (r["status"], r["attempts_made"], r["error_message"]) for i, r in told.items()} == wanted
    for job_id, row in told.items():
        assert (row["queue_name"], row["job_type"], row["bull_job_id"]) == (QUEUE, TASK, job_id)
        assert row["payload_json"] == "{}"
        assert row["idempotency_key"] == job_id
        assert row["result_json"] == ('"ok"' if row["status"] == "completed" else None)
        assert (row["started_at"] is None) == (row["status"] == "pending")
        assert (row["finished_at"] is None) == (row["status"] in ("pending", "processing"))
        assert row["updated_at"] >= row["created_at"]


async def test_started_at_is_the_first_start(engine: Engine, place: Place, clock: FakeClock) -> None:
    await register(engine, ttl=600)
    held = await take(engine)
    _, [(first,)] = ask(place, "select started_at from BACKGROUND_JOBS")
    await settle(engine, held, retried())
    clock.advance(5)
    [again] = await claim(engine)
    assert again.attempt == 2
    _, [(still, updated)] = ask(place, "select started_at, updated_at from BACKGROUND_JOBS")
    assert still == first
    assert updated > first


async def test_the_times_of_sqlite_are_text_in_utc(engine: Engine, place: Place, clock: FakeClock) -> None:
    await put(engine)
    _, [(created,)] = ask(place, "select created_at from BACKGROUND_JOBS")
    assert str(created).startswith(clock.now().strftime("%Y-%m-%d %H:%M:%S"))


@pytest.mark.parametrize(
    "columns", [("queue", "state"), ("state",), ("created_at",), ("finished_at",), ("key",)], ids="-".join
)
async def test_the_history_has_the_documents_indexes(
    engine: Engine, place: Place, columns: tuple[str, ...]
) -> None:
    if place.kind == "postgres":
        text = "select indexdef from pg_indexes where tablename = 'history' and schemaname = '{}'"
        _, rows = ask(place, text.format(place.schema))
    else:
        _, rows = ask(
            place, "select sql from sqlite_master where tbl_name = 'penstock_history' and sql is not null"
        )
    assert any(f"({', '.join(columns)}" in sql for (sql,) in rows)
