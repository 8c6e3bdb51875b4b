"""How often this process is a copy of a copy: what a handler's fork leaves behind can be told by it."""

from __future__ import annotations

import os

copies = 0  # looked at after each run, where asking the system for the process id would cost more


def _copied() -> None:
    global copies  # noqa: PLW0603 - of the process, as a fork is
    copies += 1


os.register_at_fork(after_in_child=_copied)
