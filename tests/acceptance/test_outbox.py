"""`penstock relay` as a process, and inside `penstock dev`."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.fleet import START_SECONDS, Site, eventually, new_url
from penstock import Penstock, crash_points

APP = """
from penstock import Penstock

app = Penstock()

@app.task
async def add(a: int, b: int = 1) -> int:
    return a + b
"""


class Post:
    """A site with an app whose outbox is a file, and its processes."""

    def __init__(self, folder: Path, engine: str) -> None:
        (folder / "shop.py").write_text(APP)
        self.file = folder / "user.db"
        self.site = Site(folder, new_url(engine, folder))
        self.site.env |= {"PENSTOCK_OUTBOX": f"sqlite:///{self.file}", "PENSTOCK_APP": "shop:app"}
        self.log = folder / "relay.log"
        self._started: list[subprocess.Popen[bytes]] = []
        done = self.site.run("outbox", "apply")
        assert done.returncode == 0, done.stderr

    def start(self, *words: str, crash_at: str = "") -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *words],
                cwd=self.site.folder,
                env={**self.site.env, crash_points.VARIABLE: crash_at},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def write(self, count: int) -> list[Any]:
        app = Penstock(self.site.url, outbox=f"sqlite:///{self.file}")

        @app.task
        async def add(a: int, b: int = 1) -> int:
            return a + b

        with contextlib.closing(sqlite3.connect(self.file)) as connection:
            jobs = app.enqueue_many([add.call(n) for n in range(count)], connection=connection)
            connection.commit()
        return jobs

    def waiting(self) -> int:
        with contextlib.closing(sqlite3.connect(self.file)) as connection:
            sql = "select count(*) from penstock_outbox where dispatched_at is null"
            return int(connection.execute(sql).fetchone()[0])

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        self.site.close()


@pytest.fixture(params=["sqlite", "redis"])
def post(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Post]:
    with contextlib.closing(Post(tmp_path, request.param)) as made:
        yield made


def test_a_relay_empties_the_outbox_and_ends_in_peace_when_told(post: Post) -> None:
    post.write(5)
    relay = post.start("relay")
    eventually(lambda: post.waiting() == 0, START_SECONDS, post.log.read_text())
    post.write(5)
    eventually(lambda: post.waiting() == 0, 5.0, post.log.read_text())
    relay.send_signal(signal.SIGTERM)
    assert relay.wait(5) == 0
    assert post.log.read_text().endswith("Dispatched 10 rows.\n")


def test_what_a_killed_relay_had_is_dispatched_by_another(post: Post) -> None:
    post.write(5)
    dead = post.start("relay", crash_at="outbox-taken:1")
    assert dead.wait(START_SECONDS) == -signal.SIGKILL
    assert post.waiting() == 5
    post.start("relay")
    eventually(lambda: post.waiting() == 0, START_SECONDS, post.log.read_text())


def test_dev_has_a_relay(post: Post) -> None:
    post.site.env["PENSTOCK_ACCEPT_UNSAFE"] = "persistence"
    dev = post.start("dev")
    (job,) = post.write(1)
    assert job.result(timeout=START_SECONDS) == 1
    dev.send_signal(signal.SIGINT)
    assert dev.wait(10) == 0, post.log.read_text()
