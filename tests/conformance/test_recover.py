"""recover: a dead letter becomes a new job, once, and the key goes with it."""

import asyncio
from datetime import timedelta

from conformance.kit import (
    QUEUE,
    WORKER,
    claim,
    counts,
    error,
    failed,
    finish,
    gone,
    ids,
    new,
    read,
    register,
    retried,
    settle,
    state,
    take,
)
from penstock.engine import DeadFilter, JobFilter, Recovery, Retention
from penstock.model.outcome import Released
from penstock.model.priority import Priority
from penstock.model.states import State


async def test_a_recovered_job_is_the_old_one_begun_anew(engine, worker, clock):
    held = await take(
        engine, args='{"n":1}', key="k", owner="u1", priority=2, max_attempts=2, options='{"timeout":3}'
    )  # fmt: skip
    await settle(engine, held, Released("lost", error(), suspect=True, crashed=True, rescued=True))
    [held] = await claim(engine)
    await settle(engine, held, retried(), ran_for=1)
    [held] = await claim(engine)
    await settle(engine, held, failed())
    clock.advance(5)
    heir = new().id
    assert await engine.recover([Recovery(held.id, heir)]) == [heir]
    job = await read(engine, heir)
    assert (job.queue, job.task, job.lane, job.args_json) == (QUEUE, held.task, QUEUE, '{"n":1}')
    assert (job.owner, job.priority, job.options_json) == ("u1", Priority.HIGH, '{"timeout":3}')
    assert (job.state, job.attempt, job.max_attempts) == (State.WAITING, 0, 2)
    assert (job.errors, job.ran_for, job.crashes, job.rescues, job.suspect) == ([], 0, 0, 0, False)
    assert job.started_at is job.finished_at is job.note is None
    assert job.created_at == job.due_at == clock.now()


async def test_a_recovered_job_does_not_expire_because_somebody_asked_for_it(engine, worker, clock):
    held = await finish(engine, outcome=failed(), expire_after=10)
    clock.advance(60)
    heir = new().id
    await engine.recover([Recovery(held.id, heir, delay=5)])
    clock.advance(600)
    assert len(await engine.expire(10)) == 0
    assert (await read(engine, heir)).expires_at is None
    await engine.stage(10)
    await register(engine, "later")
    assert ids(await claim(engine, worker="later")) == [heir]


async def test_both_are_linked(engine, worker, clock):
    held = await finish(engine, outcome=failed())
    clock.advance(5)
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    old, dead = await read(engine, held.id), await engine.dead_letter(held.id)
    assert dead is not None
    assert (await read(engine, heir)).recovered_from == held.id
    assert (old.recovered_as, dead.recovered_as) == (heir, heir)
    listed = await engine.jobs(JobFilter(state=State.FAILED, payloads=False), 10)
    assert [job.recovered_as for job in listed if job.id == old.id] == [heir]
    assert dead.recovered_at == clock.now()
    assert old.state is State.FAILED


async def test_the_recovered_job_runs(engine, worker):
    held = await finish(engine, outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    [again] = await claim(engine)
    assert (again.id, again.attempt) == (heir, 1)
    assert await settle(engine, again)
    assert await counts(engine) == {State.FAILED: 1, State.COMPLETED: 1}


async def test_the_payload_can_be_replaced(engine, worker):
    held = await finish(engine, args='{"n":1}', outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir, args='{"n":2}')])
    assert (await read(engine, heir)).args == {"n": 2}
    assert (await read(engine, held.id)).args == {"n": 1}


async def test_a_recovered_job_can_be_delayed(engine, worker, clock):
    held = await finish(engine, outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir, delay=60)])
    job = await read(engine, heir)
    assert (job.state, job.due_at) == (State.DELAYED, clock.now() + timedelta(seconds=60))


async def test_recovering_twice_answers_the_first_heir(engine, worker):
    held = await finish(engine, outcome=failed())
    first, second = new().id, new().id
    assert await engine.recover([Recovery(held.id, first)]) == [first]
    assert await engine.recover([Recovery(held.id, second)]) == [first]
    assert await engine.get(second) is None


async def test_recovering_twice_in_one_call_makes_one_job(engine, worker):
    held = await finish(engine, outcome=failed())
    first, second = new().id, new().id
    assert await engine.recover([Recovery(held.id, first), Recovery(held.id, second)]) == [first, first]
    assert await engine.get(second) is None


