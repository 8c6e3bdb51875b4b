"""Variables that nobody reads: a slip of the pen is told, once."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from penstock import crash_points
from penstock.tasks import queues
from penstock.tasks.loading import VARIABLE
from penstock.tasks.settings import Settings, variables_of

log = logging.getLogger("penstock.settings")

_OURS = "PENSTOCK_"
# What an orchestrator sets by itself for a service or container that bears our name.
_LINK = re.compile(r"PENSTOCK_(SERVICE|PORT|ENV|NAME)(_|$)")
_told: set[str] = set()


def warn_of_unread(declared: Iterable[str] | None = None) -> None:
    """Log each variable that has no effect. Of queues only once all are `declared`."""
    for variable, hint in _unread(None if declared is None else list(declared)):
        if variable not in _told:
            _told.add(variable)
            log.warning("the environment variable %s has no effect: %s", variable, hint)


def _unread(declared: list[str] | None) -> Iterator[tuple[str, str]]:
    known = {
        VARIABLE,
        crash_points.VARIABLE,
        *(v for name in Settings.model_fields for v in variables_of(name)),
    }
    known.update(v for queue in declared or () for o in queues.OPTIONS for v in queues.variables_of(queue, o))
    for variable in sorted(os.environ.keys() - known):
        if variable.startswith(queues.PREFIX) and declared is None:
            continue
        elif variable.startswith(_OURS) and not _LINK.match(variable):
            yield variable, _nearest(variable, known)


def _nearest(variable: str, known: Iterable[str]) -> str:
    names = {name.removeprefix(_OURS): name for name in known}  # what all have in common tells nothing
    close = get_close_matches(variable.removeprefix(_OURS), names, 1, 0.7)
    if close:
        return f"did you mean {names[close[0]]}?"
    return "no setting has this name; docs/settings.md lists them"
