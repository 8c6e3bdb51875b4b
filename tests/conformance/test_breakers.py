"""Breakers: shared by all; while one is open its jobs wait, and burn nothing."""

import asyncio
from dataclasses import replace

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    WORKER,
    Witness,
    claim,
    error,
    ids,
    new,
    news,
    put,
    read,
    register,
    settle,
    want,
)
from penstock.engine import Entry, Group
from penstock.model.breaker import Breaker, BreakerState, Circuit
from penstock.model.decide import Facts, decide
from penstock.model.failure import Failure
from penstock.model.lanes import group_name, limited_lane
from penstock.model.outcome import Cancelled, Completed, Failed, Released, Retried, Snoozed
from penstock.model.retry import Retry
from penstock.model.states import State

GROUP = group_name(QUEUE, TASK)
MAIL = Breaker(name="mail", threshold=3, reset=60.0)
WELL = Completed(healthy=True)
AILING = Retried(0.0, error(), healthy=False)
DEAD = Failed("exhausted", error(), healthy=False)


@pytest.fixture
async def mail(engine, worker):
    """An engine with a breaker, and a group that needs it."""
    await engine.put_breakers([MAIL])
    await engine.put_groups([Group(GROUP, needs=("mail",))])
    return engine


async def seen(engine, name="mail") -> BreakerState:
    return next(found for found in await engine.breakers() if found.breaker.name == name)


async def run(engine, outcome, **more) -> None:
    """One job of the group, from beginning to end."""
    job = new(lane=GROUP, **more)
    await engine.enqueue([job])
    held = next(h for h in await claim(engine) if h.id == job.id)
    assert await settle(engine, held, outcome)


async def trip(engine) -> None:
    for _ in range(MAIL.threshold):
        await run(engine, DEAD)
    assert (await seen(engine)).circuit is Circuit.OPEN


async def test_it_begins_closed_with_nothing_counted(mail):
    assert await seen(mail) == BreakerState(breaker=MAIL)


async def test_failures_in_a_row_open_it_and_a_success_zeroes_them(mail):
    await run(mail, DEAD)
    await run(mail, DEAD)
    assert (await seen(mail)).failures == 2
    await run(mail, WELL)
    assert (await seen(mail)).failures == 0
    await trip(mail)


async def test_who_tries_a_breaker_is_told_so_and_nobody_else(mail, clock):
    assert [held.probe for held in await claimed_of(mail)] == [False]
    await trip(mail)
    again = await put(mail, lane=GROUP)
    await put(mail)
    await let_be_tried(mail, clock)
    probes = {held.id: held.probe for held in await claim(mail)}
    assert probes == {held: held == again for held in probes}
    assert len(probes) == 2


async def test_a_probe_that_ran_before_is_told_so_too(mail, clock):
    held = await put(mail, lane=GROUP, max_attempts=9)
    for _ in range(MAIL.threshold):
        [before] = await claim(mail)
        assert await settle(mail, before, AILING)
    await let_be_tried(mail, clock)
    [second] = await claim(mail)
    assert (second.id, second.attempt, second.probe) == (held, 4, True)


async def test_a_failed_probe_has_its_attempt_given_back_however_often_it_is_one(mail, clock):
    await trip(mail)
    waiting = await put(mail, lane=GROUP, max_attempts=2)
    for _ in range(5):
        await let_be_tried(mail, clock)
        [probe] = await claim(mail)
        facts = Facts(probe.attempt, probe.max_attempts, 0, 0.1, WORKER, 0.0, probe.probe)
        outcome = decide(facts, Failure("Down", "refused"), Retry.immediate(2))
        assert await settle(mail, probe, replace(outcome, healthy=False))
        assert (await seen(mail)).circuit is Circuit.OPEN
    job = await read(mail, waiting)
    assert (job.state, job.attempt, len(job.errors)) == (State.WAITING, 0, 5)


async def let_be_tried(engine, clock):
    await engine.beat(WORKER, MAIL.reset + 30)
    clock.advance(MAIL.reset)


async def claimed_of(engine):
    await engine.enqueue([new(lane=GROUP)])
    return await claim(engine)


async def test_while_open_its_jobs_are_not_claimed_and_burn_nothing(mail):
    await trip(mail)
    waiting = await put(mail, lane=GROUP)
    flowing = await put(mail)
    assert ids(await claim(mail)) == [flowing]
    job = await read(mail, waiting)
    assert (job.state, job.attempt) == (State.WAITING, 0)


async def test_it_tells_when_it_will_be_tried(mail, clock):
    await trip(mail)
    await put(mail, lane=GROUP)
    claimed = await mail.claim(want())
    assert (claimed.claims, claimed.next_in) == ([], pytest.approx(60.0, abs=0.01))
    clock.advance(20)
    assert (await seen(mail)).retry_in == pytest.approx(40.0, abs=0.01)


