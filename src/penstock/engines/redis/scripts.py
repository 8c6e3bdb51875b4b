"""The scripts, put together from their files. They are static: whatever varies is an argument."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_PART = re.compile(r"^ *--@ (_\w+)$", re.MULTILINE)


class Script(NamedTuple):
    """A script and the name under which a server that knows it runs it."""

    text: bytes
    sha: bytes


@cache
def scripts() -> dict[str, Script]:
    """Every script by the name of its file; `--@ _part` stands for the text of that file."""
    folder = files("penstock.engines.redis").joinpath("lua")
    texts = {f.name.removesuffix(".lua"): f.read_text() for f in folder.iterdir() if f.name.endswith(".lua")}
    return {name: _script(texts, name) for name in texts if not name.startswith("_")}


def _script(texts: dict[str, str], name: str) -> Script:
    text = _whole(texts, texts[name]).encode()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


def _whole(texts: dict[str, str], text: str) -> str:
    """Parts may have parts."""
    return _PART.sub(lambda part: _whole(texts, texts[part[1]]), text)
