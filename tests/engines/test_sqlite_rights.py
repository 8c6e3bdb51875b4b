"""A file or folder that may not be written is told as such, with what to do; a disk that is full is not."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import no_leaks
from penstock.engine import Level
from penstock.engines.sqlite import forks
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import AccessRefused, EngineError, EngineUnavailable

NOBODY = 65_534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of somebody who is not root: root may write everywhere."""
    place = Path(tempfile.mkdtemp(prefix="penstock-rights-"))
    me = os.geteuid()
    if me == 0:
        os.chown(place, NOBODY, -1)
        os.seteuid(NOBODY)
    yield place
    os.seteuid(me)
    place.chmod(0o700)
    shutil.rmtree(place)


async def made(path: Path) -> SqliteEngine:
    engine = SqliteEngine(str(path))
    await engine.open()
    await engine.close()
    return engine


async def refused(engine: SqliteEngine, *told: str) -> None:
    with no_leaks():
        for verb in (engine.open, engine.migrate):
            with pytest.raises(AccessRefused) as caught:
                await verb()
            assert all(word in str(caught.value) for word in told)
    assert [f.level for f in await engine.examine() if f.name == "place"] == [Level.UNUSABLE]


async def test_a_folder_that_may_not_be_written_is_named(folder):
    folder.chmod(0o500)
    await refused(SqliteEngine(str(folder / "jobs.db")), f"folder {folder}", "chmod")


async def test_a_folder_that_was_writable_when_the_file_was_made_is_named_too(folder):
    engine = await made(folder / "jobs.db")
    folder.chmod(0o500)
    await refused(engine, f"folder {folder}")


@pytest.mark.parametrize("suffix", ["", "-lock", "-turn", "-beats"])
async def test_a_file_that_may_not_be_written_is_named(folder, suffix):
    path = folder / "jobs.db"
    engine = await made(path)
    file = Path(f"{path}{suffix}")
    file.chmod(0o400)
    await refused(engine, str(file), "chmod")


async def test_a_folder_in_the_place_of_the_file_is_told(folder):
    with pytest.raises(EngineError, match="is a folder"):
        await SqliteEngine(str(folder)).open()


async def test_a_file_that_is_no_database_is_told_by_doctor_too(folder):
    path = folder / "jobs.db"
    path.write_text("These are no pages of SQLite, and long enough to be read as such. " * 20)
    with pytest.raises(EngineError, match="not a database"):
        await SqliteEngine(str(path)).open()
    found = {f.name: f for f in await SqliteEngine(str(path)).examine()}
    assert found["schema"].level is Level.UNUSABLE
    assert "not a database" in found["schema"].text
    with pytest.raises(EngineError, match="not a database"):
        await SqliteEngine(str(path)).migrate()
    assert [each.name for each in folder.iterdir()] == ["jobs.db"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
async def test_trouble_that_may_pass_is_one_to_try_again(folder, monkeypatch, number):
    def fails(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(forks.os, "open", fails)
    engine = SqliteEngine(str(folder / "jobs.db"))
    for verb in (engine.open, engine.migrate):
        with pytest.raises(EngineUnavailable, match=os.strerror(number)):
            await verb()


async def test_a_folder_that_does_not_exist_keeps_workers_from_starting(folder):
    found = {f.name: f for f in await SqliteEngine(str(folder / "none" / "jobs.db")).examine()}
    assert found["place"].level is Level.UNUSABLE
    assert "schema" not in found
