"""Effects: recorded in transactions of our own, listed, and forgotten when nobody can run the job again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from conformance.kit import Place, claim, failed, finish, make_id, new, register, settle, take
from conftest import IN_SQL, REDIS_KINDS
from penstock.engine import Effect, EffectFilter, EffectName, EffectRecord, Engine, Recovery, Transactions
from penstock.model.clock import EngineClock, FakeClock
from penstock.model.errors import NotSupported
from penstock.opening import transactions

DAY = 86_400.0
LEASE = 30.0

in_sql = pytest.mark.parametrize("place", IN_SQL, indirect=True)
in_redis = pytest.mark.parametrize("place", REDIS_KINDS, indirect=True)


@pytest.fixture
def own(place: Place, engine: Engine, clock: FakeClock) -> Iterator[Transactions]:
    url = f"sqlite:///{place.address}" if place.kind == "sqlite" else place.address
    url = "sqlite://:memory:" if place.kind == "memory" else url
    made = transactions(url, place.schema, clock, lambda: engine, 2)
    yield made
    made.close()


async def record(own: Transactions, effect: Effect, *, commit: bool = True) -> bool:
    block = await own.abegin(LEASE)
    first = await own.on_lent.aonce(block.lent, effect)
    await (block.commit() if commit else block.rollback())
    return first


def effect(name: str = "charge", *, task: str = "pay", key: str = "order-7", **more: object) -> Effect:
    return Effect(task, key, name, str(more.get("job_id") or make_id()), DAY)


@in_sql
async def test_an_effect_is_recorded_once_for_its_task_key_and_name(engine, own, clock):
    first = effect()
    assert await record(own, first) is True
    assert await record(own, effect()) is False
    assert await record(own, effect("mail")) is True
    assert await record(own, effect(task="refund")) is True
    assert await record(own, effect(key="order-8")) is True
    [found] = await engine.effects(EffectFilter(task="pay", key="order-7", name="charge"), 10)
    now = clock.now()
    assert found == EffectRecord("pay", "order-7", "charge", first.job_id, now, now + timedelta(days=1))


@in_sql
async def test_what_is_not_committed_is_not_recorded(engine, own):
    assert await record(own, effect(), commit=False) is True
    assert await engine.effects(EffectFilter(), 10) == []
    assert await record(own, effect()) is True


@in_sql
async def test_they_are_listed_by_task_key_and_name_a_page_at_a_time(engine, own):
    made = [effect(n, task=t, key=k) for t in ("a", "B") for k in ("k_2", "K1") for n in ("z", "é")]
    for each in made:
        await record(own, each)
    names = sorted(EffectName(*each[:3]) for each in made)
    found: list[EffectName] = []
    while page := await engine.effects(EffectFilter(), 3, found[-1] if found else None):
        found += [EffectName(*each[:3]) for each in page]
    assert found == names

    async def matching(**where: str) -> list[EffectName]:
        return [EffectName(*each[:3]) for each in await engine.effects(EffectFilter(**where), 10)]

    assert await matching(task="B") == [n for n in names if n.task == "B"]
    assert await matching(key="K1") == [n for n in names if n.key == "K1"]
    assert await matching(name="é") == [n for n in names if n.name == "é"]
    assert await matching(task="a", name="z", key="k_2") == [EffectName("a", "k_2", "z")]
    assert await matching(task="nobody") == []


@in_sql
async def test_a_record_whose_time_has_passed_is_forgotten_and_counts_no_more(engine, own, clock):
    await record(own, effect())
    clock.advance(DAY - 1)
    await record(own, effect("mail"))
    assert await engine.forget_effects(10) == 0
    clock.advance(1)
    assert await record(own, effect(), commit=False) is True
    assert await engine.forget_effects(10) == 1
    assert [found.name for found in await engine.effects(EffectFilter(), 10)] == ["mail"]


@in_sql
async def test_forgetting_goes_in_bounded_steps(engine, own, clock):
    for n in range(5):
        await record(own, effect(f"n{n}"))
    clock.advance(DAY)
    assert [await engine.forget_effects(2) for _ in range(4)] == [2, 2, 1, 0]
    assert await engine.effects(EffectFilter(), 10) == []


@in_sql
async def test_a_record_counts_while_its_job_is_unfinished_and_is_in_nobodys_way(engine, own, worker, clock):
    held = await take(engine)
    kept = effect(job_id=held.id)
    await record(own, kept)
    clock.advance(1)
    await record(own, effect("other"))
    clock.advance(2 * DAY)
    assert await record(own, kept) is False
    assert [await engine.forget_effects(1) for _ in range(3)] == [1, 1, 0]
    assert [found.name for found in await engine.effects(EffectFilter(), 10)] == ["charge"]
    await settle(engine, held)
    clock.advance(DAY)
    assert await engine.forget_effects(10) == 1


@in_sql
async def test_a_record_counts_while_the_job_can_be_recovered(engine, own, worker, clock):
    held = await finish(engine, outcome=failed())
    await record(own, effect(job_id=held.id))
    clock.advance(2 * DAY)
    assert await record(own, effect(), commit=False) is False
    await engine.forget_effects(10)
    assert len(await engine.effects(EffectFilter(), 10)) == 1
    clock.advance(2 * DAY)
    await engine.purge(DAY, 10)
    assert await engine.forget_effects(10) == 1
    assert await engine.effects(EffectFilter(), 10) == []


@in_sql
@pytest.mark.parametrize("key", ["order-7", None])
async def test_a_recovered_job_takes_over_the_records_of_its_key(engine, own, worker, clock, key):
    held = await finish(engine, key=key, outcome=failed())
    mine = Effect(held.task, held.key, "charge", held.id, DAY)
    await record(own, mine)
    heir = make_id()
    await engine.recover([Recovery(held.id, heir)])
    [again] = await claim(engine)
    assert (again.id, again.key) == (heir, held.key)
    clock.advance(2 * DAY)
    await engine.forget_effects(10)
    [found] = await engine.effects(EffectFilter(), 10)
    assert found.job_id == heir
    await register(engine, "worker-2")
    assert await record(own, mine._replace(job_id=heir)) is False


@in_sql
async def test_a_pruned_job_leaves_its_records_behind(engine, own, worker):
    held = await finish(engine)
    await record(own, effect(job_id=held.id))
    await engine.delete([held.id])
    assert await record(own, effect()) is False


@in_sql
async def test_names_may_be_anything_a_person_writes(engine, own):
    for name in ("charge: card #1", "größe", "a'b\"c", "%s $1 ?1 :x", "x" * 255):
        assert await record(own, effect(name)) is True
        assert await record(own, effect(name)) is False


@in_redis
async def test_redis_keeps_none_and_says_what_to_do_instead(place, engine):
    assert await engine.effects(EffectFilter(), 10) == []
    assert await engine.forget_effects(10) == 0
    with pytest.raises(NotSupported, match=r"ctx\.once\(name, connection=…\)"):
        transactions(place.address, place.schema, EngineClock(), lambda: engine, 2)


@in_sql
async def test_an_enqueue_inside_such_a_transaction_is_part_of_it(engine, own):
    job = new()
    for commit in (False, True):
        block = await own.abegin(LEASE)
        await own.on_lent.aenqueue(block.lent, [job])
        await (block.commit() if commit else block.rollback())
        assert (await engine.get(job.id) is not None) is commit
