"""What few jobs have, as bits of one column: the many others are told by a nought to need no further look."""

from __future__ import annotations

FEEDS = 1  # others wait for it, or may come to
TIED = 2  # it has edges of its own
FLOW = 4  # it is in a flow
SHELVED = 8  # it is not kept with the jobs of its queue
WINDOW = 16  # its key is held otherwise than by its record
STEPS = 32  # it has steps
PINNED = 64  # it is finished, and its flow is not
STARTS_FREE = 128  # its key is free when it is first claimed
