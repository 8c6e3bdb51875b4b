"""Real `penstock worker` process trees on a place of their own, ended however the test ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from penstock import Penstock
from penstock.model.clock import EngineClock

T = TypeVar("T")

HERE = Path(__file__).parent
JOBS = f"{HERE / 'jobs.py'}:app"
EFFECTS = "ACCEPTANCE_EFFECTS"
_databases = itertools.count(1)
START_SECONDS = 40.0  # a shared machine may need long to start two Python processes


def eventually(condition: Callable[[], T], within: float, what: str = "") -> T:
    """The first true value of `condition`; fails after `within` seconds. The only place that polls."""
    deadline = time.monotonic() + within
    while True:
        late = time.monotonic() > deadline
        if value := condition():
            return value
        if late:
            raise AssertionError(
                f"not within {within:g} s: {what or getattr(condition, '__name__', condition)}"
            )
        time.sleep(0.02)


class Tree:
    """A supervisor and the worker processes below it."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log_path = log
        self.pid = process.pid

    def workers(self) -> list[int]:
        """The pids of the worker processes that live now."""
        return children_of(self.pid)

    def the_worker(self) -> int:
        """The pid of its one worker process."""
        return eventually(self.workers, START_SECONDS, f"a worker process\n{self.log()}")[0]

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """To the supervisor alone, as a service manager sends it."""
        self._process.send_signal(number)

    def exit_code(self, within: float) -> int:
        """Wait for the supervisor to end."""
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {within:g} s\n{self.log()}") from None

    def kill(self) -> None:
        """Kill the whole tree at once: what a dying machine does. Children in other sessions follow."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


class Site:
    """A folder, a database and an environment; starts trees there and ends them all."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.effects_path = folder / "effects.jsonl"
        self.trees: list[Tree] = []
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")},
            "PENSTOCK_URL": url,
            EFFECTS: str(self.effects_path),
            "PYTHONUNBUFFERED": "1",
        }
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]

    def start(
        self,
        *options: str,
        app: str = JOBS,
        lease: float = 30,
        grace: float = 1,
        env: dict[str, str] | None = None,
    ) -> Tree:
        """Start `penstock worker`."""
        words = ["--app", app, "--lease", str(lease), "--grace", str(grace), *options]
        return self.launch("worker", *words, env=env)

    def launch(self, command: str, *words: str, env: dict[str, str] | None = None) -> Tree:
        """Start a `penstock` command in a process group of its own."""
        log = self.folder / f"{command}-{len(self.trees)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "penstock", command, *words],
                cwd=self.folder,
                env=self.env | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        tree = Tree(process, log)
        self.trees.append(tree)
        return tree

    def run(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """One `penstock` command, to its end."""
        return subprocess.run(
            [sys.executable, "-m", "penstock", *words],
            cwd=self.folder,
            env=self.env | (env or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )

    def effects(self) -> list[dict[str, Any]]:
        """What handlers have written so far; a line being written is not there yet."""
        if not self.effects_path.exists():
            return []
        return [json.loads(line) for line in self.effects_path.read_bytes().split(b"\n")[:-1]]

    def close(self) -> None:
        for tree in self.trees:
            tree.kill()


@contextlib.contextmanager
def opened(app: Penstock, url: str) -> Iterator[None]:
    """Point `app`, in this process, at the database of `url`, made ready where needed."""
    before = app.move_to(url, EngineClock())
    asyncio.run(app.migrate())
    try:
        with app:
            yield
    finally:
        app.move_to(*before)


def new_url(kind: str, folder: Path) -> str:
    """A database nobody has used before."""
    if kind == "sqlite":
        return f"sqlite:///{folder / 'jobs.db'}"
    from servers import durable_redis, postgres_server

    if kind == "redis":
        return durable_redis().url(next(_databases))
    return new_database(postgres_server().url())


def new_database(server_url: str) -> str:
    """A new database on a server; its URL."""
    name = f"t_{secrets.token_hex(6)}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    return f"{server_url.rpartition('/')[0]}/{name}"


def children_of(pid: int) -> list[int]:
    """The child processes of a process, as Linux tells them; zombies left out."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [child for child in map(int, found.split()) if is_alive(child)]


def all_below(pid: int) -> list[int]:
    """Its children, their children, and so on."""
    return [found for child in children_of(pid) for found in (child, *all_below(child))]


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
