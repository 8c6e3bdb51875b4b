"""enqueue: all or none, in order, once per key."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    claim,
    counts,
    failed,
    finish,
    ids,
    new,
    news,
    put,
    read,
    settle,
    state,
    take,
)
from penstock.engine import JobFilter, Recovery, Retention
from penstock.model.job import Enqueued
from penstock.model.priority import Priority
from penstock.model.states import State


async def test_an_enqueued_job_is_there_as_it_was_given(engine, clock):
    job = new(
        "mail", "app.send", args='{"to":"ana"}', priority=2, max_attempts=7, owner="u1", options='{"a":1}'
    )
    assert await engine.enqueue([job]) == [Enqueued(job.id, State.WAITING, False)]
    found = await read(engine, job.id)
    assert (found.id, found.queue, found.task, found.lane) == (job.id, "mail", "app.send", "mail")
    assert (found.args_json, found.options_json) == ('{"to":"ana"}', '{"a":1}')
    assert (found.state, found.attempt, found.max_attempts) == (State.WAITING, 0, 7)
    assert (found.priority, found.owner) == (Priority.HIGH, "u1")
    assert (found.key, found.unique) == (job.id, False)
    assert found.created_at == found.due_at == clock.now()
    assert found.started_at is found.claimed_at is found.finished_at is found.expires_at is None
    assert found.worker is found.progress is found.result_json is found.note is None
    assert (found.errors, found.ran_for, found.crashes, found.rescues) == ([], 0, 0, 0)
    assert [found.suspect, found.cancel_requested, found.parked] == [False] * 3
    assert found.recovered_from is found.recovered_as is None


async def test_a_delayed_job_is_due_by_the_engines_clock(engine, clock):
    job_id = await put(engine, delay=90.5, expire_after=60)
    found = await read(engine, job_id)
    assert found.state is State.DELAYED
    assert found.created_at == clock.now()
    assert found.due_at == clock.now() + timedelta(seconds=90.5)
    assert found.expires_at == clock.now() + timedelta(seconds=150.5)


async def test_the_answers_come_in_the_order_of_the_jobs(engine):
    jobs = [new(delay=n % 2) for n in range(50)]
    jobs.reverse()
    answers = await engine.enqueue(jobs)
    assert ids(answers) == ids(jobs)
    assert [a.state for a in answers] == [State.DELAYED if j.delay else State.WAITING for j in jobs]


async def test_nothing_to_enqueue_is_nothing_done(engine):
    assert await engine.enqueue([]) == []
    assert await engine.queues() == []


async def test_a_batch_may_span_queues_and_tasks(engine):
    jobs = [new("a", "t.one"), new("b", "t.two"), new("a", "t.two", key="k"), new("b", "t.one", delay=5)]
    await engine.enqueue(jobs)
    assert await counts(engine, "a") == {State.WAITING: 2}
    assert await counts(engine, "b") == {State.WAITING: 1, State.DELAYED: 1}


async def test_five_thousand_jobs_go_in_at_once(engine):
    jobs = [new(key=f"k{n}" if n % 2 else None) for n in range(5_000)]
    answers = await engine.enqueue(jobs)
    assert ids(answers) == ids(jobs)
    assert await counts(engine) == {State.WAITING: 5_000}


async def test_a_batch_with_one_bad_job_puts_none_in(engine):
    bad = [new(), new(key="k"), new()._replace(args=object())]
    with suppress(Exception):
        await engine.enqueue(bad)
    assert await engine.jobs(JobFilter(), 10) == []
    assert (await engine.enqueue([new(key="k")]))[0].duplicate is False


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
async def test_a_caller_that_gives_up_leaves_all_or_none(engine, turns):
    jobs = news(300)
    call = asyncio.create_task(engine.enqueue(jobs))
    for _ in range(turns):
        await asyncio.sleep(0)
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    assert ids(await engine.enqueue(jobs, again=True)) == ids(jobs)
    assert await counts(engine) == {State.WAITING: 300}


# -- keys -------------------------------------------------------------------------------------------


async def test_a_taken_key_answers_with_its_holder_and_creates_nothing(engine):
    first, second = new(key="k", args='{"n":1}'), new(key="k", args='{"n":2}')
    await engine.enqueue([first])
    assert await engine.enqueue([second]) == [Enqueued(first.id, State.WAITING, True)]
    assert await engine.get(second.id) is None
    assert (await read(engine, first.id)).args == {"n": 1}
    assert await counts(engine) == {State.WAITING: 1}


async def test_a_duplicate_is_told_the_holders_present_state(engine, worker):
    held = await take(engine, key="k")
    assert await engine.enqueue([new(key="k")]) == [Enqueued(held.id, State.ACTIVE, True)]
    await settle(engine, held)
    assert await engine.enqueue([new(key="k")]) == [Enqueued(held.id, State.COMPLETED, True)]
    delayed = await put(engine, key="later", delay=60)
    assert await engine.enqueue([new(key="later")]) == [Enqueued(delayed, State.DELAYED, True)]


async def test_a_finished_job_holds_its_key_until_it_is_pruned(engine, worker):
    held = await finish(engine, key="k")
    assert (await engine.enqueue([new(key="k")]))[0].duplicate
    await engine.prune(Retention(QUEUE, keep_completed=0), 10)
    fresh = new(key="k")
    assert await engine.enqueue([fresh]) == [Enqueued(fresh.id, State.WAITING, False)]
    assert fresh.id != held.id


async def test_equal_keys_in_one_batch_make_one_job(engine):
    first, other, second = new(key="k"), new(key="other"), new(key="k")
    assert await engine.enqueue([first, other, second]) == [
        Enqueued(first.id, State.WAITING, False),
        Enqueued(other.id, State.WAITING, False),
        Enqueued(first.id, State.WAITING, True),
    ]


async def test_the_first_of_equal_keys_in_a_batch_wins_whatever_the_ids(engine):
    later, earlier = sorted((new(key="k"), new(key="k")), reverse=True)
    assert ids(await engine.enqueue([later, earlier])) == [later.id, later.id]


async def test_equal_and_taken_keys_in_a_large_batch_are_answered_with_their_holders(engine):
    """Large batches may take another way in; it must lead to the same place."""
    taken = await put(engine, key="taken")
    plain, keyed = news(60), [new(key=f"k{n}") for n in range(60)]
    again = sorted((new(key="twice"), new(key="twice")), reverse=True)
    answers = await engine.enqueue([*plain, new(key="taken"), *keyed, *again])
    assert ids(answers) == [*ids(plain), taken, *ids(keyed), again[0].id, again[0].id]
    assert [n for n, answer in enumerate(answers) if answer.duplicate] == [60, 122]
    assert await counts(engine) == {State.WAITING: 122}


async def test_a_large_batch_of_new_keys_holds_them(engine):
    jobs = [new(key=f"k{n}", delay=n % 2, owner="ana", expire_after=60) for n in range(100)]
    assert ids(await engine.enqueue(jobs)) == ids(jobs)
    assert [answer.duplicate for answer in await engine.enqueue([new(key="k7"), new(key="k100")])] == [
        True,
        False,
    ]
    found = await read(engine, jobs[7].id)
    assert (found.key, found.unique, found.owner, found.state) == ("k7", True, "ana", State.DELAYED)


@pytest.mark.parametrize(("queue", "task"), [("other", TASK), (QUEUE, "app.other")])
async def test_keys_are_per_queue_and_task(engine, queue, task):
    await put(engine, key="k")
    fresh = new(queue, task, key="k")
    assert await engine.enqueue([fresh]) == [Enqueued(fresh.id, State.WAITING, False)]


async def test_names_and_keys_never_run_together(engine):
    jobs = [
        new("a", "b.c", key="d"),
        new("a.b", "c", key="d"),
        new("a", "b", key="c:d"),
        new("a", "b", key="c.d"),
    ]
    assert not any(a.duplicate for a in await engine.enqueue(jobs))


async def test_a_minted_key_is_no_key(engine):
    job = new(key="k")
    minted = new()._replace(key="k")  # not unique: the key is only carried
    assert not any(a.duplicate for a in await engine.enqueue([job, minted, minted._replace(id=new().id)]))
    assert (await read(engine, minted.id)).key == "k"


@pytest.mark.parametrize("key", [" ", "K", "ключ", "a'b\"c;--", "%", "_", "\u202e", "\n", "x" * 255])
async def test_any_text_can_be_a_key(engine, key):
    job = new()._replace(key=key, unique=True)
    assert (await engine.enqueue([job]))[0].duplicate is False
    assert (await engine.enqueue([job._replace(id=new().id)]))[0].duplicate is True
    assert (await read(engine, job.id)).key == key
    assert (await engine.enqueue([new(key="k")]))[0].duplicate is False


# -- again: after a lost reply ----------------------------------------------------------------------


async def test_calling_again_makes_nothing_twice(engine):
    jobs = [new(), new(key="k"), new(delay=60), new(key="later", delay=60)]
    first = await engine.enqueue(jobs)
    assert await engine.enqueue(jobs, again=True) == first
    assert await counts(engine) == {State.WAITING: 2, State.DELAYED: 2}


async def test_calling_again_when_the_first_call_did_not_happen_makes_the_jobs(engine):
    jobs = [new(), new(key="k"), new(delay=60)]
    assert [(a.id, a.duplicate) for a in await engine.enqueue(jobs, again=True)] == [
        (j.id, False) for j in jobs
    ]
    assert await counts(engine) == {State.WAITING: 2, State.DELAYED: 1}


@pytest.mark.parametrize("key", [None, "k"])
async def test_calling_again_finds_a_job_that_runs_or_has_finished_meanwhile(engine, worker, key):
    job = new(key=key)
    await engine.enqueue([job])
    [held] = await claim(engine)
    assert await engine.enqueue([job], again=True) == [Enqueued(job.id, State.ACTIVE, False)]
    await settle(engine, held)
    assert await engine.enqueue([job], again=True) == [Enqueued(job.id, State.COMPLETED, False)]
    assert await counts(engine) == {State.COMPLETED: 1}
    assert await claim(engine) == []


async def test_calling_again_still_tells_a_duplicate_from_its_own(engine):
    holder, late = new(key="k"), new(key="k")
    await engine.enqueue([holder])
    await engine.enqueue([late])
    assert await engine.enqueue([late], again=True) == [Enqueued(holder.id, State.WAITING, True)]
    assert await engine.get(late.id) is None


async def test_calling_again_with_equal_keys_in_the_batch_answers_as_before(engine):
    batch = [new(key="k"), new(key="k"), new(key="other")]
    first = await engine.enqueue(batch)
    assert await engine.enqueue(batch, again=True) == first


async def test_calling_again_finds_its_own_job_although_its_key_has_passed_on(engine, worker):
    job = new(key="k")
    await engine.enqueue([job])
    [held] = await claim(engine)
    await settle(engine, held, failed())
    heir = new().id
    await engine.recover([Recovery(job.id, heir)])
    assert await engine.enqueue([job], again=True) == [Enqueued(job.id, State.FAILED, False)]
    assert await state(engine, heir) is State.WAITING


@pytest.mark.parametrize("key", [None, "given"])
@pytest.mark.parametrize("count", [1, 2, 70])
async def test_a_job_that_is_there_already_is_known_by_its_id_without_being_told(engine, count, key):
    jobs = [new(key=key and f"{key}-{n}") for n in range(count)]
    first = await engine.enqueue(jobs, again=True)
    assert await engine.enqueue([*jobs, late := new()]) == [*first, Enqueued(late.id, State.WAITING, False)]
    assert (await counts(engine))[State.WAITING] == count + 1


@pytest.mark.parametrize("count", [1, 70])
async def test_the_same_jobs_enqueued_at_once_are_there_once(engine, count):
    jobs = news(count)
    first, *others = await asyncio.gather(
        engine.enqueue(jobs), engine.enqueue(jobs, again=True), engine.enqueue(jobs, again=True)
    )
    assert others == [first, first]
    assert (await counts(engine))[State.WAITING] == count
