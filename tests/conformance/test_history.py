"""history: what a job was can still be told when its own record has been pruned."""

from __future__ import annotations

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    claim,
    counts,
    end,
    error,
    failed,
    finish,
    ids,
    new,
    put,
    retried,
    settle,
    take,
)
from penstock.engine import HistoryFilter, Retention
from penstock.model.job import Window
from penstock.model.outcome import Cancelled, Completed
from penstock.model.record import Record
from penstock.model.states import Status

ALL = HistoryFilter()
NOTHING_KEPT = Retention(QUEUE, keep_completed=0, keep_failed=0)
LONG = 86_400.0


@pytest.fixture
def remembers(place) -> bool:
    return place.remembers


async def pruned(engine, *args, **more) -> str:
    """A job that has ended and been pruned."""
    held = await finish(engine, *args, **more)
    assert await engine.prune(NOTHING_KEPT, 10) == 1
    return held.id


async def test_an_unfinished_job_has_no_history(engine, worker):
    waiting = await put(engine)
    assert await engine.history(waiting) is None
    assert await engine.histories(ALL, 10) == []


async def test_a_finished_job_is_told_as_background_jobs_has_it(engine, worker, clock):
    created = clock.now()
    held = await take(engine, args='{"n": 1}', key="k-1", owner="ana", max_attempts=4)
    started = clock.now()
    clock.advance(2)
    assert await settle(engine, held, Completed('"done"'))
    assert await engine.history(held.id) == Record(
        id=held.id,
        queue_name=QUEUE,
        job_type=TASK,
        bull_job_id=held.id,
        status=Status.COMPLETED,
        payload_json='{"n": 1}',
        result_json='"done"',
        error_message=None,
        attempts_made=1,
        max_attempts=4,
        idempotency_key="k-1",
        created_at=created,
        started_at=started,
        finished_at=clock.now(),
        updated_at=clock.now(),
        owner="ana",
    )


async def test_pruning_a_job_changes_nothing_of_what_is_told(engine, worker, remembers, clock):
    held = await take(engine, args='{"n": 1}', key="k-1", owner="ana")
    clock.advance(1)
    await settle(engine, held, Completed('{"a": ["b"]}'))
    before = await engine.history(held.id)
    assert await engine.prune(NOTHING_KEPT, 10) == 1
    assert await engine.get(held.id) is None
    assert await engine.history(held.id) == (before if remembers else None)


@pytest.mark.parametrize(
    ("outcome", "status", "message"),
    [
        (failed(message="no such order"), Status.FAILED, "Boom: no such order"),
        (Cancelled("not wanted"), Status.CANCELLED, "not wanted"),
        (Completed(), Status.COMPLETED, None),
    ],
    ids=["failed", "cancelled", "completed"],
)
async def test_the_message_is_the_last_error_in_one_line(engine, worker, remembers, outcome, status, message):
    held = await take(engine)
    await settle(engine, held, retried(message="first"))
    [again] = await claim(engine)
    if outcome.state.value == "cancelled":
        await settle(engine, again, Completed())  # a cancelled one has no error of its own
        held = await take(engine)
        again = held
    assert await settle(engine, again, outcome)
    for _ in range(2):
        told = await engine.history(held.id)
        assert (told.status, told.error_message) == (status, message)
        await engine.prune(NOTHING_KEPT, 10)
        if not remembers:
            break


async def test_the_traceback_is_not_in_the_history(engine, worker):
    held = await take(engine)
    secret = {"traceback": "File secret.py", "causes": [{"type": "Hidden", "message": "secret"}]}
    outcome = failed()
    await settle(engine, held, type(outcome)("exhausted", error("boom", **secret)))
    told = await engine.history(held.id)
    assert "secret" not in repr(told)


async def test_a_minted_key_is_told_as_the_id(engine, worker):
    held = await finish(engine)
    assert (await engine.history(held.id)).idempotency_key == held.id


async def test_a_job_that_keeps_no_record_is_in_the_history_at_once(engine, worker, remembers, clock):
    held = await take(engine, key="k-1", args='{"n": 2}', owner="ana")
    assert await settle(engine, held, Completed('"x"'), keep=False)
    assert await engine.get(held.id) is None
    told = await engine.history(held.id)
    if remembers:
        assert (told.status, told.result_json, told.payload_json, told.owner, told.idempotency_key) == (
            Status.COMPLETED, '"x"', '{"n": 2}', "ana", "k-1",
        )  # fmt: skip
        assert told.finished_at == clock.now()
    else:
        assert told is None
    assert await counts(engine) == {}


async def test_its_key_is_free_at_once(engine, worker):
    held = await take(engine, key="k-1")
    await settle(engine, held, keep=False)
    [second] = await engine.enqueue([new(key="k-1")])
    assert not second.duplicate


async def test_where_no_history_is_asked_for_nothing_is_left(engine, worker):
    one, two = await take(engine), await take(engine)
    await engine.settle([end(one)._replace(keep=False, remember=False)])
    await settle(engine, two)
    await engine.prune(Retention(QUEUE, keep_completed=0, remember=False), 10)
    assert await engine.histories(ALL, 10) == []


