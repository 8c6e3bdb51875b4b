"""The lines that runs have logged: where they are kept among the notes."""

from __future__ import annotations

KIND = "joblog"


def key_of(job_id: str, attempt: int | str) -> str:
    """The key of the note with the lines of one attempt; of none, what the keys of all begin with."""
    return f"{job_id}/{attempt}"
