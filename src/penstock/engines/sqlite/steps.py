"""Steps: named pieces of a run, whose results are kept for the runs after it."""

from __future__ import annotations

from penstock.engines.sqlite.session import Session, Tx


def save_step(tx: Tx, job_id: str, token: str, name: str, value: str) -> bool:
    """Keep a step, where the run is still the caller's."""
    if not tx.change("mark_stepping", (job_id, token)):
        return False
    tx.change("steps_save", (job_id, name, value))
    return True


def inherit(tx: Tx, job_id: str, heir: str) -> None:
    """A recovered job has the steps of the one it was."""
    if tx.change("steps_copy", (heir, job_id)):
        tx.change("mark_steps", (heir,))


def steps(session: Session, job_id: str) -> dict[str, str]:
    """The results of a job's steps."""
    return {row["name"]: row["value"] for row in session.rows("steps", (job_id,))}
