"""What `penstock demo` says at its end."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from penstock.cli.output import console, counted, print_table
from penstock.engine import DeadFilter, JobFilter
from penstock.model.states import State
from penstock.ops import Ops


async def sum_up(ops: Ops, completed: int, seconds: float) -> None:
    """By task, and what is left to look at."""
    jobs = [job async for job in _all(ops)]
    rows = []
    for task in sorted({job.task for job in jobs}):
        mine = [job for job in jobs if job.task == task]
        done = sum(job.state is State.COMPLETED for job in mine)
        retried = sum(job.attempt > 1 for job in mine)
        dead = sum(job.state is State.FAILED for job in mine)
        rows.append((task, str(done), str(retried or ""), str(dead or "")))
    print_table(("task", "completed", "retried", "dead letter"), rows, "Nothing ran.")
    console.print("\nDead letters, kept for you with what went wrong:")
    for letter in await ops.dead_letters(DeadFilter()):
        what = (letter.error or {}).get("message", "")
        console.print(Text(f"  {letter.task}: {letter.reason} – {what}", style="red"))
    bystanders = sum(job.rescues > 0 and job.state is State.COMPLETED for job in jobs)
    console.print(
        f"\n{completed:,} jobs completed in {seconds:.1f} s. {_crash(bystanders)}",
        highlight=False,
    )
    console.print("Next: the README shows your first task.", style="bright_black")


def _crash(bystanders: int) -> str:
    if not bystanders:
        return "The crash harmed no other job."
    return (
        f"The crash took {counted(bystanders, 'running neighbour')} with it, which ran again and completed."
    )


async def _all(ops: Ops) -> Any:
    after: str | None = None
    while page := await ops.jobs(JobFilter(), 200, after):
        for job in page:
            yield job
        after = page[-1].id
