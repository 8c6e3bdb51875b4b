"""Steps: what a run has worked out is kept for the runs after it."""

import pytest

from conformance.kit import (
    EVERY_OUTCOME,
    QUEUE,
    claim,
    failed,
    finish,
    gone,
    name_of,
    new,
    put,
    register,
    retried,
    settle,
    snoozed,
    take,
)
from penstock.engine import Recovery, Retention
from penstock.model.outcome import Cancelled, Released


async def test_a_step_is_kept_and_read_back_as_it_was(engine, worker):
    held = await take(engine)
    value = '{"text":"ä\\u0000\\"\\n","n":[1,2.5,null]}'
    assert await engine.save_step(held.id, held.token, "price", value) is True
    assert await engine.steps(held.id) == {"price": value}


async def test_steps_come_in_the_order_in_which_they_were_first_kept(engine, worker):
    held = await take(engine)
    for name in ("zeta", "alpha", "mid", "zeta"):
        await engine.save_step(held.id, held.token, name, f'"{name}"')
    assert list(await engine.steps(held.id)) == ["zeta", "alpha", "mid"]


async def test_a_step_kept_again_has_the_new_value(engine, worker):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    assert await engine.save_step(held.id, held.token, "price", "2")
    assert await engine.steps(held.id) == {"price": "2"}


async def test_names_of_steps_may_be_anything_a_person_writes(engine, worker):
    held = await take(engine)
    names = ["charge: card #1", "größe", "a'b\"c", "x" * 200, "1", "10", "2"]
    for n, name in enumerate(names):
        assert await engine.save_step(held.id, held.token, name, str(n))
    assert await engine.steps(held.id) == {name: str(n) for n, name in enumerate(names)}


async def test_jobs_do_not_share_steps(engine, worker):
    one, two = await take(engine), await take(engine)
    await engine.save_step(one.id, one.token, "price", "1")
    await engine.save_step(two.id, two.token, "price", "2")
    assert await engine.steps(one.id) == {"price": "1"}
    assert await engine.steps(two.id) == {"price": "2"}


async def test_jobs_without_steps_have_none(engine, worker):
    assert await engine.steps(await put(engine)) == {}
    assert await engine.steps(new().id) == {}


@pytest.mark.parametrize("outcome", [retried(), snoozed(), Released()], ids=name_of)
async def test_the_next_run_finds_the_steps_of_the_one_before(engine, worker, outcome):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    await settle(engine, held, outcome)
    assert await engine.steps(held.id) == {"price": "1"}
    [again] = await claim(engine)
    assert await engine.save_step(again.id, again.token, "charge", "2")
    assert await engine.steps(held.id) == {"price": "1", "charge": "2"}


async def test_steps_survive_the_loss_of_their_worker(engine, worker, clock):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    clock.advance(31)
    await engine.rescue(10, gone)
    assert await engine.steps(held.id) == {"price": "1"}


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=name_of)
async def test_a_holder_that_lost_the_job_keeps_nothing(engine, worker, outcome):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    await settle(engine, held, outcome)
    assert await engine.save_step(held.id, held.token, "price", "2") is False
    assert await engine.save_step(held.id, held.token, "late", "2") is False
    assert await engine.steps(held.id) == {"price": "1"}


async def test_a_holder_whose_job_runs_elsewhere_keeps_nothing(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    await register(engine, "next")
    [again] = await claim(engine, worker="next")
    assert await engine.save_step(held.id, held.token, "price", "1") is False
    assert await engine.save_step(again.id, again.token, "price", "2") is True
    assert await engine.steps(held.id) == {"price": "2"}


async def test_a_job_that_never_was_keeps_nothing(engine):
    assert await engine.save_step(new().id, "token", "price", "1") is False


@pytest.mark.parametrize("outcome", [failed(), Cancelled("no")], ids=name_of)
async def test_steps_live_as_long_as_the_record(engine, worker, outcome):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    await settle(engine, held, outcome)
    assert await engine.steps(held.id) == {"price": "1"}
    assert await engine.delete([held.id]) == 1
    assert await engine.steps(held.id) == {}


async def test_a_run_that_leaves_no_record_leaves_no_steps(engine, worker):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    await settle(engine, held, keep=False)
    assert await engine.steps(held.id) == {}


async def test_pruning_removes_the_steps(engine, worker):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    await settle(engine, held)
    other = await take(engine)
    await engine.save_step(other.id, other.token, "price", "2")
    assert await engine.prune(Retention(QUEUE, keep_completed=0), 10) == 1
    assert await engine.steps(held.id) == {}
    assert await engine.steps(other.id) == {"price": "2"}


async def test_a_recovered_job_has_the_steps_of_the_old_one(engine, worker):
    held = await take(engine)
    for name in ("zeta", "alpha"):
        await engine.save_step(held.id, held.token, name, f'"{name}"')
    await settle(engine, held, failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    assert list((await engine.steps(heir)).items()) == [("zeta", '"zeta"'), ("alpha", '"alpha"')]
    [again] = await claim(engine)
    await engine.save_step(heir, again.token, "zeta", '"new"')
    await engine.save_step(heir, again.token, "omega", '"new"')
    assert await engine.steps(held.id) == {"zeta": '"zeta"', "alpha": '"alpha"'}
    assert list(await engine.steps(heir)) == ["zeta", "alpha", "omega"]


async def test_the_steps_of_a_recovered_job_do_not_end_with_the_old_record(engine, worker):
    held = await take(engine)
    await engine.save_step(held.id, held.token, "price", "1")
    await settle(engine, held, failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    await engine.delete([held.id])
    assert await engine.steps(heir) == {"price": "1"}


async def test_a_job_without_steps_is_recovered_without(engine, worker):
    held = await finish(engine, outcome=failed())
    heir = new().id
    await engine.recover([Recovery(held.id, heir)])
    assert await engine.steps(heir) == {}
