"""schemathesis over the whole OpenAPI document, all checks: `make fuzz`, and a little of it in CI."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from penstock import Penstock
from penstock.web import Scope, make_service
from servers import free_port
from web.kit import UNLIMITED, make_shop

LEAST = 2_000  # cases of a full run
# What a job's payload must be is told by GET /tasks: that of one task does not fit another.
CONFIG = """
[[operations]]
include-name = "POST /jobs/{id}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]
"""


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a shop, and a token for everything."""
    app = make_shop(f"sqlite:///{folder / 'jobs.db'}")
    token = asyncio.run(_token(app))
    port = free_port()
    config = uvicorn.Config(make_service(app, limits=UNLIMITED), port=port, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}", token
    finally:
        server.should_exit = True
        thread.join()


async def _token(app: Penstock) -> str:
    async with app:
        dead = await app.tasks["fail"].aenqueue()
        await app.tasks["send"].using(delay=600).aenqueue(to="ana@example.com")
        await app.worker().run(burst=True)
        assert (await dead.arefresh()).state == "failed"
        return (await app.ops.tokens.create("fuzz", [Scope.ADMIN])).text


def fuzz(folder: Path, *options: str) -> str:
    """What schemathesis says of the service; its own exit code is checked."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    with served(folder) as (url, token):
        program = Path(sys.executable).with_name("st")
        command = [str(program), "run", f"{url}/openapi.json", "--wait-for-schema", "20"]
        command += ["-H", f"Authorization: Bearer {token}", "-c", "all", "--max-response-time", "5"]
        command += ["--exclude-path-regex", "/events$"]  # streams, which do not end by themselves
        done = subprocess.run(
            [*command, "--report-dir", "report", *options],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        said = fuzz(Path(folder), "-n", "60", *sys.argv[1:])
    print(said[said.index("SUMMARY") :])
    (cases,) = re.findall(r"([\d,]+) generated", said)
    assert int(cases.replace(",", "")) >= LEAST, f"only {cases} cases"


if __name__ == "__main__":
    main()
