"""SQL lives in files named after the verb; this reads them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def load(package: str, folder: str = "sql") -> dict[str, str]:
    """Every `.sql` file in a package's folder, by name without the ending, in the order of the names."""
    found = (f for f in files(package).joinpath(folder).iterdir() if f.name.endswith(".sql"))
    return {f.name.removesuffix(".sql"): f.read_text() for f in sorted(found, key=lambda f: f.name)}
