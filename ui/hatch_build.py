"""Builds the dashboard into the wheel, where that has not been done yet."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent


class DashboardHook(BuildHookInterface[Any]):
    """Needs Node; an editable install is left alone: there `make ui` does it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's
        """Before the files are gathered."""
        built = HERE.parent / "src" / "penstock" / "web" / "static" / "manifest.json"
        if version == "editable" or built.exists():
            return
        subprocess.run(["npm", "ci", "--no-progress", "--loglevel=error"], cwd=HERE, check=True)  # noqa: S607
        subprocess.run(["npm", "run", "--silent", "build"], cwd=HERE, check=True)  # noqa: S607
