"""One bad job never stops a worker nor costs it a slot: it ends, with a reason, and the others run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from runtime_kit import make_app, make_worker

from penstock import Penstock, RateLimited, Retry, Snooze, State
from penstock.model.job import Job, NewJob
from penstock.tasks.ids import new_id


@dataclass
class Colour:
    name: str

    def __post_init__(self) -> None:
        {"red": 1}[self.name]


class Coded(Exception):
    def __init__(self, code: str) -> None:
        self.code = code


class CodeRaises(Exception):
    @property
    def code(self) -> str:
        raise KeyError("code")


class Speechless(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)


class Homeless(Snooze):
    def __init__(self) -> None:
        """Its own, which forgets how long."""


RAISED: dict[str, Any] = {
    "snooze": lambda: Snooze(1e20),
    "limited": lambda: RateLimited(1e20),
    "nul": lambda: Coded("E\x00"),
    "surrogate": lambda: Coded("E\ud800"),
    "code raises": CodeRaises,
    "speechless": Speechless,
    "homeless": Homeless,
    "odd name": type("Odd", (Exception,), {"__qualname__": "Odd\ud800\x00"}),
}


def broken_rule(_: BaseException) -> str:
    raise SystemExit("the rule is broken")


@pytest.fixture(name="app")
async def bad_app() -> AsyncIterator[Penstock]:
    made = make_app()

    @made.task
    async def paint(colour: Colour) -> None: ...

    @made.task
    async def on_loop(what: str) -> None:
        error: Exception = RAISED[what]()
        raise error

    @made.task
    def in_thread(what: str) -> None:
        error: Exception = RAISED[what]()
        raise error

    @made.task(retry=Retry(attempts=5, delay=1, factor=1e200))
    async def grows() -> None:
        raise ValueError("again")

    @made.task(classify=broken_rule)
    async def ruled() -> None:
        raise ValueError("what the handler said")

    @made.task
    async def circular() -> dict[str, object]:
        made: dict[str, object] = {}
        made["self"] = made
        return made

    @made.task
    async def fine() -> None: ...

    async with made:
        yield made


async def run_beside_a_good_one(app: Penstock, bad: NewJob) -> Job:
    """With one slot only: a slot that is lost would leave the good job waiting."""
    good = NewJob(new_id(), "default", "fine")
    await app.engine.enqueue([bad, good])
    worker = make_worker(app, slots=1)
    await app.engine.register(worker.info(), 60.0)
    await worker.run(burst=True)
    found, ran = await app.engine.get(bad.id), await app.engine.get(good.id)
    assert found is not None
    assert ran is not None
    assert ran.state is State.COMPLETED
    return found


def bad(task: str, args: str = "{}", **more: Any) -> NewJob:
    return NewJob(new_id(), "default", task, args, **more)


async def test_a_payload_whose_own_type_raises_is_parked_with_the_reason(app: Penstock) -> None:
    job = await run_beside_a_good_one(app, bad("paint", '{"colour": {"name": "mauve"}}'))
    assert job.parked
    assert "KeyError" in (job.note or "")
    assert "mauve" not in (job.note or "")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ('{"timeout": "60"}', "timeout"),
        ('{"timeout": 0}', "timeout"),
        ("[]", "an object"),
        ("nonsense", "JSON"),
        ('{"retry": {"bogus": 1}}', "bogus"),
        ('{"retry": {"delay": "soon"}}', "delay"),
        ('{"retry": {"retry_on": 5}}', "retry_on"),
        ('{"retry": "nonsense"}', "nonsense"),
        ('{"retry": [1]}', "retry"),
        ('{"timout": 60}', "timout"),
    ],
)
async def test_options_that_cannot_be_read_are_a_dead_letter_that_says_why(
    app: Penstock, options: str, told: str
) -> None:
    job = await run_beside_a_good_one(app, bad("fine", options=options))
    assert (job.state, job.note) == (State.FAILED, "invalid-input")
    assert "options" in job.errors[-1]["message"]
    assert told in job.errors[-1]["message"]


@pytest.mark.parametrize("task", ["on_loop", "in_thread"])
@pytest.mark.parametrize("what", RAISED)
async def test_whatever_a_handler_raises_is_a_failed_attempt(app: Penstock, task: str, what: str) -> None:
    job = await run_beside_a_good_one(app, bad(task, f'{{"what": "{what}"}}'))
    assert job.attempt == 1
    assert len(job.errors) == 1


async def test_a_code_is_cleaned_like_a_message(app: Penstock) -> None:
    job = await run_beside_a_good_one(app, bad("on_loop", '{"what": "nul"}'))
    assert job.errors[0]["code"] == "E"


async def test_a_backoff_that_grows_beyond_all_numbers_ends_at_its_longest(app: Penstock) -> None:
    job = bad("grows", max_attempts=5)
    held = await run_beside_a_good_one(app, job)
    for _ in range(3):
        await app.engine.promote([job.id])
        held = await run_beside_a_good_one(app, bad("fine"))
    found = await app.engine.get(job.id)
    assert found is not None
    assert (found.state, found.attempt) == (State.DELAYED, 4)
    assert held.state is State.COMPLETED


async def test_a_rule_that_breaks_is_noted_beside_the_failure_it_was_asked_about(app: Penstock) -> None:
    job = await run_beside_a_good_one(app, bad("ruled"))
    assert job.errors[0]["message"] == "what the handler said"
    assert "classify" in job.errors[0]["note"]
    assert "the rule is broken" in job.errors[0]["note"]


async def test_a_job_that_fits_neither_of_two_versions_is_looked_at_once_by_each(app: Penstock) -> None:
    other = make_app()

    @other.task(name="paint")
    async def paint(colour: int) -> None: ...

    job = bad("paint", '{"colour": "mauve"}')
    await app.engine.enqueue([job])
    settled = []
    for version in (app, other, app, other):
        worker = make_worker(version, app.engine)
        await app.engine.register(worker.info(), 60.0)
        await worker.run(burst=True)
        settled.append(worker.settled)
    assert settled == [1, 1, 0, 0]


async def test_work_whose_result_cannot_be_written_is_done(app: Penstock) -> None:
    job = await run_beside_a_good_one(app, bad("circular"))
    assert (job.state, job.attempt) == (State.COMPLETED, 1)
    assert (job.note or "").startswith("result dropped: ")
