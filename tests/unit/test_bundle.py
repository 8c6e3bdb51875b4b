"""What is shipped to browsers: small, the same whoever builds it, in the wheel and not in git."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATIC = Path("src/penstock/web/static")
MOST = 150 * 1024  # bytes, gzipped


def _run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_bundle_is_small_and_the_same_whenever_it_is_built(tmp_path: Path) -> None:
    built = []
    for name in ("once", "again"):
        _run("node", "ui/build.mjs", str(tmp_path / name))
        built.append(_files(tmp_path / name))
    assert built[0] == built[1]
    size = sum(len(gzip.compress(content)) for content in built[0].values())
    print(f"the dashboard is {size / 1024:.0f} KB, gzipped")
    assert size <= MOST


def test_the_bundle_is_in_the_wheel_and_not_in_git(tmp_path: Path) -> None:
    assert _run("git", "ls-files", str(STATIC)) == ""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = {Path(name).name for name in wheel.namelist() if "/web/static/" in name}
    assert names == _files(ROOT / STATIC).keys()
    assert {name.rpartition(".")[2] for name in names} == {"js", "css", "json"}
