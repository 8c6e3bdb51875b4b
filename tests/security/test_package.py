"""What the package may not do, read off its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock

SOURCES = sorted(Path(penstock.__file__).parent.rglob("*.py"))
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}
UNSAFE_BUILTINS = {"eval", "exec"}
UNSAFE_YAML = {"load", "load_all", "full_load", "full_load_all", "unsafe_load", "unsafe_load_all", "Loader"}


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("import_module", "__import__"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))


def _wrong(text: str) -> list[str]:
    tree = ast.parse(text)
    found = [name for name in _imports(tree) if name.partition(".")[0] in UNSAFE_MODULES]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in UNSAFE_BUILTINS:
            found.append(node.id)
        if isinstance(node, ast.Attribute) and node.attr in UNSAFE_YAML:
            found += [f"yaml.{node.attr}"] if getattr(node.value, "id", "") == "yaml" else []
        if isinstance(node, ast.ImportFrom) and node.module == "yaml":
            found += [f"yaml.{name.name}" for name in node.names if name.name in UNSAFE_YAML]
    return found


def test_nothing_in_the_package_can_run_what_is_stored() -> None:
    """S1, S3: no pickle and its like, no eval and exec, no YAML but safe_load."""
    assert len(SOURCES) > 100
    assert {path.name: found for path in SOURCES if (found := _wrong(path.read_text()))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from marshal import loads",
        "import_module('shelve')",
        "eval('1')",
        "run = exec",
        "yaml.load(text)",
        "from yaml import unsafe_load",
    ],
)
def test_the_scan_sees_what_it_is_for(text: str) -> None:
    assert len(_wrong(text)) == 1
