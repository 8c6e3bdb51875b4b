"""Where an engine keeps its files, and whether they lie on a disk that SQLite can trust."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from penstock.model.errors import AccessRefused, EngineError, InvalidOption

MEMORY = ":memory:"
MOUNTS = Path("/proc/mounts")
_REMOTE = ("nfs", "cifs", "smb", "9p", "fuse", "afs", "ceph", "glusterfs", "lustre")


@dataclass(frozen=True, slots=True)
class Files:
    """The database and its companions; none of them for a database in memory."""

    database: str

    @classmethod
    def at(cls, path: str) -> Files:
        """InvalidOption for what no file system could hold."""
        try:
            return cls(path if path == MEMORY else os.path.realpath(path))
        except ValueError:
            raise InvalidOption(
                "the path of the database has a character that no file name may have; write sqlite:///jobs.db"
            ) from None

    @property
    def in_memory(self) -> bool:
        return self.database == MEMORY

    @property
    def lock(self) -> str:
        return f"{self.database}-lock"

    @property
    def turn(self) -> str:
        return f"{self.database}-turn"

    @property
    def beats(self) -> str:
        return MEMORY if self.in_memory else f"{self.database}-beats"

    @property
    def wake(self) -> str:
        return f"{self.database}-wake"

    @property
    def wal(self) -> str:
        return f"{self.database}-wal"


def check_place(files: Files, *, allow_network: bool) -> None:
    """Refuse what is not there or may not be written, and file systems whose locks SQLite cannot rely on."""
    _check_length(files)
    folder = Path(files.database).parent
    if not folder.is_dir():
        raise EngineError(
            f"cannot open {files.database}: the folder {folder} does not exist; create it first"
        )
    if Path(files.database).is_dir():
        raise EngineError(f"cannot open {files.database}: it is a folder; name a file in it")
    _check_rights(folder, files)
    kind = file_system(folder)
    if kind.startswith(_REMOTE) and not allow_network:
        raise EngineError(
            f"{files.database} lies on a network file system ({kind}), where file locks are not reliable and "
            "SQLite databases are known to break; move it to a local disk, use PostgreSQL, "
            "or pass allow_network=True at your own risk"
        )


def _check_length(files: Files) -> None:
    try:
        os.lstat(f"{files.beats}-lock")  # the longest of the names beside the database
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InvalidOption(
                "the path of the database is too long for this file system; choose a shorter name"
            ) from None


def _check_rights(folder: Path, files: Files) -> None:
    if not _may(folder, os.R_OK | os.W_OK | os.X_OK):
        raise AccessRefused(
            f"the folder {folder} may not be written here, and SQLite keeps files beside the database: mount "
            "it for writing, or give this user the right (chmod, chown)"
        )
    for file in (files.database, files.lock, files.turn, files.beats, f"{files.beats}-lock"):
        if Path(file).exists() and not _may(Path(file), os.R_OK | os.W_OK):
            raise AccessRefused(
                f"{file} may not be written here: give this user the right (chmod, chown), or run all "
                "processes that share the database as the same user"
            )


def _may(path: Path, rights: int) -> bool:
    return os.access(path, rights, effective_ids=os.access in os.supports_effective_ids)


def file_system(folder: Path) -> str:
    """The kind of the innermost mount that holds `folder`; empty where the system does not say."""
    if not MOUNTS.exists():
        return ""
    best, kind = "", ""
    for line in MOUNTS.read_text().splitlines():
        point, found = line.split()[1:3]
        point = point.replace("\\040", " ")
        if folder.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, found
    return kind
