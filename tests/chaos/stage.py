"""What every chaos run needs: a place, trees of workers, a client, one history, and a verdict."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.acceptance.fleet import Site, Tree, new_database, opened
from tests.chaos import history, tasks
from tests.chaos.witness import LINE, Witness
from tests.servers import PostgresServer, RedisServer

from penstock import Penstock
from penstock.engine import JobFilter
from penstock.model.errors import EngineUnavailable
from penstock.model.states import State
from penstock.tasks.call import Call

ROOT = str(Path(__file__).parents[2])
ENGINES = ("sqlite", "postgres", "redis")
UNFINISHED = (State.WAITING, State.DELAYED, State.BLOCKED, State.ACTIVE)


Server = PostgresServer | RedisServer


class Stage:
    """One engine, one folder, one history. Everything started here ends here."""

    def __init__(
        self, engine: str, folder: Path, server: Server | None, url: str, module: ModuleType = tasks
    ) -> None:
        self.engine = engine
        self.app: Penstock = module.app
        self.ref = f"{module.__file__}:app"
        self.server = server
        self.folder = folder
        self.site = Site(folder, url)
        self.history = folder / "history.jsonl"
        self.site.env[tasks.HISTORY] = str(self.history)
        self.site.env["PYTHONPATH"] = os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")]).strip(
            os.pathsep
        )
        self.acknowledged: list[str] = []
        door = folder / "witness"
        self.witness = Witness(self.note, lambda: self.ask(lambda e: e.workers()), door)
        self.site.env[LINE] = str(door)
        self._told = 0.0

    # -- workers --------------------------------------------------------------------------------------
    def start(self, *options: str, lease: float, env: dict[str, str] | None = None) -> Tree:
        return self.site.start(
            *options, "--log-level", "warning", app=self.ref, lease=lease, grace=5, env=env
        )

    def up(self, *trees: Tree, within: float = 120.0) -> None:
        """Wait until each tree has a registered worker."""
        waited = time.monotonic() + within
        while not all(map(self.is_up, trees)):
            if time.monotonic() > waited:
                raise SystemExit("workers did not come up; see " + str(self.folder))
            time.sleep(0.1)

    def is_up(self, tree: Tree) -> bool:
        return bool(self.registered().keys() & set(tree.workers()))

    def registered(self) -> dict[int, str]:
        """The registered workers by pid."""
        return {int(w.name.rpartition(":")[2]): w.id for w in self.ask(lambda e: e.workers())}

    def logs(self) -> list[str]:
        return [tree.log() for tree in self.site.trees]

    # -- jobs -----------------------------------------------------------------------------------------
    def ask(self, verb: Callable[[Any], Any]) -> Any:
        """Ask the engine, as often as it takes."""
        while True:
            try:
                return self.app.run_on_engine(verb, "await")
            except EngineUnavailable:
                time.sleep(0.2)

    def enqueue(self, calls: list[Call[Any]]) -> list[str]:
        """Enqueue until it is acknowledged; the same calls may be sent again."""
        while True:
            try:
                ids = [job.id for job in self.app.enqueue_many(calls)]
            except EngineUnavailable:
                time.sleep(0.2)
            else:
                self.acknowledged += ids
                return ids

    def counts(self) -> Counter[State]:
        found: Counter[State] = Counter()
        for queue in self.ask(lambda e: e.queues()):
            found.update(queue.counts)
        return found

    def left(self) -> int:
        """How many jobs have not ended."""
        counts = self.counts()
        return sum(counts[state] for state in UNFINISHED)

    def drain(self, patience: float) -> bool:
        """Wait until every job has ended; False when nothing has moved for `patience` seconds."""
        before, moved = -1, time.monotonic()
        while left := self.left():
            if left != before:
                before, moved = left, time.monotonic()
            if time.monotonic() - moved > patience:
                return False
            self.tell(f"draining, {left} left")
            time.sleep(0.2)
        return True

    def records(self) -> dict[str, history.Record]:
        """Every job as the engine has it."""
        found: dict[str, history.Record] = {}
        after: str | None = None
        while page := self.ask(lambda e, after=after: e.jobs(JobFilter(), 200, after)):
            for job in page:
                ended = job.finished_at.timestamp() if job.finished_at else None
                lost = tuple((e["worker"], _wall(e["at"])) for e in job.errors if e["type"] == "WorkerLost")
                found[job.id] = history.Record(job.state.value, ended, lost)
            after = page[-1].id
        return found

    def judge(self) -> history.Verdict:
        completed = self.counts()[State.COMPLETED]
        return history.check(history.read(self.history), self.acknowledged, self.records(), completed)

    # -- words ----------------------------------------------------------------------------------------
    def note(self, f: str, **more: Any) -> float:
        """Write a line of our own into the history; when."""
        t = time.monotonic()
        with self.history.open("a") as file:
            file.write(json.dumps({"t": t, "wall": time.time(), "f": f, **more}) + "\n")
        return t

    def tell(self, text: str) -> None:
        """A line of progress, at most once a second."""
        if time.monotonic() - self._told >= 1.0:
            self._told = time.monotonic()
            end = "\r" if sys.stdout.isatty() else "\n"
            print(f"{self.engine:<9}{text:<80}", end=end, flush=True)


def until(condition: Callable[[], bool], patience: float = 60.0) -> bool:
    """Wait for a condition; False when it does not come."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _wall(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


@contextlib.contextmanager
def stage(engine: str, name: str, *, client: bool = True, module: ModuleType = tasks) -> Iterator[Stage]:
    """A stage on a fresh database, with this process as its `client`. The folder is kept."""
    folder = Path(tempfile.mkdtemp(prefix=f"penstock-{name}-{engine}-"))
    with contextlib.ExitStack() as closing:
        server, url = _place(engine, folder, closing)
        made = Stage(engine, folder, server, url, module)
        os.environ[tasks.HISTORY] = str(made.history)
        closing.callback(made.site.close)
        if client:
            closing.enter_context(opened(made.app, url))
            closing.enter_context(made.witness)
        yield made


def _place(engine: str, folder: Path, closing: contextlib.ExitStack) -> tuple[Server | None, str]:
    """A server of our own, and the URL of a database that nobody has used before."""
    if engine == "sqlite":
        return None, f"sqlite:///{folder / 'jobs.db'}"
    if engine == "redis":
        redis = closing.enter_context(RedisServer(appendonly="yes", appendfsync="always"))
        return redis, redis.url()
    postgres = closing.enter_context(PostgresServer())
    return postgres, new_database(postgres.url())


def arguments(about: str, engines: tuple[str, ...] = ENGINES, **sizes: float | str) -> argparse.Namespace:
    """The command line of a chaos run: --engine, --seed, and one option per size."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--engine", choices=[*engines, "all"], default="all")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or random.randrange(10**6)))
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    given = parser.parse_args()
    given.engines = engines if given.engine == "all" else (given.engine,)
    print(f"{about} (seed {given.seed})", flush=True)
    return given


def verdict(made: Stage, faults: dict[str, Any], figures: str) -> bool:
    """Print how it went and where the history is; whether all was well."""
    good = not faults
    print(f"{made.engine:<9}{'OK' if good else 'VIOLATED: ' + json.dumps(faults)}: {figures}")
    print(f"{made.engine:<9}history and logs: {made.folder}", flush=True)
    return good
