"""Writes the docs that are made from code: `python -m docs.generate`, or with `--check` only compares."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from penstock.model import errors
from penstock.model.failure import HANDLING
from penstock.model.priority import HEAD_START
from penstock.model.retry import POLICIES
from penstock.model.states import FINISHED, TRANSITIONS, State

HERE = Path(__file__).parent
MEANING = {
    State.WAITING: "due; a worker may claim it",
    State.DELAYED: "due later: enqueued with a delay, backing off after an error, or snoozed",
    State.BLOCKED: "needs another job first",
    State.ACTIVE: "in a worker's hand, under a token",
    State.COMPLETED: "ended well; the result is kept with the record",
    State.FAILED: "could not be done; a dead letter was written in the same step",
    State.CANCELLED: "ended by a person, or because it expired",
}


def states() -> str:
    """The state machine, as a figure and as tables."""
    lines = ["# The states of a job", "", _NOTE, "", "```mermaid", "stateDiagram-v2"]
    for (before, verb), after in TRANSITIONS.items():
        start = before or "[*]"
        lines += [f"    {start} --> {state}: {verb}" for state in sorted(after)]
    lines += [f"    {state} --> [*]" for state in sorted(FINISHED)]
    lines += ["```", "", "| state | meaning |", "|---|---|"]
    lines += [f"| `{state}` | {MEANING[state]} |" for state in State]
    lines += ["", "| from | verb | to |", "|---|---|---|"]
    lines += [
        f"| {f'`{before}`' if before else '(new)'} | {verb} | {', '.join(f'`{s}`' for s in sorted(after))} |"
        for (before, verb), after in TRANSITIONS.items()
    ]
    lines += ["", _OUTSIDE, ""]
    return "\n".join(lines)


def policies() -> str:
    """Retry policies, failure classes, priorities and errors, with their numbers."""
    lines = ["# Retries, failures, priorities, errors", "", _NOTE, "", "## Named retry policies", ""]
    lines += ["| name | attempts | delay | cap | retries only | never retries |", "|---|---|---|---|---|---|"]
    for name, p in POLICIES.items():
        delay = {"exponential": f"{p.delay:g} s * {p.factor:g}^n + 10 %", "fixed": f"{p.delay:g} s + 10 %"}
        cells = (
            f"`{name}`",
            str(p.attempts),
            delay.get(p.strategy, "none"),
            "" if p.cap is None else f"{p.cap:g} s",
            ", ".join(map(str, p.retry_on)),
            ", ".join(map(str, p.no_retry_on)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Failure classes", "", "| class | tried again | alert | page |", "|---|---|---|---|"]
    lines += [
        f"| `{kind}` | {'yes' if h.retry else 'no'} | {h.alert} | {'yes' if h.page else 'no'} |"
        for kind, h in HANDLING.items()
    ]
    lines += ["", "## Priorities", "", "| priority | head start |", "|---|---|"]
    lines += [f"| `{p.name.lower()}` = {p.value} | {start} s |" for p, start in HEAD_START.items()]
    tree = inspect.getdoc(errors) or ""
    lines += ["", "## Errors", "", "```", tree.partition("\n\n")[2], "```", ""]
    return "\n".join(lines)


_NOTE = "<!-- Written by `python -m docs.generate` from the code. Do not edit. -->"
_OUTSIDE = (
    "Outside Penstock (HTTP, `background_jobs`) a job is `pending` until it first starts, `processing` until it "
    "ends, and then `completed`, `failed` or `cancelled`. Pausing belongs to the queue, parking to the lane: "
    "neither is a state."
)
PAGES = {"states.md": states, "policies.md": policies}


def main() -> int:
    stale = []
    for name, make in PAGES.items():
        path = HERE / name
        if not path.exists() or path.read_text() != make():
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(make())
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make format`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
