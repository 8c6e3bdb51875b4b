"""Engines for the tests: each test gets its own file or schema, its own clock, and leaves nothing open."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from conformance.kit import Place, register
from penstock.engine import Engine
from penstock.model.clock import Clock, FakeClock
from penstock.runtime.signals import ASKING_TO_END
from servers import ask

pytest.register_assert_rewrite("conformance.machine")  # before it is imported

MakeEngine: TypeAlias = Callable[..., Awaitable[Engine]]

_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("ci", max_examples=100, stateful_step_count=30, **_UNHURRIED)
settings.register_profile("nightly", max_examples=20_000, stateful_step_count=80, **_UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


MEMORY_DISK = Path("/dev/shm")


def pytest_configure(config: pytest.Config) -> None:
    """Test files live in memory where they can: thousands of fsyncs would prove nothing."""
    if config.option.basetemp is None and os.access(MEMORY_DISK, os.W_OK):
        tempfile.tempdir = str(MEMORY_DISK)
        config.option.basetemp = tempfile.mkdtemp(prefix="penstock-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if Path(config.option.basetemp or "/").is_relative_to(MEMORY_DISK):
        shutil.rmtree(config.option.basetemp, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """This session's own server; where there is none the tests skip, and fail in CI."""
    from servers import postgres_server

    return postgres_server().url()


REDIS_KINDS = ("redis", "valkey")
TWINS = {"sqlite": ("sqlite", "memory"), "redis": REDIS_KINDS, "postgres": ("postgres",)}
ON_ALL = os.environ.get("CONFORMANCE") == "all"  # else each test is on one of two twins, by its name
IN_SQL = ("sqlite", "memory", "postgres") if ON_ALL else ("sqlite", "postgres")


def make_place(kind: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    """Storage that nobody has used before."""
    if kind == "memory":
        return Place(kind, ":memory:")
    if kind == "sqlite":
        return Place(kind, str(folder / f"{secrets.token_hex(4)}.db"))
    schema = f"t_{secrets.token_hex(6)}"
    if kind in REDIS_KINDS:
        from servers import redis_server

        return Place(kind, redis_server(kind).url(), schema)
    return Place(kind, request.getfixturevalue("postgres_url"), schema)


# Schemas of this session's PostgreSQL, migrated and as good as new, by the kind of storage they are of.
_emptied: dict[str, list[str]] = defaultdict(list)


def twin_of(request: pytest.FixtureRequest, *, shared: bool = False) -> str:
    """The kind of storage for this test."""
    if ON_ALL or (shared and request.param == "sqlite"):
        return str(request.param)
    twins = TWINS.get(request.param, (request.param,))
    return twins[zlib.crc32(request.node.originalname.encode()) % len(twins)]


@pytest.fixture(params=["sqlite", "memory", "postgres", *REDIS_KINDS] if ON_ALL else list(TWINS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """One test's storage, empty; not migrated, unless the test asks for an engine there."""
    place = make_place(twin_of(request), tmp_path, request)
    with lent(place) if "engine" in request.fixturenames else nullcontext(place) as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres", *REDIS_KINDS] if ON_ALL else list(TWINS))
def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Storage that several engines, also of several processes, can open."""
    place = make_place(twin_of(request, shared=True), tmp_path, request)
    with lent(place) if "make_engine" in request.fixturenames else nullcontext(place) as found:
        yield found


@contextmanager
def lent(place: Place) -> Iterator[Place]:
    """On PostgreSQL an emptied schema, where there is one: migrating takes longer than most tests."""
    database = place.ledger or place.address
    if not database.startswith("postgresql:"):
        yield place
        return
    emptied = _emptied[place.kind]
    found = replace(place, schema=emptied.pop()) if emptied else place
    yield found
    _empty(database, found.schema)
    if place.ledger:
        ask(place.address, "FLUSHDB")
    emptied.append(found.schema)


def _empty(database: str, schema: str) -> None:
    _hand(database).execute(
        """
        do $$ declare found regclass; begin
            for found in
                select oid from pg_class
                where relnamespace = '{schema}'::regnamespace and relkind = 'r'
                    and relname not in ('migrations', 'ledger_migrations')
            loop
                execute 'delete from ' || found;
            end loop;
        end $$
        """.replace("{schema}", schema)
    )


@cache
def _hand(database: str) -> psycopg.Connection[Any]:
    """Stays open: connecting takes longer than emptying."""
    return psycopg.connect(database, autocommit=True)


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """A command that ran inside this process may leave signals ignored: what is started later inherits it."""
    before = {number: signal.getsignal(number) for number in ASKING_TO_END}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) != handler:
            signal.signal(number, handler)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls to a server that is away are tried as often as ever, at once."""
    from penstock.engines.postgres import database
    from penstock.engines.redis import server

    for module in (database, server):
        monkeypatch.setattr(module, "PAUSE", 0.0)


@pytest.fixture
async def engine(place: Place, clock: FakeClock) -> AsyncIterator[Engine]:
    """A migrated and open engine on its own storage; time stands still."""
    with no_leaks():
        engine = place.engine(clock)
        await engine.migrate()
        await engine.open()
        yield engine
        await engine.close()


@pytest.fixture
async def worker(engine: Engine) -> str:
    """A registered worker, alive for thirty seconds."""
    return await register(engine)


@pytest.fixture
async def make_engine(shared_place: Place, clock: FakeClock) -> AsyncIterator[MakeEngine]:
    """Opens independent engines on the same storage: `await make_engine()`; `clock=None` for real time."""
    opened: list[Engine] = []

    async def make(clock: Clock | None = clock) -> Engine:
        engine = shared_place.engine(clock)
        if not opened:
            await engine.migrate()
        await engine.open()
        opened.append(engine)
        return engine

    with no_leaks():
        yield make
        for engine in opened:
            await engine.close()


ENDING = 5.0  # seconds


class no_leaks:  # noqa: N801 - reads as a statement
    """Threads, sockets and files are back when the block ends."""

    def __enter__(self) -> None:
        self.before = _open_things()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        deadline = time.monotonic() + ENDING
        while _open_things() - self.before and time.monotonic() < deadline:
            time.sleep(0.01)  # a thread that was told to end may still be ending
        if kind is None and (left := _open_things() - self.before):
            pytest.fail(f"left open: {sorted(left)}")


def _open_things() -> set[str]:
    # The loop's own helper threads end with the loop, not with the engine.
    threads = {f"thread {t.name}" for t in threading.enumerate() if not t.name.startswith("asyncio")}
    return threads | {f"file {name}" for name in _open_files() if "socket:" in name or ".db" in name}


def _open_files() -> Iterator[str]:
    for link in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):
            yield str(link.readlink())
