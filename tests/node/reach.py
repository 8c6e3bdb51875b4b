"""Job events reach Socket.IO clients on two Python replicas and on one of Node: `make node`.

Node's packages are installed into a folder that is removed again.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from contextlib import AsyncExitStack
from pathlib import Path

from tests.servers import redis_server

from penstock import Context, Penstock

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 60.0
LIFE = ["started", "progress", "completed"]


async def run(folder: Path) -> None:
    redis = redis_server("redis").url()
    url = f"sqlite:///{folder}/jobs.db"
    app = Penstock(url, name="node")
    go = asyncio.Event()

    @app.task
    async def render(ctx: Context) -> None:
        await go.wait()
        await ctx.progress(50)

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        replica = [sys.executable, "-m", "tests.node.replica", url, redis]
        servers = [
            await started(stack, *replica, cwd=ROOT),
            await started(stack, *replica, cwd=ROOT),
            await started(stack, "node", "server.js", redis, cwd=folder),
        ]
        ports = [await said(server) for server in servers]
        job = await app.tasks["render"].aenqueue()
        token = await app.feed.tokens.make(job.id)
        clients = [
            await started(stack, "node", "client.js", f"http://127.0.0.1:{port}", job.id, token, cwd=folder)
            for port in ports
        ]
        for client in clients:
            assert json.loads(await said(client)) == ["following", {"room": f"job:{job.id}"}]
        working = asyncio.create_task(app.worker().run(burst=True))
        await asyncio.sleep(0)
        go.set()
        for name, client in zip(("Python", "Python", "Node"), clients, strict=True):
            heard = [json.loads(line) for line in (await rest(client)).splitlines()]
            names = [event for event, data in heard if event != "resync" and data["job_id"] == job.id]
            print(f"a client of a {name} replica heard {', '.join(names)}")
            assert names == LIFE, heard
        await working


async def started(stack: AsyncExitStack, *command: str, cwd: Path) -> Process:
    process = await asyncio.create_subprocess_exec(*command, cwd=cwd, stdout=PIPE)
    stack.push_async_callback(ended, process)
    return process


async def ended(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


async def said(process: Process) -> str:
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
    assert line, "it ended early"
    return line.decode().strip()


async def rest(process: Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.read(), PATIENCE)).decode()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("package.json", "server.js", "client.js"):
            shutil.copy(HERE / file, folder)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True)
        asyncio.run(run(folder))


if __name__ == "__main__":
    main()
