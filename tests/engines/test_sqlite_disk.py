"""Disks that fill up, fail, or lose the file: what is acknowledged is there, and nothing else is promised."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from conformance.kit import counts, new, news
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import EngineError, EngineUnavailable
from penstock.model.states import State


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jobs.db"


@pytest.fixture
async def engine(path):
    engine = SqliteEngine(str(path))
    await engine.open()
    yield engine
    await engine.close()


def limit_pages(engine, pages):
    engine._parts.store._connection.execute(f"pragma max_page_count = {pages}")


async def enqueue_until_refused(engine):
    acknowledged = 0
    while True:
        try:
            acknowledged += len(await engine.enqueue(news(20)))
        except EngineUnavailable as error:
            return acknowledged, str(error)


async def test_a_full_disk_refuses_and_work_goes_on_when_there_is_space(engine, path):
    limit_pages(engine, 80)
    acknowledged, refusal = await enqueue_until_refused(engine)
    assert "disk is full" in refusal
    assert await counts(engine) == {State.WAITING: acknowledged}
    limit_pages(engine, 1_000_000)
    await engine.enqueue(news(20))
    assert await counts(engine) == {State.WAITING: acknowledged + 20}
    with closing(sqlite3.connect(path)) as stranger:
        assert stranger.execute("pragma integrity_check").fetchone() == ("ok",)


async def test_an_io_error_is_typed_and_the_connection_is_opened_anew(engine):
    before = engine._parts.store._connection

    def broken(_tx):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
        raise error

    with pytest.raises(EngineUnavailable, match="disk I/O error"):
        await engine._write(broken)
    await engine.enqueue([new()])
    assert engine._parts.store._connection is not before
    assert await counts(engine) == {State.WAITING: 1}


WRITES = """
import asyncio, sys
from conformance.kit import new
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import EngineUnavailable

async def main():
    engine = SqliteEngine(sys.argv[1])
    await engine.open()
    for _ in range(30):
        try:
            [job] = await engine.enqueue([new()])
            print("acknowledged", job.id)
        except EngineUnavailable as error:
            print("refused", type(error).__name__)
    await engine.close()

asyncio.run(main())
"""


async def test_a_commit_whose_sync_fails_is_never_acknowledged(path):
    await SqliteEngine(str(path)).migrate()
    inject = "inject=fdatasync:error=EIO:when=12+4"  # the first ones belong to opening
    command = ["strace", "-f", "-qq", "-e", "trace=fdatasync", "-e", inject, "-o", "/dev/null"]
    done = subprocess.run(
        [*command, sys.executable, "-c", WRITES, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    acknowledged = {name for word, name in lines if word == "acknowledged"}
    refused = {name for word, name in lines if word == "refused"}
    assert acknowledged
    assert refused == {"OutcomeUnknown"}
    with closing(sqlite3.connect(path)) as stranger:
        there = {row[0] for row in stranger.execute("select id from penstock_jobs")}
        assert stranger.execute("pragma integrity_check").fetchone() == ("ok",)
    assert acknowledged <= there


async def test_nothing_is_written_to_a_file_that_was_replaced(engine, path):
    await engine.enqueue([new()])
    path.rename(path.with_suffix(".old"))
    with pytest.raises(EngineUnavailable, match="deleted or replaced"):
        await engine.enqueue([new()])
    path.touch()
    with pytest.raises(EngineUnavailable, match="deleted or replaced"):
        await engine.enqueue([new()])


async def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(EngineError, match="does not exist"):
        await SqliteEngine(str(tmp_path / "nowhere" / "jobs.db")).open()
