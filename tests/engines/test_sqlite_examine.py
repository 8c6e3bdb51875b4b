"""What doctor says of an SQLite file: what is unsafe is named, with what it means and what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.engine import Finding, Level
from penstock.engines.sqlite import examine, files
from penstock.engines.sqlite.engine import SqliteEngine

MB = 1_048_576


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture(autouse=True)
def a_machine_that_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    say_version(monkeypatch, (3, 51, 3))
    say_free(monkeypatch, 10_000 * MB)


def say_version(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int]) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    monkeypatch.setattr(sqlite3, "sqlite_version", ".".join(map(str, version)))


def say_free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))


async def findings(path: Path | str, **options: str) -> dict[str, Finding]:
    return {finding.name: finding for finding in await SqliteEngine(str(path), **options).examine()}


async def migrated(path: Path) -> None:
    engine = SqliteEngine(str(path))
    await engine.migrate()
    await engine.close()


async def test_a_file_on_a_disk_with_room_is_well(path):
    await migrated(path)
    found = await findings(path)
    assert {name: finding.level for name, finding in found.items()} == dict.fromkeys(
        ("version", "durability", "place", "disk", "schema"), Level.OK
    )
    assert found["version"].text == "SQLite 3.51.3"
    assert found["disk"].text.startswith("10,000 MB are free")
    assert found["schema"].text == "the schema is up to date"


async def test_a_release_that_can_break_a_file_is_warned_of(path, monkeypatch):
    say_version(monkeypatch, (3, 51, 2))
    version = (await findings(path))["version"]
    assert version.level is Level.WARNING
    assert "SQLite 3.51.2 can break a file" in version.text
    assert "use SQLite 3.51.3 or later" in version.text


@pytest.mark.parametrize(
    ("synchronous", "level", "told"),
    [
        ("OFF", Level.WARNING, "can lose jobs and break the file (synchronous=OFF); use FULL"),
        ("NORMAL", Level.WARNING, "loses the last jobs acknowledged (synchronous=NORMAL); use FULL"),
        ("FULL", Level.OK, "survives a loss of power (synchronous=FULL)"),
        ("EXTRA", Level.OK, "survives a loss of power (synchronous=EXTRA)"),
    ],
)
async def test_what_a_loss_of_power_would_lose_is_told(path, synchronous, level, told):
    durability = (await findings(path, synchronous=synchronous))["durability"]
    assert durability.level is level
    assert told in durability.text


@pytest.mark.parametrize(("free", "level"), [(256 * MB + 1, Level.OK), (256 * MB, Level.WARNING)])
async def test_a_disk_that_is_nearly_full_is_warned_of(path, monkeypatch, free, level):
    say_free(monkeypatch, free)
    disk = (await findings(path))["disk"]
    assert disk.level is level
    assert disk.text.startswith("256 MB are free")
    assert ("make room" in disk.text) == (level is Level.WARNING)


@pytest.mark.parametrize(("size", "told"), [(64 * MB, False), (65 * MB, True)])
def test_a_log_that_some_reader_keeps_from_being_emptied_is_warned_of(path, size, told):
    path.with_name("jobs.db-wal").touch()
    os.truncate(f"{path}-wal", size)
    logs = [f for f in examine.look_at(files.Files.at(str(path)), "FULL") if f.name == "log"]
    assert [log.level for log in logs] == [Level.WARNING] * told
    assert all("has grown to 65 MB" in log.text and "end that program" in log.text for log in logs)


async def test_a_network_file_system_keeps_workers_from_starting(path, monkeypatch):
    mounts = path.with_name("mounts")
    mounts.write_text(f"server:/export {path.parent} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "MOUNTS", mounts)
    found = await findings(path)
    assert found["place"].level is Level.UNUSABLE
    assert "network file system" in found["place"].text
    assert "schema" not in found, "such a file is not opened"


async def test_jobs_in_memory_are_told_to_end_with_the_process():
    found = await findings(":memory:")
    assert {name: finding.level for name, finding in found.items()} == {
        "version": Level.OK, "memory": Level.WARNING
    }  # fmt: skip
    assert "end with the process" in found["memory"].text


async def test_doctor_may_look_before_there_is_a_file_and_makes_none(path):
    schema = (await findings(path))["schema"]
    assert schema.level is Level.OK
    assert "there is no file yet" in schema.text
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "update penstock_migrations set name = '9999_later' where number = 1",
            "migrated by a newer release (9999",
        ),
        ("delete from penstock_migrations where number = 1", "run `penstock migrate`"),
        ("drop table penstock_migrations", "has no Penstock tables; run `penstock migrate`"),
    ],
)
async def test_a_schema_that_does_not_fit_keeps_workers_from_starting(path, change, told):
    await migrated(path)
    with closing(sqlite3.connect(path)) as stranger, stranger:
        stranger.execute(change)
    schema = (await findings(path))["schema"]
    assert schema.level is Level.UNUSABLE
    assert told in schema.text
