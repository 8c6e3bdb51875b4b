"""`penstock serve`: a process of its own, spoken to over real sockets."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import httpx

from acceptance.fleet import eventually
from penstock.engine import JobFilter
from penstock.ops import Ops
from penstock.runtime import signals
from penstock.web import Scope, make_service
from penstock.web.serving import listen, prepare
from servers import free_port
from web.kit import make_shop

T = TypeVar("T")
ENQUEUE = {"task": "send", "payload": {"to": "ana@example.com"}}


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server, up."""
    (folder / "web_shop.py").write_text(
        "import atexit\nimport gc\n\nfrom web.kit import make_shop\n\n"
        "atexit.register(lambda: print('kept from collections:', gc.get_freeze_count()))\n"
        f"app = make_shop('sqlite:///{folder / 'jobs.db'}')\n"
    )
    port = free_port()
    here = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "penstock", "serve", "--app", "web_shop.py:app", "--port", f"{port}"]
    with (folder / "serve.log").open("wb") as log:
        env = {**os.environ, "PYTHONPATH": here}
        server = subprocess.Popen([*command, *options], cwd=folder, env=env, stdout=log, stderr=log)
    try:
        eventually(lambda: _answers(port) or server.poll() is not None, 60, "the server is up")
        yield f"http://127.0.0.1:{port}", server
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def asked(folder: Path, question: Callable[[Ops], Awaitable[T]]) -> T:
    app = make_shop(f"sqlite:///{folder / 'jobs.db'}")

    async def session() -> T:
        async with app:
            return await question(app.ops)

    return asyncio.run(session())


def test_jobs_enqueued_over_a_socket_survive_a_kill_once_they_are_acknowledged(tmp_path: Path) -> None:
    with serving(tmp_path, "--rate", "none") as (url, _), httpx.Client(base_url=url) as client:
        ids = {client.post("/jobs/email_queue", json=ENQUEUE).json()["job_id"] for _ in range(20)}
    assert {job.id for job in asked(tmp_path, lambda ops: ops.jobs(JobFilter(), 200))} == ids


def test_served_with_a_token_on_every_address_and_hard_requests_harm_nobody(tmp_path: Path) -> None:
    scopes = [Scope.ENQUEUE, Scope.READ]
    made = asked(tmp_path, lambda ops: ops.tokens.create("ci", scopes, "ana"))
    headers = {"authorization": f"Bearer {made.text}"}
    with serving(tmp_path, "--host", "0.0.0.0") as (url, server):
        assert httpx.get(f"{url}/jobs").status_code == 401, "being at this machine is not enough"
        with httpx.Client(base_url=url, headers=headers) as client:
            answer = client.get("/jobs")
            assert answer.status_code == 200
            assert "server" not in answer.headers
            _hard(url, made.text)
            assert client.post("/jobs/email_queue", json=ENQUEUE).status_code == 202
            asked(tmp_path, lambda ops: ops.tokens.revoke(made.token.id))
            eventually(lambda: client.get("/jobs").status_code == 401, 5, "revoked")
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    log = (tmp_path / "serve.log").read_text()
    assert made.text not in log
    assert "Traceback" not in log


def test_collections_of_garbage_do_not_look_through_all_that_was_loaded(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, server):
        eventually(lambda: "Dashboard" in (tmp_path / "serve.log").read_text(), 20)
        server.send_signal(signal.SIGTERM)
        server.wait(20)
    kept = (tmp_path / "serve.log").read_text().partition("kept from collections: ")[2]
    assert int(kept) > 50_000


def _hard(url: str, token: str) -> None:
    """Requests that no client library sends."""
    host, _, port = url.removeprefix("http://").partition(":")
    head = f"POST /jobs/email_queue HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/json\r\n"
    chunked = head + "Transfer-Encoding: chunked\r\n"
    for request, status in {
        head + "Content-Length: 104857600\r\n\r\n": 413,
        head + "Content-Length: x\r\n\r\n": 400,
        chunked + "\r\n100000\r\n" + "x" * 0x100000 + "\r\n1\r\ny\r\n0\r\n\r\n": 413,
        chunked + "Content-Length: 5\r\n\r\n0\r\n\r\n": 400,
        "\x00\r\n\r\n": 400,
    }.items():
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            raw.sendall(request.encode("latin-1"))
            answer = raw.recv(64).decode("latin-1")
        assert answer.startswith(f"HTTP/1.1 {status}"), (request[:200], answer)


def test_it_says_where_the_dashboard_is_and_a_port_that_is_taken(tmp_path: Path) -> None:
    with serving(tmp_path) as (url, _):
        eventually(lambda: f"Dashboard: {url}/dashboard/" in (tmp_path / "serve.log").read_text(), 20)
        port = url.rpartition(":")[2]
        command = [sys.executable, "-m", "penstock", "serve", "--app", "web_shop.py:app", "--port", port]
        here = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": here}
        done = subprocess.run(
            command, check=False, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 2
    assert f"port {port} of 127.0.0.1 is taken by other programs; choose another: --port" in done.stderr


async def test_a_signal_that_comes_before_the_server_serves_ends_it(tmp_path: Path) -> None:
    before = {number: signal.getsignal(number) for number in signals.ASKING_TO_END}
    server = prepare(make_service(make_shop(f"sqlite:///{tmp_path / 'jobs.db'}"), local=True), "warning")
    try:
        signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            await server.serve_at(listen("127.0.0.1", 0))
        assert server.should_exit
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