async def test_the_first_heir_is_answered_also_when_its_record_is_gone(engine, worker):
    held = await finish(engine, outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    [again] = await claim(engine)
    await settle(engine, again, keep=False)
    assert await engine.recover([Recovery(held.id, new().id)]) == [heir]


async def test_what_is_no_dead_letter_is_answered_none(engine, worker):
    done = await finish(engine)
    assert await engine.recover([Recovery(done.id, new().id), Recovery(new().id, new().id)]) == [None, None]
    assert await engine.recover([]) == []
    assert await counts(engine) == {State.COMPLETED: 1}


async def test_each_recovery_is_answered_in_its_place(engine, worker):
    dead = [await finish(engine, outcome=failed(), key=f"k{n}") for n in range(3)]
    heirs = [new().id for _ in range(3)]
    asked = [Recovery(dead[2].id, heirs[0]), Recovery(new().id, new().id), Recovery(dead[0].id, heirs[1])]
    assert await engine.recover(asked) == [heirs[0], None, heirs[1]]
    assert await engine.dead_count() == 1


async def test_a_recovered_dead_letter_is_not_counted_and_listed_only_where_asked_for(engine, worker):
    one, two = await finish(engine, outcome=failed()), await finish(engine, outcome=failed())
    await engine.recover([Recovery(one.id, new().id)])
    assert await engine.dead_count() == 1
    assert [d.job_id for d in await engine.dead_letters(DeadFilter(), 10)] == [two.id]
    listed = await engine.dead_letters(DeadFilter(recovered=True), 10)
    assert one.id in [d.job_id for d in listed]


# -- the key ----------------------------------------------------------------------------------------


async def test_the_heir_takes_the_key_over(engine, worker):
    held = await finish(engine, key="k", outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    job = await read(engine, heir)
    assert (job.key, job.unique) == ("k", True)
    [answer] = await engine.enqueue([new(key="k")])
    assert (answer.id, answer.state, answer.duplicate) == (heir, State.WAITING, True)


async def test_a_minted_key_goes_with_the_heir_too(engine, worker):
    held = await finish(engine, outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    job = await read(engine, heir)
    assert (job.key, job.unique) == (held.id, False)


async def test_pruning_the_old_job_does_not_free_the_heirs_key(engine, worker):
    held = await finish(engine, key="k", outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    assert await engine.prune(Retention(QUEUE, keep_failed=0), 10) == 1
    assert (await engine.enqueue([new(key="k")]))[0].id == heir


async def test_the_key_is_taken_back_when_the_old_record_was_pruned_before(engine, worker):
    held = await finish(engine, key="k", outcome=failed())
    await engine.prune(Retention(QUEUE, keep_failed=0), 10)
    heir = new().id
    assert await engine.recover([Recovery(held.id, heir)]) == [heir]
    assert (await engine.enqueue([new(key="k")]))[0].id == heir
    assert await engine.get(held.id) is None


async def test_a_job_can_die_and_be_recovered_again_and_again(engine, worker):
    chain = [(await finish(engine, key="k", outcome=failed())).id]
    for _ in range(3):
        heir = new().id
        await engine.recover([Recovery(chain[-1], heir)])
        [held] = await claim(engine)
        await settle(engine, held, failed())
        chain.append(heir)
    assert [(await read(engine, j)).recovered_as for j in chain] == [*chain[1:], None]
    assert [(await read(engine, j)).recovered_from for j in chain] == [None, *chain[:-1]]
    assert await engine.dead_count() == 1
    assert (await engine.enqueue([new(key="k")]))[0].id == chain[-1]


async def test_a_dead_letter_of_a_rescue_can_be_recovered(engine, worker, clock):
    from penstock.model.decide import judge

    held = await take(engine, max_attempts=1)
    await engine.rescue_worker(WORKER, frozenset({held.token}), judge)
    heir = new().id
    assert await engine.recover([Recovery(held.id, heir)]) == [heir]
    await register(engine, "w2")
    assert ids(await claim(engine, worker="w2")) == [heir]
    clock.advance(31)
    assert ids(await engine.rescue(10, gone)) == [heir]


async def test_recovering_from_two_engines_makes_one_job(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    held = await finish(one, key="k", outcome=failed())
    answers = await asyncio.gather(*(e.recover([Recovery(held.id, new().id)]) for e in (one, two) * 5))
    [heir] = {a for [a] in answers}
    assert await state(one, heir) is State.WAITING
    assert await counts(one) == {State.FAILED: 1, State.WAITING: 1}
