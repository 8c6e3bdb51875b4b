"""`penstock bulk`: act on all jobs that match, after a look at how many there are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, NamedTuple

import typer

from penstock.bulk import RECOVER_RATE
from penstock.cli import common
from penstock.cli.common import (
    AppOption,
    ArgOption,
    CreatedOption,
    JsonOption,
    KeyOption,
    OwnerOption,
    QueueOption,
    StateOption,
    TagOption,
    TaskOption,
    WhyOption,
    actor,
    load,
    with_ops,
)
from penstock.cli.output import counted, errors, hint, job_json, listed, print_json, say
from penstock.engine import JobFilter
from penstock.matching import Preview, Step, Sure
from penstock.model.errors import InvalidOption
from penstock.model.matched import STATES, Act
from penstock.ops import Ops
from penstock.searching import Fit


class Verb(StrEnum):
    """What can be done to all that match."""

    RETRY = "retry"
    PROMOTE = "promote"
    CANCEL = "cancel"
    DELETE = "delete"


_DONE = {
    Verb.RETRY: "will run again",
    Verb.PROMOTE: "due now",
    Verb.CANCEL: "cancelled, or asked to stop",
    Verb.DELETE: "deleted",
}


class Which(NamedTuple):
    """The jobs that are meant, and what is to be done to them."""

    act: Act
    where: JobFilter
    fit: Fit


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Act")(bulk)


def bulk(
    act: Annotated[Verb, typer.Argument(help="What to do to them")],
    app: AppOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    state: StateOption = None,
    owner: OwnerOption = None,
    key: KeyOption = None,
    tag: TagOption = None,
    since: CreatedOption = None,
    arg: ArgOption = None,
    rate: Annotated[float, typer.Option(help="Failed jobs per second that come back")] = RECOVER_RATE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what matches")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    why: WhyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Retry, promote, cancel or delete all jobs that match.

    Only those that match at the moment of the look, and are still so when it comes to them.
    """
    where = JobFilter(
        queue=queue, task=task, state=state, owner=owner, key=key, since=common.since(since), payloads=False
    )
    which = Which(act.value, where, Fit(common.pairs("--arg", arg or ()), tag))
    if state is not None and state not in STATES[which.act]:
        raise InvalidOption(f"{act} is for jobs that are {' or '.join(STATES[which.act])}, not {state}")
    seen = with_ops(app, lambda ops: _counted(ops, which))
    if not as_json:
        _show(act, seen)
    done = Step(0, 0, None)
    if seen.count and not dry_run:
        if not yes:
            question = f"{act.capitalize()} {counted(seen.count, 'job')}? (--yes does not ask)"
            typer.confirm(question, abort=True, err=True)
        done = asyncio.run(_do(app, which, seen, rate, why))
    left = 0 if dry_run else max(0, seen.count - done.done)
    if as_json:
        print_json({**_told(act, seen), "done": done.done, "left": left})
    elif seen.count and not dry_run:
        say(f"{counted(done.done, 'job')} {_DONE[act]}.")
        if left:
            say(f"{counted(left, 'job')} had changed by then, and were left alone.")


def _told(act: Verb, seen: Preview) -> dict[str, object]:
    return {
        "act": act.value,
        "cut_off": seen.cut_off.isoformat(),
        "matched": seen.count,
        "by_state": dict(seen.by_state),
        "examples": [job_json(job) for job in seen.examples],
    }


def _show(act: Verb, seen: Preview) -> None:
    if not seen.count:
        states = " or ".join(STATES[act.value])
        say(f"No jobs match that {act} is for: it is for those that are {states}.")
        return
    split = ""
    if len(seen.by_state) > 1:
        split = f" ({listed([f'{number:,} {state}' for state, number in seen.by_state.items()])})"
    say(f"{counted(seen.count, 'job')}{split} matched at {seen.cut_off:%Y-%m-%d %H:%M:%S} UTC.")
    hint(f"Such as {listed([f'{job.task} {job.id} ({job.state})' for job in seen.examples])}")


async def _counted(ops: Ops, which: Which) -> Preview:
    """Look by look until all are counted: what is asked about is an exact number."""
    from rich.progress import Progress, SpinnerColumn, TextColumn  # noqa: PLC0415 - slow to load

    told = (SpinnerColumn(), TextColumn("{task.completed:,} counted so far"))
    with Progress(*told, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        bar = progress.add_task("Counting", total=None)
        seen = await ops.matching.preview(*which)
        examples = list(seen.examples)
        while seen.next is not None:
            progress.update(bar, completed=seen.count)
            seen = await ops.matching.preview(*which, seen.next)
            examples += seen.examples
    return replace(seen, examples=examples)


async def _do(ref: str | None, which: Which, seen: Preview, rate: float, why: str | None) -> Step:
    """Step by step, until there are no more; a step that was made stays made."""
    penstock, who = load(ref), actor(why)
    async with penstock:
        from rich.progress import Progress  # noqa: PLC0415 - slow to load

        with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
            bar = progress.add_task(which.act.capitalize(), total=seen.count)
            done = Step(0, 0, None)
            while True:
                step = await _step(penstock.ops_as(who), which, seen, rate, why, done)
                done = Step(done.done + step.done, done.left + step.left, step.next)
                progress.update(bar, completed=done.done + done.left)
                if done.next is None:
                    return done


async def _step(ops: Ops, which: Which, seen: Preview, rate: float, why: str | None, done: Step) -> Step:
    sure = Sure(seen.cut_off, seen.count, seen.confirm or "")
    return await ops.matching.step(
        which.act,
        which.where,
        which.fit,
        sure,
        after=done.next,
        done=done.done,
        rate=rate,
        reason=why,
    )