async def test_many_ends_of_all_kinds_are_remembered_each_as_it_asked(engine, worker, remembers):
    await engine.enqueue([new() for _ in range(90)])
    held = await claim(engine)
    kinds = [(True, True), (False, True), (False, False)]
    ends = [end(c)._replace(keep=kinds[n % 3][0], remember=kinds[n % 3][1]) for n, c in enumerate(held)]
    assert all((await engine.settle(ends)).accepted)
    wanted = {c.id for n, c in enumerate(held) if n % 3 == 0 or (n % 3 == 1 and remembers)}
    assert {told.id for told in await engine.histories(ALL, 200)} == wanted


async def test_an_id_that_comes_in_again_is_told_by_its_last_end(engine, worker, remembers):
    first = await take(engine)
    await settle(engine, first, failed())
    await engine.prune(NOTHING_KEPT, 10)
    await engine.enqueue([new(id=first.id)])
    [again] = await claim(engine)
    await settle(engine, again, Completed('"better"'), keep=False)
    told = await engine.history(first.id)
    if remembers:
        assert (told.status, told.result_json, told.error_message) == (Status.COMPLETED, '"better"', None)


async def test_kept_and_pruned_jobs_are_one_list_newest_first_in_pages(engine, worker, remembers):
    made = [await pruned(engine) if n % 2 else (await finish(engine, "other")).id for n in range(6)]
    told = made[::-1] if remembers else [m for n, m in enumerate(made) if n % 2 == 0][::-1]
    assert ids(await engine.histories(ALL, 10)) == told
    pages, after = [], None
    while page := await engine.histories(ALL, 2, after):
        pages += ids(page)
        after = pages[-1]
    assert pages == told


@pytest.mark.parametrize("prune", [True, False], ids=["pruned", "kept"])
async def test_the_list_is_narrowed_by_every_filter(engine, worker, remembers, clock, prune):
    if prune and not remembers:
        return
    start = clock.now()
    mine = (await finish(engine, key="k-1", owner="ana", task="app.mine")).id
    clock.advance(10)
    await engine.beat(worker, 30)
    theirs = (await finish(engine, owner="bo", outcome=failed())).id
    if prune:
        await engine.prune(NOTHING_KEPT, 10)
    narrowed = {
        mine: [
            {"task": "app.mine"},
            {"owner": "ana"},
            {"key": "k-1"},
            {"status": Status.COMPLETED},
            {"until": clock.now()},
        ],
        theirs: [
            {"task": TASK},
            {"owner": "bo"},
            {"key": theirs},
            {"status": Status.FAILED},
            {"since": clock.now()},
        ],
    }
    for job_id, filters in narrowed.items():
        for where in filters:
            assert ids(await engine.histories(HistoryFilter(**where), 10)) == [job_id], where
    assert ids(await engine.histories(HistoryFilter(queue=QUEUE, since=start), 10)) == [theirs, mine]
    for where in ({"queue": "none"}, {"status": Status.PENDING}, {"status": Status.CANCELLED}):
        assert await engine.histories(HistoryFilter(**where), 10) == []


async def test_the_history_is_bounded_by_count(engine, worker, remembers, clock):
    made = []
    for _ in range(5):
        clock.advance(1)
        made.append(await pruned(engine))
    if remembers:
        assert await engine.forget(2, LONG, 2) == 2
        assert await engine.forget(2, LONG, 10) == 1
        assert ids(await engine.histories(ALL, 10)) == made[:2:-1]
    assert await engine.forget(2, LONG, 10) == 0


async def test_the_history_is_bounded_by_age(engine, worker, remembers, clock):
    await pruned(engine)
    clock.advance(20)
    fresh = await pruned(engine)
    assert await engine.forget(10, 20, 10) == 0
    clock.advance(1)
    assert await engine.forget(10, 20, 10) == (1 if remembers else 0)
    assert ids(await engine.histories(ALL, 10)) == ([fresh] if remembers else [])


async def test_turned_off_the_history_empties(engine, worker):
    for _ in range(3):
        await pruned(engine)
    await engine.forget(0, LONG, 10)
    assert await engine.histories(ALL, 10) == []


async def test_forgetting_spares_what_is_not_pruned(engine, worker):
    held = await finish(engine)
    assert await engine.forget(0, 0, 10) == 0
    assert (await engine.history(held.id)).id == held.id


async def test_a_deleted_job_is_not_remembered(engine, worker, remembers):
    kept, gone = (await finish(engine)).id, (await finish(engine)).id
    await engine.prune(Retention(QUEUE, keep_completed=1), 10)
    assert await engine.delete([kept, gone]) == (2 if remembers else 1)
    assert await engine.histories(ALL, 10) == []


async def test_a_period_that_outlives_its_record_is_not_ended_by_the_history(engine, worker):
    window = Window("period", 3600)
    held = await finish(engine, key="k-1", window=window)
    await engine.prune(NOTHING_KEPT, 10)
    await engine.forget(0, 0, 10)
    [second] = await engine.enqueue([new(key="k-1", window=window)])
    assert second.duplicate
    assert second.id == held.id


async def test_no_history_of_what_never_was(engine, worker):
    assert await engine.history("no id") is None
    assert await engine.history("01900000-0000-7000-8000-000000000000") is None
