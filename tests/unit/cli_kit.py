"""A shop in a folder of its own, and its command line."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock import Penstock
from penstock.cli import main

APP = '''
from penstock import Penstock, Unrecoverable

app = Penstock("sqlite:///{file}")
app.queue("email", retry="webhook")

@app.task(queue="email", key="receipt:{{order_id}}")
async def send_receipt(order_id: int) -> str:
    """Send a receipt :warning: [red]now[/red]."""
    return "sent"

@app.task
async def fail(what: str) -> None:
    raise Unrecoverable(f"no {{what}}") from KeyError("the shelf is empty")
'''


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Said]


@pytest.fixture(name="run")
def runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Run one command in the folder of the shop, 100 columns wide."""
    (tmp_path / "cli_shop.py").write_text(APP.format(file=tmp_path / "jobs.db"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PENSTOCK_APP", "cli_shop:app")
    monkeypatch.setenv("COLUMNS", "100")

    def command(*words: str, columns: int = 100) -> Said:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["penstock", *words])
        capsys.readouterr()
        code = 0
        try:
            main.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Said(code, out, err)

    yield command
    sys.modules.pop("cli_shop", None)


@pytest.fixture(name="shop")
def loaded_shop(run: Run) -> Penstock:
    from penstock.tasks.loading import load_app

    app: Penstock = load_app("cli_shop:app")
    return app


def work_off(app: Penstock) -> None:
    async def burst() -> None:
        async with app:
            await app.worker().run(burst=True)

    asyncio.run(burst())


@pytest.fixture(name="dead")
def dead_letter(shop: Penstock) -> str:
    with shop:
        job = shop.tasks["fail"].enqueue(what="[bold]luck[/bold] :smile:")
    work_off(shop)
    return job.id
