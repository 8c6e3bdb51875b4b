"""What a person can ask: get, jobs, dead_letters, queues, workers. True, bounded, in a stable order."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest

from conformance.kit import (
    QUEUE,
    claim,
    counts,
    failed,
    finish,
    ids,
    new,
    news,
    parked,
    put,
    read,
    register,
    retried,
    settle,
    take,
)
from penstock.engine import (
    NOT_READ,
    DeadFilter,
    HistoryFilter,
    JobFilter,
    Recovery,
    Retention,
    WorkerInfo,
)
from penstock.model.ids import uuid7
from penstock.model.outcome import COMPLETED, Cancelled
from penstock.model.states import State


async def test_an_unknown_job_is_none(engine):
    assert await engine.get(new().id) is None
    assert await engine.dead_letter(new().id) is None


@pytest.mark.parametrize("wrong", ["", "x", "'; drop table jobs; --", "\u202e"])
async def test_what_is_no_id_is_no_job(engine, wrong):
    assert await engine.get(wrong) is None
    assert await engine.dead_letter(wrong) is None
    assert await engine.cancel([wrong], "no") == [None]
    assert await engine.promote([wrong]) == await engine.delete([wrong]) == 0


# -- jobs -------------------------------------------------------------------------------------------


@pytest.fixture
async def some(engine, worker, clock):
    """One job of each kind, a second apart: name -> id."""
    made = {}

    async def make(name, *args, outcome=COMPLETED, **more):
        made[name] = (await finish(engine, *args, outcome=outcome, **more)).id
        clock.advance(1)

    await make("completed", key="k", owner="ana")
    await make("failed", "mail", outcome=failed())
    await make("cancelled", task="app.other", outcome=Cancelled("no"))
    await make("delayed", owner="ana", outcome=retried(60))
    await make("parked", outcome=parked())
    made["active"] = (await take(engine, "mail", key="k2", owner="bo")).id
    clock.advance(1)
    made["waiting"] = await put(engine)
    return made


CASES = [
    (JobFilter(), {"completed", "failed", "cancelled", "delayed", "parked", "active", "waiting"}),
    (JobFilter(queue="mail"), {"failed", "active"}),
    (JobFilter(queue="none"), set()),
    (JobFilter(task="app.other"), {"cancelled"}),
    (JobFilter(owner="ana"), {"completed", "delayed"}),
    (JobFilter(key="k"), {"completed"}),
    (JobFilter(key="k2"), {"active"}),
    (JobFilter(parked=True), {"parked"}),
    (JobFilter(parked=False), {"completed", "failed", "cancelled", "delayed", "active", "waiting"}),
    (JobFilter(state=State.WAITING), {"parked", "waiting"}),
    (JobFilter(state=State.WAITING, parked=False), {"waiting"}),
    (JobFilter(state=State.BLOCKED), set()),
    (JobFilter(queue="mail", state=State.ACTIVE, owner="bo", key="k2"), {"active"}),
    (JobFilter(queue="mail", owner="ana"), set()),
    *((JobFilter(state=s), {s.value}) for s in State if s not in (State.WAITING, State.BLOCKED)),
]


def asked(where: object) -> str:
    """The filter as a short test id."""
    if not isinstance(where, JobFilter):
        return ""
    given = {name: value for name in where.__slots__ if (value := getattr(where, name)) is not None}
    return ",".join(f"{name}={value}" for name, value in given.items()) or "all"


@pytest.mark.parametrize(("where", "names"), CASES, ids=asked)
async def test_jobs_are_found_by_every_filter_newest_first(engine, some, where, names):
    expected = sorted((some[name] for name in names), reverse=True)
    assert ids(await engine.jobs(where, 100)) == expected


async def test_jobs_are_found_by_when_they_were_created(engine, some, clock):
    start = clock.now() - timedelta(seconds=6)
    by_age = sorted(some.values())
    created = [j.created_at for j in (await engine.jobs(JobFilter(), 100))[::-1]]
    assert created == [start + timedelta(seconds=n) for n in range(7)]
    since, until = start + timedelta(seconds=2), start + timedelta(seconds=4)
    assert ids(await engine.jobs(JobFilter(since=since), 100)) == by_age[:1:-1]
    assert ids(await engine.jobs(JobFilter(until=until), 100)) == by_age[3::-1]
    assert ids(await engine.jobs(JobFilter(since=since, until=until), 100)) == by_age[3:1:-1]


@pytest.mark.parametrize("off", [-50, 0, 50], ids=["behind", "right", "ahead"])
async def test_jobs_are_found_by_when_they_were_created_though_the_clock_that_made_their_id_is_off(
    make_engine, off
):
    engine = await make_engine(clock=None)
    made_ms = (time.time_ns() // 1_000_000) + off * 1_000
    job = await read(engine, await put(engine, id=uuid7(made_ms, 0, 0)))
    moment = timedelta(microseconds=1)
    assert ids(await engine.jobs(JobFilter(since=job.created_at), 10)) == [job.id]
    assert ids(await engine.jobs(JobFilter(since=job.created_at + moment), 10)) == []
    assert ids(await engine.jobs(JobFilter(until=job.created_at + moment), 10)) == [job.id]
    assert ids(await engine.jobs(JobFilter(until=job.created_at), 10)) == []
    assert ids(await engine.jobs(JobFilter(since=job.created_at), 10, after=job.id)) == []


async def test_a_listed_job_is_the_job(engine, some):
    for job in await engine.jobs(JobFilter(), 100):
        assert job == await engine.get(job.id)


@pytest.mark.parametrize(
    "where", [JobFilter(), JobFilter(queue=QUEUE), JobFilter(task="app.work")], ids=asked
)
async def test_pages_hold_every_job_once_in_order(engine, some, where):
    whole = ids(await engine.jobs(where, 100))
    paged: list[str] = []
    while page := await engine.jobs(where, 2, after=paged[-1] if paged else None):
        assert len(page) <= 2
        paged += ids(page)
    assert paged == whole


async def test_pages_are_stable_while_jobs_come_end_and_go(engine, worker):
    jobs = news(6)
    await engine.enqueue(jobs)
    first = await engine.jobs(JobFilter(), 2)
    await engine.enqueue(news(3))
    held = await claim(engine, limit=3)
    await settle(engine, held[0])
    await settle(engine, held[1], keep=False)
    rest = await engine.jobs(JobFilter(), 100, after=first[-1].id)
    assert ids(first) + ids(rest) == [j.id for j in jobs[::-1] if j.id != held[1].id]


async def test_a_page_may_follow_a_job_that_is_gone(engine, worker):
    jobs = [await finish(engine) for _ in range(3)]
    await engine.delete([jobs[1].id])
    assert ids(await engine.jobs(JobFilter(), 10, after=jobs[1].id)) == [jobs[0].id]


@pytest.mark.parametrize("text", ["' OR 1=1 --", "%", "_", '"', "\\", "\u202e"])
async def test_filters_are_values_not_patterns(engine, some, text):
    for where in (JobFilter(queue=text), JobFilter(task=text), JobFilter(owner=text), JobFilter(key=text)):
        assert await engine.jobs(where, 10) == []


# -- dead letters -----------------------------------------------------------------------------------


@pytest.fixture
async def dead(engine, worker, clock):
    """Four dead letters a second apart, the first of them recovered."""
    made = []
    for queue, task, reason in [
        (QUEUE, "app.a", "exhausted"),
        (QUEUE, "app.b", "exhausted"),
        ("mail", "app.a", "unrecoverable"),
        ("mail", "app.b", "exhausted"),
    ]:
        made.append((await finish(engine, queue, task, outcome=failed(reason))).id)
        clock.advance(1)
    await engine.recover([Recovery(made[0], new().id)])
    return made


async def letters(engine, limit=100, after=None, **where) -> list[str]:
    return [d.job_id for d in await engine.dead_letters(DeadFilter(**where), limit, after)]


async def test_dead_letters_are_listed_newest_first_without_the_recovered(engine, dead):
    assert await letters(engine) == dead[:0:-1]
    assert dead[0] in await letters(engine, recovered=True)


async def test_dead_letters_are_found_by_every_filter(engine, dead):
    assert await letters(engine, queue="mail") == [dead[3], dead[2]]
    assert await letters(engine, task="app.b") == [dead[3], dead[1]]
    assert await letters(engine, reason="unrecoverable") == [dead[2]]
    assert await letters(engine, queue="mail", task="app.a", reason="unrecoverable") == [dead[2]]
    assert await letters(engine, queue="none") == []


async def test_an_empty_name_is_nobodys_and_not_everybodys(engine, dead):
    await finish(engine, "post", outcome=failed(), owner="ana", key="k")
    await finish(engine, "mail", owner="ana", key="k2")
    for name in ("queue", "task", "owner", "key"):
        assert await engine.jobs(JobFilter(**{name: ""}), 10) == []
        assert await engine.histories(HistoryFilter(**{name: ""}), 10) == []
    for name in ("queue", "task", "owner"):
        assert await letters(engine, **{name: ""}) == []


async def test_dead_letters_are_found_by_the_owner_of_the_job(engine, dead):
    mine = (await finish(engine, "post", outcome=failed(), owner="ana")).id
    await finish(engine, "post", outcome=failed(), owner="bea")
    assert await letters(engine, owner="ana") == [mine]
    assert await letters(engine, owner="nobody") == []


async def test_dead_letters_are_found_by_when_they_failed(engine, dead, clock):
    start = clock.now() - timedelta(seconds=4)
    assert await letters(engine, since=start + timedelta(seconds=2)) == [dead[3], dead[2]]
    assert await letters(engine, until=start + timedelta(seconds=2)) == [dead[1]]


async def test_dead_letters_are_paged(engine, dead):
    first = await letters(engine, 2)
    assert first == [dead[3], dead[2]]
    assert await letters(engine, 2, after=first[-1]) == [dead[1]]
    assert await letters(engine, 2, after=dead[1]) == []


async def test_a_listed_dead_letter_is_the_dead_letter(engine, dead):
    for letter in await engine.dead_letters(DeadFilter(), 100):
        assert letter == await engine.dead_letter(letter.job_id)


async def test_payloads_that_are_not_asked_for_are_not_read_and_all_else_is_the_same(engine, dead):
    for options in ({}, {"owner": "ana", "options": '{"a": 1}', "key": "k", "expire_after": 60}):
        await finish(engine, "post", "app.c", args='{"large": 1}', **options)
        await finish(engine, "post", "app.d", args='{"large": 1}', outcome=failed(), **options)
        await take(engine, "post", args='{"large": 1}', **options)
    jobs = await engine.jobs(JobFilter(), 100)
    assert await engine.jobs(JobFilter(payloads=False), 100) == [replace(j, args_json=NOT_READ) for j in jobs]
    minted = next(job.id for job in jobs if job.key == job.id and job.state is State.COMPLETED)
    (by_key,) = await engine.jobs(JobFilter(key=minted, payloads=False), 100)
    assert by_key.args_json == NOT_READ
    found = await engine.histories(HistoryFilter(), 100)
    bare = await engine.histories(HistoryFilter(payloads=False), 100)
    assert bare == [replace(record, payload_json=NOT_READ) for record in found]
    for recovered in (True, False):
        where = DeadFilter(recovered=recovered)
        whole = [replace(letter, args_json=NOT_READ) for letter in await engine.dead_letters(where, 100)]
        assert await engine.dead_letters(replace(where, payloads=False), 100) == whole


async def test_dead_letters_of_an_owner_are_found_by_all_else_too_recovered_and_gone(engine, worker):
    made = [
        (await finish(engine, queue, task, outcome=failed(), owner="ana")).id
        for queue, task in [("post", "app.a"), ("post", "app.b"), ("mail", "app.a")]
    ]
    (other,) = [(await finish(engine, "post", "app.a", outcome=failed(), owner="an")).id]
    await engine.recover([Recovery(made[0], new().id)])
    assert await letters(engine, owner="ana") == [made[2], made[1]]
    assert await letters(engine, owner="ana", recovered=True) == made[::-1]
    assert await letters(engine, owner="ana", recovered=True, queue="post", task="app.a") == [made[0]]
    assert await letters(engine, 1, after=made[2], owner="ana") == [made[1]]
    assert await letters(engine, owner="an") == [other]
    await engine.remove_dead_letters(made[1:])
    assert await letters(engine, owner="ana", recovered=True) == [made[0]]


async def test_a_recovered_dead_letter_can_still_be_read(engine, dead):
    letter = await engine.dead_letter(dead[0])
    assert letter is not None
    assert letter.recovered_at is not None


# -- queues and counts ------------------------------------------------------------------------------


async def test_an_unused_engine_has_no_queues(engine):
    assert await engine.queues() == []


async def test_queues_come_sorted_with_counts_that_equal_the_rows(engine, some):
    found = await engine.queues()
    assert [q.queue for q in found] == [QUEUE, "mail"]
    for queue in found:
        rows = {s: len(await engine.jobs(JobFilter(queue=queue.queue, state=s), 100)) for s in State}
        assert {s: queue.counts.get(s, 0) for s in State} == rows


async def test_counts_follow_every_step(engine, worker, clock):
    await engine.enqueue([*news(4), *news(2, delay=10)])
    assert await counts(engine) == {State.WAITING: 4, State.DELAYED: 2}
    held = await claim(engine, limit=3)
    assert await counts(engine) == {State.WAITING: 1, State.ACTIVE: 3, State.DELAYED: 2}
    await settle(engine, held[0])
    await settle(engine, held[1], failed())
    await settle(engine, held[2], retried(60))
    assert await counts(engine) == {
        State.WAITING: 1, State.DELAYED: 3, State.COMPLETED: 1, State.FAILED: 1,
    }  # fmt: skip
    clock.advance(10)
    await engine.stage(10)
    await engine.tidy()
    assert await counts(engine) == {
        State.WAITING: 3, State.DELAYED: 1, State.COMPLETED: 1, State.FAILED: 1,
    }  # fmt: skip
    await engine.prune(Retention(QUEUE, keep_completed=0, keep_failed=0), 10)
    assert await counts(engine) == {State.WAITING: 3, State.DELAYED: 1}


async def test_a_queue_once_used_stays_known(engine, worker):
    held = await take(engine, "mail")
    await settle(engine, held, keep=False)
    await engine.tidy()
    [queue] = await engine.queues()
    assert queue.queue == "mail"
    assert not any(queue.counts.values())


# -- workers ----------------------------------------------------------------------------------------


async def test_workers_are_told_as_they_registered(engine, clock):
    await engine.register(WorkerInfo(id="w1", name="host:7", queues=("a", "b"), slots=8), 30)
    [found] = await engine.workers()
    assert (found.id, found.name, found.queues, found.slots) == ("w1", "host:7", ("a", "b"), 8)
    assert (found.alive, found.active) == (True, 0)
    assert found.expires_at == clock.now() + timedelta(seconds=30)
    assert found.started_at == clock.now()


async def test_workers_are_told_with_what_they_run_and_whether_they_live(engine, worker, clock):
    await register(engine, "w2", ttl=1_000)
    await engine.enqueue(news(3))
    held = await claim(engine, limit=2)
    await claim(engine, worker="w2")
    await settle(engine, held[0])
    clock.advance(31)
    assert {w.id: (w.active, w.alive) for w in await engine.workers()} == {
        worker: (1, False),
        "w2": (1, True),
    }
