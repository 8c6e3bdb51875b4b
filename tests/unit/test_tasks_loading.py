"""Loading the app that a command names: what is wrong with its module is said in a sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock import InvalidOption, Penstock
from penstock.tasks.loading import load_app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.mark.parametrize(
    "how", ["import sys; sys.exit()", "import sys; sys.exit(3)", "raise SystemExit('bye')"]
)
@pytest.mark.parametrize("ref", ["a_script:app", "a_script.py:app"])
def test_a_module_that_ends_the_program_is_refused_with_the_line(folder: Path, how: str, ref: str) -> None:
    (folder / "a_script.py").write_text(f"{how}\n")
    with pytest.raises(InvalidOption, match=r"ends the program while it is loaded.*a_script\.py, line 1"):
        load_app(ref)


def test_a_file_that_broke_while_it_was_loaded_is_loaded_anew(folder: Path) -> None:
    script = folder / "mended.py"
    script.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        load_app("mended.py:app")
    script.write_text("from penstock import Penstock\napp = Penstock('sqlite://:memory:')  # mended\n")
    assert isinstance(load_app("mended.py:app"), Penstock)
    del sys.modules["mended"]
