"""Every example in the README and the docs is run as a new user would, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from penstock.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
REDIS = "redis://localhost:6379/0"  # where the pages have it
DRAIN = """
import asyncio
from shop import app

async def work():
    async with app:
        await app.worker().run(burst=True)

asyncio.run(work())
"""


class Block(NamedTuple):
    language: str
    line: int  # of its first line of code, from 1
    code: str


def blocks(page: Path) -> Iterator[Block]:
    inside: list[str] | None = None
    language, start, indent = "", 0, 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r"( *)```(\w*)", line)
        if fence and inside is None:
            inside, language, start, indent = [], fence[2], number + 1, len(fence[1])
        elif fence and inside is not None:
            yield Block(language, start, "\n".join(inside))
            inside = None
        elif inside is not None:
            inside.append(line[indent:])
    assert inside is None, f"{page.name} ends inside a block"


def python_of(page: Path, folder: Path) -> Path | None:
    """Write the page's files, and one script of all other blocks, each at its own line number."""
    script: list[str] = []
    for block in blocks(page):
        if block.language != "python":
            continue
        code = on_a_server_of_ours(block.code)
        named = re.match(r"# (\w+\.py)\n", code)
        if named:
            (folder / named[1]).write_text(code + "\n")
            continue
        script += [""] * (block.line - 1 - len(script))
        script += code.splitlines()
    if not script:
        return None
    path = folder / f"{page.stem.lower()}_page.py"
    path.write_text("\n".join(script) + "\n")
    return path


def on_a_server_of_ours(code: str) -> str:
    if REDIS not in code:
        return code
    from acceptance.fleet import new_url

    return code.replace(REDIS, new_url("redis", ROOT))


def run(folder: Path, *command: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        env={**clean, "PYTHONPATH": os.pathsep.join([str(folder), clean.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


WITH_PYTHON = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_the_python_on_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    script = python_of(page, tmp_path)
    assert script is not None
    run(tmp_path, str(script))


def test_the_shop_of_the_readme_is_enqueued_and_drained(tmp_path: Path) -> None:
    script = python_of(ROOT / "README.md", tmp_path)
    assert script is not None
    run(tmp_path, str(script))
    run(tmp_path, "-c", DRAIN)
    (job,) = json.loads(run(tmp_path, "-m", "penstock", "jobs", "--app", "shop:app", "--json"))
    assert (job["state"], job["result"]) == ("completed", "receipt 7 sent to ana@example.com")


def test_the_pytest_example_passes_with_the_installed_plugin(tmp_path: Path) -> None:
    python_of(ROOT / "docs" / "testing.md", tmp_path)
    assert "1 passed" in run(tmp_path, "-m", "pytest", "-q", "-p", "no:asyncio", "test_shop.py")


def console_lines() -> list[Any]:
    return [
        pytest.param(line, id=f"{page.name}:{line}")
        for page in PAGES
        for block in blocks(page)
        if not block.language and page.name != "cli.md"
        for line in block.code.splitlines()
        if line.startswith(("penstock ", "make "))
    ]


@pytest.mark.parametrize("line", console_lines())
def test_a_command_shown_on_a_page_exists_with_its_options(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert command.name != "penstock"
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known
