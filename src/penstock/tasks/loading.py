"""Finding the app that a command names: `module:app` or `path/to/file.py:app`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tomllib
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.model.errors import InvalidOption

DEFAULT_ATTRIBUTE = "app"
VARIABLE = "PENSTOCK_APP"


def find_ref(given: str | None) -> str:
    """Which app is meant: what was given, else $PENSTOCK_APP, else `app` under `[tool.penstock]`."""
    ref = given or os.environ.get(VARIABLE) or _from_pyproject(Path("pyproject.toml"))
    if not ref:
        raise InvalidOption(
            f"which app? Give --app module:app, set {VARIABLE}, "
            'or write app = "module:app" under [tool.penstock] in pyproject.toml'
        )
    return ref


def load_app(ref: str) -> Any:
    """Import the module and return the app in it."""
    where, _, attribute = ref.rpartition(":") if ":" in ref else (ref, "", DEFAULT_ATTRIBUTE)
    try:
        module = _from_file(Path(where)) if where.endswith(".py") else _from_name(where)
    except SystemExit as error:
        raise InvalidOption(
            f"{where!r} ends the program while it is loaded: SystemExit({error.code!r}){_place(error)}; "
            "what a script does belongs under `if __name__ == '__main__':`"
        ) from error
    app = getattr(module, attribute, None)
    if app is None:
        raise InvalidOption(f"{where!r} has no {attribute!r}; name the variable that holds your Penstock app")
    if not hasattr(app, "worker_host"):
        raise InvalidOption(f"{ref!r} is a {type(app).__name__}, not a Penstock app")
    return app


def ref_of(app: object, modules: Iterable[str]) -> str | None:
    """Where another process can load this app from; None where none of the modules holds it."""
    for name in ("__main__", *sorted(set(modules))):
        module = sys.modules.get(name)
        for attribute, value in vars(module).items() if module else ():
            if value is app:
                where = getattr(module, "__file__", None) if name == "__main__" else name
                return f"{where}:{attribute}" if where else None
    return None


def _from_name(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise InvalidOption(f"there is no module {name!r}, seen from {here}") from None


def _from_file(path: Path) -> ModuleType:
    name = path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path.resolve()):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidOption(f"there is no Python file {str(path)!r}")
    if str(path.parent.resolve()) not in sys.path:
        sys.path.insert(0, str(path.parent.resolve()))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # half of it is worth nothing
        raise
    return module


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" in {frames[-1].filename}, line {frames[-1].lineno}"


def _from_pyproject(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        table = tomllib.load(file).get("tool", {}).get("penstock", {})
    ref = table.get("app")
    return ref if isinstance(ref, str) else None
