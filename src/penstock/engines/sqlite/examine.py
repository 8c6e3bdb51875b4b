"""What is safe and what is not about an SQLite file, told for people who can change it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from penstock.engine import Finding, Level
from penstock.engines.sqlite import schema
from penstock.engines.sqlite.connection import connect_reader
from penstock.engines.sqlite.failures import typed_errors
from penstock.engines.sqlite.files import Files, check_place, file_system
from penstock.engines.sqlite.forks import Desk
from penstock.model.errors import EngineError

MENDED = (3, 51, 3)  # the first release without the bug in the write-ahead log
LOW_DISK = 256 * 1_048_576
LONG_LOG = 64 * 1_048_576

_SYNCHRONOUS = {
    "OFF": (Level.WARNING, "a loss of power can lose jobs and break the file (synchronous=OFF); use FULL"),
    "NORMAL": (
        Level.WARNING,
        "a loss of power loses the last jobs acknowledged (synchronous=NORMAL); use FULL",
    ),
    "FULL": (Level.OK, "every acknowledged job survives a loss of power (synchronous=FULL)"),
    "EXTRA": (Level.OK, "every acknowledged job survives a loss of power (synchronous=EXTRA)"),
}


def examine(files: Files, synchronous: str) -> list[Finding]:
    """Look at the library, the file and the disk. Blocks."""
    if files.in_memory:
        return [
            _version(),
            Finding(
                "memory",
                Level.WARNING,
                "jobs live in memory and end with the process; to keep them name a file",
            ),
        ]
    found = look_at(files, synchronous)
    usable = all(finding.level is not Level.UNUSABLE for finding in found)
    return [*found, *(_schema(files) if usable else ())]


def look_at(files: Files, synchronous: str) -> list[Finding]:
    """What there is to say of a file, whatever it holds. Blocks."""
    return [_version(), Finding("durability", *_SYNCHRONOUS[synchronous]), _place(files), *_disk(files)]


def _version() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= MENDED:
        return Finding("version", Level.OK, f"SQLite {version}")
    return Finding(
        "version",
        Level.WARNING,
        f"SQLite {version} can break a file when a checkpoint meets a write; Penstock sees to it that none "
        "of its own does, but other programs must not write to the file; use SQLite 3.51.3 or later",
    )


def _place(files: Files) -> Finding:
    try:
        check_place(files, allow_network=False)
    except EngineError as error:
        return Finding("place", Level.UNUSABLE, str(error))
    kind = file_system(Path(files.database).parent)
    return Finding("place", Level.OK, f"{files.database} is on a local disk{f' ({kind})' if kind else ''}")


def _schema(files: Files) -> Iterator[Finding]:
    if not Path(files.database).exists():
        yield Finding("schema", Level.OK, "there is no file yet; the first use makes it")
        return
    try:
        with typed_errors(files.database), Desk(files), closing(connect_reader(files)) as connection:
            schema.check(connection, files.database)
        yield Finding("schema", Level.OK, "the schema is up to date")
    except EngineError as error:
        yield Finding("schema", Level.UNUSABLE, str(error))


def _disk(files: Files) -> Iterator[Finding]:
    folder = Path(files.database).parent
    if folder.is_dir():
        free = shutil.disk_usage(folder).free
        told = f"{free // 1_048_576:,} MB are free on the disk"
        if free > LOW_DISK:
            yield Finding("disk", Level.OK, told)
        else:
            yield Finding("disk", Level.WARNING, f"{told}, soon new jobs are refused; make room")
    wal = Path(files.wal)
    if wal.exists() and (size := wal.stat().st_size) > LONG_LOG:
        yield Finding(
            "log",
            Level.WARNING,
            f"the write-ahead log has grown to {size // 1_048_576:,} MB: some program keeps a read open; "
            "end that program, or its transaction",
        )
