"""A worker that was stopped past its lease wakes up in its transaction: nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import lent as lent_place
from conftest import make_place
from penstock import Penstock, State
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.lock import FileLock
from penstock.model.job import Held
from penstock.model.outcome import Outcome, Released
from penstock.tasks.loading import load_app
from penstock.tasks.urls import is_sqlite, sqlite_path
from transactions.shop import Shop, url_of

LEASE = 2.0
PATIENCE = 60.0

APP = """
import asyncio, os, pathlib, sys, time
from penstock import Penstock, SyncContext

app = Penstock(os.environ["SHOP_URL"], schema=os.environ["SHOP_SCHEMA"] or None)
INSERT = "insert into charges values (%s)" if "postgres" in app.url else "insert into charges values (?)"
ASLEEP = os.environ.get("ASLEEP")  # where to be stopped; unset: the other worker
FOLDER = pathlib.Path(os.environ["FOLDER"])

def pause(where: str) -> None:
    if ASLEEP == where:
        (FOLDER / "reached").touch()
        while not (FOLDER / "go").exists():
            time.sleep(0.01)

@app.task
def pay(ctx: SyncContext, n: int) -> None:
    pause("before")
    try:
        with ctx.transaction() as tx:
            if ctx.once("charge"):
                tx.execute(INSERT, (n,))
            pause("inside")
    except BaseException as error:
        (FOLDER / "said").write_text(type(error).__name__)
        raise

async def main() -> None:
    async with app:
        await app.worker(lease=2.0).run(burst=True)

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.fixture
async def shop(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Shop]:
    (tmp_path / "zombie_shop.py").write_text(APP)
    with lent_place(make_place(kind, tmp_path, request)) as place:
        monkeypatch.setenv("SHOP_URL", url_of(place))
        monkeypatch.setenv("SHOP_SCHEMA", place.schema)
        monkeypatch.setenv("FOLDER", str(tmp_path))
        app: Penstock = load_app(f"{tmp_path}/zombie_shop.py:app")
        await app.migrate()
        shop = Shop.__new__(Shop)
        shop.app = app
        async with app:
            await shop.make_table()
            yield shop
            await shop.drop_table()


def until(path: Path, zombie: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert zombie.poll() is None or path.exists()
        assert time.monotonic() < deadline, f"no {path.name}"
        time.sleep(0.01)


def plain(_: Held) -> Outcome:
    return Released("its worker was lost", rescued=True)


@contextmanager
def while_it_writes_nothing(shop: Shop) -> Iterator[None]:
    """Whoever is stopped while it holds the lock of a file keeps everybody waiting: another story."""
    if not is_sqlite(shop.app.url):
        yield
        return
    files = Files.at(sqlite_path(shop.app.url))
    with FileLock(files.turn), FileLock(files.lock), FileLock(f"{files.beats}-lock"):
        yield


def stop(zombie: subprocess.Popen[bytes]) -> None:
    """Returns when it stands still."""
    zombie.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, zombie.pid, os.WSTOPPED)


@pytest.mark.parametrize(
    ("kind", "where"), [("sqlite", "before"), ("postgres", "before"), ("postgres", "inside")]
)
async def test_a_worker_stopped_past_its_lease_commits_nothing(
    kind: str, where: str, shop: Shop, tmp_path: Path
) -> None:
    """On SQLite nobody can be rescued from inside a block, which keeps all writers out: it is short."""
    job = await shop.app.tasks["pay"].aenqueue(n=7)
    zombie = subprocess.Popen(
        [sys.executable, str(tmp_path / "zombie_shop.py")],
        env={**os.environ, "ASLEEP": where},
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(tmp_path / "reached", zombie)
        with while_it_writes_nothing(shop):
            stop(zombie)
        deadline = time.monotonic() + PATIENCE
        while not await shop.app.engine.rescue(10, plain):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        await shop.run()  # its record of the effect is in nobody's way: the server has ended its session
        assert (await shop.look(job.id)).state is State.COMPLETED
        assert await shop.charges() == [7]
        (tmp_path / "go").touch()
        zombie.send_signal(signal.SIGCONT)
        until(tmp_path / "said", zombie)
        zombie.wait(PATIENCE)
    finally:
        zombie.kill()
        zombie.wait()
    said = (tmp_path / "said").read_text()
    assert (
        said == "LeaseLost"
        if where == "before"
        else said in ("OperationalError", "IdleInTransactionSessionTimeout")
    )
    assert await shop.charges() == [7]
    assert (await shop.look(job.id)).rescues == 1
