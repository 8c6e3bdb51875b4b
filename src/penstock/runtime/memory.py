"""How much memory a process has."""

from __future__ import annotations

import os
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> int | None:
    """How many of its bytes are in memory, those it shares with others too; None where nobody tells."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * _PAGE
