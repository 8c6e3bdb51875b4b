"""Canaries: secrets put in wherever one can be. None comes out of a worker, a command, a request, a table."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from penstock import Penstock
from penstock.model.redaction import MASK
from penstock.tasks.loading import load_app
from penstock.web import Principal, Scope, make_service

IN_PAYLOAD = "canary-payload-8f3a"
IN_HEADER = "canary-header-77d1"
IN_MESSAGE = "canary-message-01bc"
IN_CAUSE = "canary-cause-5e5e"
IN_NOTE = "canary-note-9a9a"
IN_LOG = "canary-log-3c3c"
IN_DSN = "canary-dsn-c0de"
IN_PROGRESS = "canary-progress-b0b0"
CANARIES = (IN_PAYLOAD, IN_HEADER, IN_MESSAGE, IN_CAUSE, IN_NOTE, IN_LOG, IN_DSN, IN_PROGRESS)

SHOP = f'''
import logging, os
from typing import Annotated
from pydantic import BaseModel
from penstock import NoOp, Penstock, Secret, SyncContext

app = Penstock(os.environ.get("SHOP_URL", "sqlite:///FOLDER/jobs.db"))

def blame(card):
    try:
        raise LookupError("redis://:{IN_CAUSE}@cache is away")
    except LookupError as cause:
        headers = {{"Authorization": "Bearer {IN_HEADER}"}}
        error = RuntimeError(f"{{card}} refused by https://app:{IN_MESSAGE}@pay.example with {{headers}}")
        error.add_note("password={IN_NOTE}")
        raise error from cause

def classify(error):
    raise ValueError("token={IN_NOTE}")

@app.task(retry="none", classify=classify, searchable="order_id")
async def on_loop(order_id: int, card: Annotated[str, Secret]) -> None:
    logging.getLogger("shop").warning("paying with password=%s", "{IN_LOG}")
    blame(card)

@app.task(retry="none", secret=("card",))
def in_thread(order_id: int, card: str) -> None:
    try:
        blame("the card")
    except RuntimeError:
        logging.getLogger("shop").exception("failed")
    blame(card)

@app.task(retry="none", execute="process", secret="card")
def in_process(order_id: int, card: str) -> None:
    blame(card)

class Purse(BaseModel):
    number: Annotated[str, Secret]

def talk(ctx, number):
    ctx.progress(5, f"redis://:{IN_PROGRESS}@cache/0 and {{number}}")
    ctx.log.info("the card %s", number, extra={{"used": [number], "note": f"card {{number}}"}})
    ctx.step(f"charge {{number}}", lambda: None)
    try:
        blame(number)
    except RuntimeError:
        ctx.log.exception("it did not work")
    blame(number)

@app.task(retry="none")
def talks(ctx: SyncContext, order_id: int, card: Purse) -> None:
    talk(ctx, card.number)

@app.task(retry="none", execute="process")
def talks_alone(ctx: SyncContext, order_id: int, card: Purse) -> None:
    talk(ctx, card.number)

@app.task(retry="none", secret="card")
async def needless(order_id: int, card: str) -> None:
    raise NoOp(f"{{card}} has paid already")
'''
TASKS = ("on_loop", "in_thread", "in_process", "needless")
TALKING = ("talks", "talks_alone")


@pytest.fixture(scope="module", name="folder")
def worked_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop whose jobs a real worker has run; its log is beside them."""
    folder = tmp_path_factory.mktemp("canaries")
    (folder / "canary_shop.py").write_text(SHOP.replace("FOLDER", str(folder)))
    app = _load(folder)
    with app:
        jobs = [app.tasks[name].enqueue(order_id=7, card=IN_PAYLOAD).id for name in TASKS]
        jobs += [app.tasks[name].enqueue(order_id=7, card={"number": IN_PAYLOAD}).id for name in TALKING]
    with (folder / "log").open("wb") as log:
        options = ["--log-level", "debug", "--log-format", "json", "--app", "canary_shop:app"]
        worker = subprocess.Popen(
            [sys.executable, "-m", "penstock", "worker", *options],
            cwd=folder,
            env=_environment(folder),
            stdout=log,
            stderr=log,
        )
        try:
            _await_ends(folder, len(jobs))
        finally:
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0
    return folder


def _load(folder: Path) -> Penstock:
    sys.path.insert(0, str(folder))
    try:
        app: Penstock = load_app("canary_shop:app")
        return app
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("canary_shop", None)


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(folder), *sys.path])
    return {**os.environ, "PYTHONPATH": path}