async def test_after_the_reset_probes_run_and_no_more(mail, clock):
    await mail.put_breakers([Breaker(name="mail", threshold=3, reset=20.0, probes=2)])
    await trip(mail)
    await mail.enqueue(news(10, lane=GROUP))
    clock.advance(20)
    assert len(await claim(mail)) == 2
    assert await claim(mail) == []
    state = await seen(mail)
    assert (state.circuit, state.probing, state.retry_in) == (Circuit.HALF_OPEN, 2, None)


async def test_a_probe_that_succeeds_closes_it(mail, clock):
    await mail.put_breakers([Breaker(name="mail", threshold=3, reset=20.0)])
    await trip(mail)
    await mail.enqueue(news(4, lane=GROUP))
    clock.advance(20)
    [probe] = await claim(mail)
    assert await settle(mail, probe, WELL)
    state = await seen(mail)
    assert (state.circuit, state.failures, state.probing) == (Circuit.CLOSED, 0, 0)
    assert len(await claim(mail)) == 3


async def test_a_probe_that_fails_opens_it_for_another_while(mail, clock):
    await mail.put_breakers([Breaker(name="mail", threshold=3, reset=20.0)])
    await trip(mail)
    await mail.enqueue(news(2, lane=GROUP))
    clock.advance(20)
    [probe] = await claim(mail)
    assert await settle(mail, probe, AILING)
    assert (await seen(mail)).circuit is Circuit.OPEN
    clock.advance(9)
    assert await claim(mail) == []
    await mail.beat(WORKER, 60)
    clock.advance(11)
    assert len(await claim(mail)) == 1


@pytest.mark.parametrize(
    "outcome", [Snoozed(5), Released(), Cancelled("no"), Completed()], ids=lambda o: o.verb
)
async def test_a_probe_that_says_nothing_gives_its_place_back(mail, clock, outcome):
    await mail.put_breakers([Breaker(name="mail", threshold=3, reset=20.0)])
    await trip(mail)
    await mail.enqueue(news(2, lane=GROUP))
    clock.advance(20)
    [probe] = await claim(mail)
    assert await settle(mail, probe, outcome)
    assert (await seen(mail)).circuit is Circuit.HALF_OPEN
    assert len(await claim(mail)) == 1
    assert await claim(mail) == []


async def test_a_worker_lost_with_a_probe_does_not_leave_it_stuck(mail, clock):
    await mail.put_breakers([Breaker(name="mail", threshold=3, reset=20.0)])
    await trip(mail)
    await mail.enqueue(news(1, lane=GROUP))
    clock.advance(20)
    assert len(await claim(mail)) == 1
    await mail.rescue_worker(WORKER, frozenset(), Witness())
    await register(mail, "w2")
    assert len(await claim(mail, worker="w2")) == 1


async def test_a_run_that_began_before_it_opened_is_no_probe(mail, clock):
    await mail.put_breakers([Breaker(name="mail", threshold=3, reset=20.0)])
    await mail.enqueue([new(lane=GROUP)])
    [early] = await claim(mail)
    await trip(mail)
    await mail.enqueue(news(3, lane=GROUP))
    clock.advance(20)
    assert len(await claim(mail)) == 1
    assert await settle(mail, early, WELL)
    assert (await seen(mail)).circuit is Circuit.HALF_OPEN
    assert await claim(mail) == []


async def test_it_opens_by_the_share_of_failures_where_asked(engine, worker, clock):
    await engine.put_breakers([Breaker(name="mail", failure_rate=0.5, minimum=4, window=30.0, reset=5.0)])
    await engine.put_groups([Group(GROUP, needs=("mail",))])
    for outcome in (DEAD, DEAD, WELL):
        await run(engine, outcome)
    assert (await seen(engine)).circuit is Circuit.CLOSED
    clock.advance(25)
    await engine.beat(WORKER, 60)
    clock.advance(5)  # a new window
    for outcome in (WELL, WELL, DEAD):
        await run(engine, outcome)
    assert (await seen(engine)).circuit is Circuit.CLOSED
    await run(engine, DEAD)
    assert (await seen(engine)).circuit is Circuit.OPEN


async def test_a_group_may_need_several(mail, clock):
    await mail.put_breakers([Breaker(name="sms", threshold=1, reset=10.0)])
    await mail.put_groups([Group(GROUP, needs=("mail", "sms"))])
    await put(mail, lane=GROUP)
    assert await mail.set_breaker("sms", Circuit.OPEN)
    assert await claim(mail) == []
    assert await mail.set_breaker("sms", Circuit.CLOSED)
    assert len(await claim(mail)) == 1


