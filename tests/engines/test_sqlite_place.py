"""Where a database may lie."""

from __future__ import annotations

import pytest

from conformance.kit import new
from penstock.engines.sqlite import files
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import EngineError, InvalidOption


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """Make the system say that `tmp_path/data` is mounted with some kind of file system."""
    folder = tmp_path / "data"
    folder.mkdir()

    def mount(kind):
        mounts = tmp_path / "mounts"
        mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/export {folder} {kind} rw 0 0\n")
        monkeypatch.setattr(files, "MOUNTS", mounts)
        return str(folder / "jobs.db")

    return mount


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"])
async def test_a_network_file_system_is_refused_with_the_reason(mounted, kind):
    path = mounted(kind)
    with pytest.raises(EngineError, match=f"network file system .{kind}"):
        await SqliteEngine(path).open()
    with pytest.raises(EngineError, match="allow_network=True"):
        await SqliteEngine(path).migrate()


async def test_a_network_file_system_can_be_insisted_on(mounted):
    engine = SqliteEngine(mounted("nfs"), allow_network=True)
    await engine.open()
    assert len(await engine.enqueue([new()])) == 1
    await engine.close()


async def test_a_local_disk_inside_another_mount_is_fine(mounted):
    engine = SqliteEngine(mounted("xfs"))
    await engine.open()
    await engine.close()


async def test_where_the_system_does_not_say_the_place_is_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOUNTS", tmp_path / "nothing")
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    await engine.close()


def test_an_unknown_durability_is_refused():
    with pytest.raises(InvalidOption, match="synchronous must be one of"):
        SqliteEngine(":memory:", synchronous="SOMETIMES")


async def test_a_database_in_memory_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = SqliteEngine(":memory:")
    await engine.open()
    await engine.enqueue([new()])
    await engine.wait(["other"], 0)
    await engine.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a\0b.db", "\udc80\ud800.db", "a" * 250, "a/" * 4_000])
async def test_a_name_no_file_can_have_is_refused(tmp_path, name):
    with pytest.raises(InvalidOption, match="path of the database"):
        await SqliteEngine(f"{tmp_path}/{name}").open()