def _await_ends(folder: Path, wanted: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with sqlite3.connect(folder / "jobs.db") as db:
            (ended,) = db.execute("select count(*) from penstock_finished").fetchone()
        if ended == wanted:
            return
        time.sleep(0.05)
    raise AssertionError("the jobs have not ended")


def _check(told: str) -> None:
    assert [canary for canary in CANARIES if canary in told] == []


def test_the_log_of_a_worker_tells_no_secret(folder: Path) -> None:
    raw = (folder / "log").read_text()
    log = "\n".join(str(json.loads(line)) for line in raw.splitlines())
    assert f"{MASK} refused by https://app:{MASK}@pay.example" in log
    assert f"password={MASK}" in log
    assert "Traceback" in log  # of what the handler itself has logged
    _check(log + raw)


def test_only_the_payloads_hold_secrets_in_the_store(folder: Path) -> None:
    with sqlite3.connect(folder / "jobs.db") as db:
        db.row_factory = sqlite3.Row
        tables = [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]
        cells = [
            (table, name, str(row[name]))
            for table in tables
            for row in db.execute(f'select * from "{table}"')
            for name in row.keys()  # noqa: SIM118 - a Row is a sequence of values
        ]
    held = {(table, name) for table, name, text in cells if any(canary in text for canary in CANARIES)}
    assert all("args" in name or "payload" in name for _, name in held), held
    assert any(MASK in text for _, _, text in cells)


def test_the_commands_tell_no_secret(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for job_id, task in _jobs(folder):
        told = _ran(folder, capsys, "job", job_id) + _ran(folder, capsys, "job", job_id, "--json")
        if task != "needless":
            told += _ran(folder, capsys, "dlq", "show", job_id)
            told += _ran(folder, capsys, "dlq", "show", job_id, "--json")
        assert MASK in told
        _check(told)
    for words in (
        "jobs",
        "jobs --json",
        "history --json",
        "dlq",
        "dlq list --json",
        "doctor",
        "tasks --json",
    ):
        _check(_ran(folder, capsys, *words.split()))
    found = _ran(folder, capsys, "jobs", "--task", "on_loop", "--arg", "order_id=7", "--json")
    assert found.count('"on_loop"') == 1
    _check(found)
    refused = _ran(folder, capsys, "jobs", "--task", "on_loop", "--arg", f"card={IN_PAYLOAD}")
    assert "only by order_id" in refused
    _check(refused)


def _ran(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """A command in this process, which is many times faster."""
    from penstock.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["penstock", *words])
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.setenv("PENSTOCK_APP", "canary_shop:app")
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main.main()
        sys.modules.pop("canary_shop", None)
        return "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://app:{IN_DSN}@127.0.0.1:1/shop?connect_timeout=1",
        f"redis://app:{IN_DSN}@127.0.0.1:1/0",
        f"postgresql://app:{IN_DSN}@127.0.0.1:port/shop",
        f"postgresql://127.0.0.1:1/shop?password={IN_DSN}&connect_timeout=1",
        f"mysql://app:{IN_DSN}@127.0.0.1/shop",
    ],
)
def test_a_command_whose_engine_is_away_does_not_tell_the_password(
    folder: Path, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", url)
    told = _ran(folder, capsys, "doctor")
    assert told
    _check(told)


async def test_http_tells_secrets_to_admins_alone(folder: Path) -> None:
    app = _load(folder)
    people = {
        "reader": frozenset({Scope.READ, Scope.PAYLOAD, Scope.OPERATE}),
        "admin": frozenset({Scope.ADMIN}),
    }

    def auth(request: httpx.Request) -> Principal | None:
        who = request.headers["authorization"]
        return Principal(name=who, scopes=people[who], all_owners=True)

    transport = httpx.ASGITransport(make_service(app, auth=auth))
    async with (
        app,
        httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client,
    ):

        async def told(path: str, who: str = "reader") -> str:
            return (await client.get(path, headers={"authorization": who})).text

        for job_id, task in _jobs(folder):
            _check(await told(f"/jobs/{job_id}"))
            assert MASK in await told(f"/jobs/{job_id}")
            assert IN_PAYLOAD in await told(f"/jobs/{job_id}", "admin")
            if task != "needless":
                _check(await told(f"/dead-letters/{job_id}"))
        for path in ("/jobs", "/history", "/dead-letters", "/tasks", "/jobs?task=on_loop&args.order_id=7"):
            _check(await told(path))
        assert (await told("/jobs?task=on_loop&args.order_id=7")).count('"job_id"') == 1
        assert (await told("/jobs?task=on_loop&args.order_id=8")).count('"job_id"') == 0
        refused = await client.get(
            f"/jobs?task=on_loop&args.card={IN_PAYLOAD}", headers={"authorization": "admin"}
        )
        assert refused.status_code == 400
        assert "only by order_id" in refused.text
        _check(refused.text)


def test_what_is_recovered_still_has_its_secrets(folder: Path) -> None:
    app = _load(folder)

    async def recovered() -> str:
        async with app:
            job_id = next(job_id for job_id, task in _jobs(folder) if task == "in_thread")
            new = (await app.ops.recover(job_id)).job_id
            assert (await app.ops.job(new)).args["card"] == MASK
            found = await app.engine.get(new)
            assert found is not None
            card: str = found.args["card"]
            return card

    assert asyncio.run(recovered()) == IN_PAYLOAD


def _jobs(folder: Path) -> Iterator[tuple[str, str]]:
    with sqlite3.connect(folder / "jobs.db") as db:
        yield from db.execute("select id, task from penstock_finished").fetchall()
