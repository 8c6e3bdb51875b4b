"""Ops: what a person may ask or do, over the real engine in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from runtime_kit import make_app

from penstock import (
    Context,
    InvalidArguments,
    InvalidOption,
    JobNotFound,
    Penstock,
    State,
    UnknownQueue,
    Unrecoverable,
)
from penstock.engine import DeadFilter, JobFilter, Recovery
from penstock.model.clock import FakeClock
from penstock.model.errors import ActionRefused
from penstock.model.job import Job, NewJob
from penstock.ops import MAX_PAGE, Ops
from penstock.tasks.ids import new_id

NOBODY = "01a1e133-183e-726a-a254-c5b487689627"


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    made = make_app()
    made.queue("email")

    @made.task
    async def fail(n: int) -> None:
        raise Unrecoverable(f"no {n}")

    @made.task(queue="email", key="mail:{n}")
    async def mail(ctx: Context, n: int) -> None:
        raise Unrecoverable("no")

    @made.task
    async def fine() -> int:
        return 1

    async with made:
        yield made


@pytest.fixture
def ops(app: Penstock) -> Ops:
    return app.ops


@pytest.fixture
def clock(app: Penstock) -> FakeClock:
    assert isinstance(app._clock, FakeClock)
    return app._clock


async def run(app: Penstock) -> None:
    await app.worker().run(burst=True)


async def dead(app: Penstock, count: int = 1) -> list[str]:
    jobs = await app.aenqueue_many(app.tasks["fail"].call(n=n) for n in range(count))
    await run(app)
    return [job.id for job in jobs]


async def get(app: Penstock, job_id: str) -> Job:
    return await app.ops.job(job_id)


# -- look -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("job_id", ["nonsense", NOBODY, ""])
async def test_a_job_that_is_not_there_is_told_so(ops: Ops, job_id: str) -> None:
    with pytest.raises(JobNotFound, match="no record of job"):
        await ops.job(job_id)
    with pytest.raises(JobNotFound, match="no dead letter"):
        await ops.dead_letter(job_id)


@pytest.mark.parametrize("limit", [0, MAX_PAGE + 1])
async def test_a_page_is_bounded(ops: Ops, limit: int) -> None:
    with pytest.raises(InvalidOption, match="1 to 200"):
        await ops.jobs(JobFilter(), limit)
    with pytest.raises(InvalidOption, match="1 to 200"):
        await ops.dead_letters(DeadFilter(), limit)


async def test_pages_follow_each_other_by_the_last_id(app: Penstock, ops: Ops) -> None:
    jobs = [(await app.tasks["fine"].aenqueue()).id for _ in range(5)]
    first = await ops.jobs(JobFilter(), 3)
    second = await ops.jobs(JobFilter(), 3, first[-1].id)
    assert [job.id for job in first + second] == jobs[::-1]
    with pytest.raises(InvalidOption, match="not the id of a job"):
        await ops.jobs(JobFilter(), 3, "page-2")
    with pytest.raises(InvalidOption, match="not the id of a job"):
        await ops.dead_letters(DeadFilter(), 3, "page-2")


async def test_queues_are_those_declared_and_those_that_hold_anything(app: Penstock, ops: Ops) -> None:
    await app.engine.enqueue([NewJob(new_id(), "foreign", "someone")])
    rows = {row.name: row for row in await ops.queues()}
    assert {name: row.declared for name, row in rows.items()} == {
        "default": True,
        "email": True,
        "foreign": False,
    }
    assert rows["foreign"].counts[State.WAITING] == 1
    assert not rows["email"].counts


async def test_the_catalogue_holds_every_task(ops: Ops) -> None:
    assert [row["name"] for row in ops.tasks()] == ["fail", "fine", "mail"]


# -- retry ------------------------------------------------------------------------------------------
async def test_retrying_a_delayed_job_makes_it_due_now(app: Penstock, ops: Ops) -> None:
    job = await app.tasks["fine"].using(delay=3600).aenqueue()
    assert await ops.retry(job.id) == (job.id, "due now")
    assert (await get(app, job.id)).state is State.WAITING


async def test_retrying_a_failed_job_recovers_it_once(app: Penstock, ops: Ops) -> None:
    (job_id,) = await dead(app)
    first = await ops.retry(job_id)
    again = await ops.retry(job_id)
    assert (first.how, again.how) == ("recovered", "recovered already")
    assert first.job_id == again.job_id
    assert (await get(app, job_id)).recovered_as == first.job_id
    assert (await get(app, first.job_id)).recovered_from == job_id


async def test_a_job_that_cannot_be_retried_is_refused_with_the_reason(app: Penstock, ops: Ops) -> None:
    job = await app.tasks["fine"].aenqueue()
    with pytest.raises(ActionRefused, match="waiting already, for a worker that serves queue 'default'"):
        await ops.retry(job.id)
    await run(app)
    with pytest.raises(ActionRefused, match="ended as completed"):
        await ops.retry(job.id)


async def test_a_job_that_runs_is_not_retried(app: Penstock, ops: Ops) -> None:
    from runtime_kit import make_worker

    job = await app.tasks["fine"].aenqueue()
    worker = make_worker(app)
    await app.engine.register(worker.info(), 60.0)
    await worker._pump.round()
    with pytest.raises(ActionRefused, match="running now"):
        await ops.retry(job.id)
    assert await ops.cancel(job.id) == (job.id, State.ACTIVE)


async def test_a_parked_job_is_not_said_to_be_next(app: Penstock, ops: Ops) -> None:
    job = NewJob(new_id(), "default", "unknown")
    await app.engine.enqueue([job])
    await run(app)
    with pytest.raises(ActionRefused, match=r"parked until a worker comes .* no worker here knows"):
        await ops.retry(job.id)


@pytest.mark.parametrize("state", [State.WAITING, State.COMPLETED])
async def test_a_delayed_job_that_moved_on_while_it_is_retried_is_told_as_it_is_now(
    app: Penstock, ops: Ops, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    job = await app.tasks["fine"].using(delay=60).aenqueue()

    async def too_late(ids: list[str]) -> int:
        clock.advance(61)
        await app.engine.stage(10)
        if state is State.COMPLETED:
            await run(app)
        return 0

    monkeypatch.setattr(app.engine, "promote", too_late)
    with pytest.raises(ActionRefused, match=f"{state}"):
        await ops.retry(job.id)


# -- cancel -----------------------------------------------------------------------------------------
async def test_cancelling_keeps_the_reason_and_happens_once(app: Penstock, ops: Ops) -> None:
    job = await app.tasks["fine"].aenqueue()
    assert await ops.cancel(job.id, "not needed") == (job.id, State.CANCELLED)
    assert (await get(app, job.id)).note == "not needed"
    with pytest.raises(ActionRefused, match="already ended as cancelled"):
        await ops.cancel(job.id)


async def test_a_job_that_ends_while_it_is_cancelled_is_not_said_to_be_cancelled(
    app: Penstock, ops: Ops, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await app.tasks["fine"].aenqueue()
    cancel = app.engine.cancel

    async def too_late(ids: list[str], reason: str) -> list[State | None]:
        await run(app)
        return await cancel(ids, reason)

    monkeypatch.setattr(app.engine, "cancel", too_late)
    with pytest.raises(ActionRefused, match="ended as completed meanwhile"):
        await ops.cancel(job.id)


async def test_a_job_pruned_while_it_is_cancelled_is_told_so(
    app: Penstock, ops: Ops, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await app.tasks["fine"].aenqueue()

    async def gone(ids: list[str], reason: str) -> list[None]:
        return [None]

    monkeypatch.setattr(app.engine, "cancel", gone)
    with pytest.raises(JobNotFound, match="any more"):
        await ops.cancel(job.id)


# -- recover ----------------------------------------------------------------------------------------
async def test_recovering_makes_a_new_job_that_takes_over_the_key(app: Penstock, ops: Ops) -> None:
    job = await app.tasks["mail"].aenqueue(n=1)
    await run(app)
    assert await ops.dead_count() == 1
    new = await get(app, (await ops.recover(job.id)).job_id)
    assert (new.state, new.attempt, new.key, new.args) == (State.WAITING, 0, "mail:1", {"n": 1})
    assert await ops.dead_count() == 0
    again = await app.tasks["mail"].aenqueue(n=1)
    assert again.duplicate
    assert again.id == new.id


async def test_an_edited_payload_must_fit_the_task(app: Penstock, ops: Ops) -> None:
    (job_id,) = await dead(app)
    with pytest.raises(InvalidArguments, match="n"):
        await ops.recover(job_id, {"n": "many"})
    assert await ops.dead_count() == 1
    new, already = await ops.recover(job_id, {"n": 42})
    assert not already
    assert (await get(app, new)).args == {"n": 42}


async def test_new_arguments_for_what_was_recovered_already_are_refused_and_say_as_which_job(
    app: Penstock, ops: Ops
) -> None:
    (job_id,) = await dead(app)
    new, _ = await ops.recover(job_id, {"n": 42})
    with pytest.raises(ActionRefused, match=f"recovered already, as job {new}"):
        await ops.recover(job_id, {"n": 43})
    assert await ops.recover(job_id) == (new, True)
    assert (await get(app, new)).args == {"n": 42}


async def test_a_failed_job_that_was_pruned_is_found_by_its_dead_letter(app: Penstock, ops: Ops) -> None:
    (job_id,) = await dead(app)
    await app.engine.delete([job_id])
    with pytest.raises(JobNotFound, match=f"penstock dlq show {job_id}"):
        await ops.job(job_id)


async def test_an_edited_payload_of_a_task_unknown_here_is_strict_json(app: Penstock, ops: Ops) -> None:
    (job_id,) = await dead(app)
    letter = replace(await ops.dead_letter(job_id), task="elsewhere")
    assert ops._payload(letter, {"any": [1]}) == '{"any":[1]}'


async def test_a_dead_letter_purged_meanwhile_is_told_so(
    app: Penstock, ops: Ops, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job_id,) = await dead(app)

    async def gone(recoveries: list[Recovery]) -> list[None]:
        return [None]

    monkeypatch.setattr(app.engine, "recover", gone)
    with pytest.raises(JobNotFound, match="purged meanwhile"):
        await ops.recover(job_id)


async def test_recovering_all_is_spread_over_time_by_the_rate(
    app: Penstock, ops: Ops, clock: FakeClock
) -> None:
    await dead(app, 5)
    ids = [job_id async for job_id in ops.recover_all(DeadFilter(task="fail"), rate=2.0)]
    due = sorted([(await get(app, job_id)).due_at.timestamp() for job_id in ids])
    assert [at - clock.now().timestamp() for at in due] == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert await ops.dead_count() == 0
    assert [job_id async for job_id in ops.recover_all(DeadFilter())] == []


async def test_recovering_all_goes_over_many_pages_and_stops_at_its_limit(
    app: Penstock, ops: Ops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.dead_letters.MAX_PAGE", 2)
    await dead(app, 7)
    assert len([x async for x in ops.recover_all(DeadFilter(), limit=3)]) == 3
    assert await ops.dead_count() == 4
    assert len([x async for x in ops.recover_all(DeadFilter())]) == 4


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
async def test_a_rate_that_cannot_be_is_refused(ops: Ops, rate: float) -> None:
    with pytest.raises(InvalidOption, match="rate"):
        _ = [x async for x in ops.recover_all(DeadFilter(), rate=rate)]


# -- pause ------------------------------------------------------------------------------------------
async def test_a_paused_queue_runs_nothing_until_resumed(app: Penstock, ops: Ops) -> None:
    await ops.pause("default")
    job = await app.tasks["fine"].aenqueue()
    await run(app)
    assert (await get(app, job.id)).state is State.WAITING
    assert {row.name: row.paused for row in await ops.queues()} == {"default": True, "email": False}
    await ops.resume("default")
    await run(app)
    assert (await get(app, job.id)).state is State.COMPLETED


async def test_pausing_a_queue_that_does_not_exist_lists_those_that_do(ops: Ops) -> None:
    with pytest.raises(UnknownQueue, match="default, email"):
        await ops.pause("mail")


async def test_reasons_are_kept_without_what_looks_like_a_secret(app: Penstock, ops: Ops) -> None:
    job = await app.tasks["fine"].aenqueue()
    await ops.cancel(job.id, "it had password=hunter2")
    (entry,) = await ops.audit.entries()
    assert entry.why == (await get(app, job.id)).note == "it had password=•••"
