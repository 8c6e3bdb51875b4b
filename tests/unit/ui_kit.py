"""Runs a module of the dashboard in Node, as the bundle has it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
UI = ROOT / "ui"


def run(module: str, script: str) -> Any:
    """What a script answers that has the module, such as "lib/json", as `m`."""
    code = f'import * as m from "./src/{module}.ts"; console.log(JSON.stringify((() => {{ {script} }})()));'
    bundle = """
        import { buildSync } from "esbuild";
        import { readFileSync } from "node:fs";
        const contents = readFileSync(0, "utf8");
        const stdin = { contents, resolveDir: process.cwd() };
        const made = buildSync({ stdin, bundle: true, write: false, format: "esm" });
        const code = Buffer.from(made.outputFiles[0].contents).toString("base64");
        await import("data:text/javascript;base64," + code);
    """
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", bundle],
        cwd=UI,
        input=code,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)