async def test_keys_of_a_group_stand_behind_its_breaker_too(mail):
    await mail.set_breaker("mail", Circuit.OPEN)
    await mail.enqueue([new(lane=limited_lane(GROUP, "a")), new(lane=limited_lane(GROUP, "b"))])
    assert await claim(mail) == []


async def test_a_group_that_ceases_to_need_it_gives_its_probes_places_back(mail, clock):
    other = group_name(QUEUE, "other")
    await mail.put_groups([Group(other, needs=("mail",))])
    await mail.put_breakers([Breaker(name="mail", threshold=3, reset=20.0)])
    await trip(mail)
    clock.advance(20)
    await put(mail, lane=GROUP)
    (probe,) = await claim(mail)
    waits = await put(mail, lane=other)
    assert await claim(mail) == []
    await mail.put_groups([Group(GROUP)])
    assert (await seen(mail)).probing == 0
    assert ids(await claim(mail)) == [waits]
    assert await settle(mail, probe, WELL)
    state = await seen(mail)
    assert (state.circuit, state.probing) == (Circuit.HALF_OPEN, 1)


async def test_a_person_closes_it(mail):
    await trip(mail)
    await put(mail, lane=GROUP)
    assert await mail.set_breaker("mail", Circuit.CLOSED)
    state = await seen(mail)
    assert (state.circuit, state.failures) == (Circuit.CLOSED, 0)
    assert len(await claim(mail)) == 1


async def test_no_such_breaker_cannot_be_set(mail):
    assert not await mail.set_breaker("nobody", Circuit.CLOSED)


async def test_a_new_declaration_keeps_the_state(mail, clock):
    await trip(mail)
    since = (await seen(mail)).since
    clock.advance(1)
    stricter = Breaker(name="mail", threshold=1, reset=90.0)
    await mail.put_breakers([stricter])
    state = await seen(mail)
    assert (state.breaker, state.circuit, state.since) == (stricter, Circuit.OPEN, since)
    assert state.retry_in == pytest.approx(89.0, abs=0.01)


async def test_closing_wakes_who_waits(mail):
    await trip(mail)
    await put(mail, lane=GROUP)
    assert await claim(mail) == []
    while True:  # wake-ups of what came before may still be on their way
        try:
            async with asyncio.timeout(0.2):
                await mail.wait([QUEUE], 30)
        except TimeoutError:
            break
        assert await claim(mail) == []
    waiting = asyncio.create_task(mail.wait([QUEUE], 30))
    await asyncio.sleep(0.05)
    await mail.set_breaker("mail", Circuit.CLOSED)
    async with asyncio.timeout(5):
        await waiting


async def test_inside_a_handler_it_is_asked_and_told(mail, clock):
    assert await mail.enter_breaker("mail", "p1") == Entry(True)
    for n in range(3):
        await mail.enter_breaker("mail", f"f{n}")
        await mail.report_breaker("mail", f"f{n}", False)
    assert await mail.enter_breaker("mail", "p2") == Entry(False, pytest.approx(60.0, abs=0.01))
    clock.advance(60)
    assert await mail.enter_breaker("mail", "p3") == Entry(True)
    assert await mail.enter_breaker("mail", "p4") == Entry(False, None)
    await mail.report_breaker("mail", "p3", True)
    assert (await seen(mail)).circuit is Circuit.CLOSED


async def test_a_probe_nobody_reports_counts_no_longer_than_the_reset(mail, clock):
    await trip(mail)
    clock.advance(60)
    assert (await mail.enter_breaker("mail", "lost")).allowed
    assert not (await mail.enter_breaker("mail", "next")).allowed
    clock.advance(60)
    assert (await mail.enter_breaker("mail", "next")).allowed


async def test_one_nobody_has_declared_is_closed(engine, worker):
    assert await engine.enter_breaker("nobody", "p") == Entry(True)
    await engine.report_breaker("nobody", "p", False)
    await engine.put_groups([Group(GROUP, needs=("nobody",))])
    await put(engine, lane=GROUP)
    assert len(await claim(engine)) == 1


async def test_probes_are_bounded_over_several_engines_at_once(make_engine, clock):
    engines = [await make_engine() for _ in range(4)]
    first = engines[0]
    for n, engine in enumerate(engines):
        await register(engine, f"w{n}", ttl=600)
    await first.put_breakers([Breaker(name="mail", threshold=1, reset=10.0, probes=2)])
    await first.put_groups([Group(GROUP, needs=("mail",))])
    await first.set_breaker("mail", Circuit.OPEN)
    await first.enqueue(news(50, lane=GROUP))
    clock.advance(10)
    rounds = [asyncio.gather(*(claim(e, worker=f"w{n}") for n, e in enumerate(engines))) for _ in range(3)]
    claimed = [held for answers in [await r for r in rounds] for some in answers for held in some]
    assert len(claimed) == 2
