"""Verbs that meet on the same rows: nobody is lost, nobody waits in a circle."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from conformance.kit import claim, counts, end, gone, ids, make_id, new, news, register, retried
from engines.postgres_kit import ask, connect, fresh_engine
from penstock.engine import Recovery, Retention
from penstock.engines.postgres.engine import PostgresEngine
from penstock.model.outcome import COMPLETED
from penstock.model.states import State
from servers import fresh_schema, postgres_server


async def test_a_beat_that_commits_while_a_rescue_waits_saves_the_worker():
    async with fresh_engine() as engine, await connect() as beating:
        worker = await register(engine, ttl=0.0)
        await beating.execute("begin")
        sql = f"update {engine.schema}.workers set expires_at = now() + interval '1 minute' where id = %s"
        await beating.execute(sql, [worker])
        rescuing = asyncio.create_task(engine.rescue(10, gone))
        await until_waiting(engine)
        await beating.execute("commit")
        assert await rescuing == []
        assert (await engine.beat(worker, 30)).given_up is False


async def test_a_rescue_that_comes_first_is_final_for_a_beat_that_waits():
    async with fresh_engine() as engine, await connect() as rescuing:
        worker = await register(engine)
        await rescuing.execute("begin")
        await rescuing.execute(f"select from {engine.schema}.workers where id = %s for update", [worker])
        beat = asyncio.create_task(engine.beat(worker, 30))
        await until_waiting(engine)
        await rescuing.execute(f"update {engine.schema}.workers set expires_at = '-infinity'")
        await rescuing.execute("commit")
        assert (await beat).given_up is True


async def test_whether_to_tell_of_a_job_is_decided_when_it_is_in():
    """Who decides earlier stays silent for longer than those who listen go on looking."""
    async with fresh_engine() as engine:
        await ask(
            f"""
            create function {engine.schema}.nobody_has_decided() returns trigger language plpgsql as $$
            begin
                if exists (select from pg_locks where pid = pg_backend_pid() and locktype = 'advisory') then
                    raise exception 'it was decided before the job was in';
                end if;
                return new;
            end
            $$;
            create trigger deciding before insert on {engine.schema}.jobs
            for each row execute function {engine.schema}.nobody_has_decided();
            """
        )
        for jobs in (news(1), news(3), news(60)):
            await engine.enqueue(jobs)
        assert (await counts(engine))[State.WAITING] == 64


async def test_a_claim_in_flight_is_rescued_whole_or_refused():
    async with fresh_engine() as engine:
        for _ in range(20):
            worker = await register(engine, make_id())
            await engine.enqueue(news(5))
            claiming = claim(engine, worker=worker)
            taken, rescued = await asyncio.gather(
                claiming, engine.rescue_worker(worker, frozenset(), gone), return_exceptions=True
            )
            held = [] if isinstance(taken, BaseException) else ids(taken)
            again = await engine.rescue_worker(worker, frozenset(), gone)
            assert sorted(ids(rescued) + ids(again)) == sorted(held)
        assert State.ACTIVE not in await counts(engine)


async def test_a_job_that_a_killed_workers_open_transaction_still_locks_is_left_to_the_next_rescue():
    async with fresh_engine() as engine, await connect() as of_the_dead:
        worker = await register(engine)
        await engine.enqueue(jobs := news(2))
        await claim(engine, worker=worker)
        await of_the_dead.execute("begin")
        await of_the_dead.execute(f"select from {engine.schema}.jobs where id = %s for update", [jobs[0].id])
        assert ids(await engine.rescue_worker(worker, frozenset(), gone)) == [jobs[1].id]
        assert await engine.rescue(10, gone) == [], "it is not waited for"
        await of_the_dead.execute("rollback")
        assert ids(await engine.rescue(10, gone)) == [jobs[0].id]
        assert await engine.workers() == []


async def test_engines_that_migrate_at_once_apply_each_migration_once():
    schema = fresh_schema()
    engines = [PostgresEngine(postgres_server().url(), schema=schema) for _ in range(6)]
    applied = await asyncio.gather(*(engine.migrate() for engine in engines))
    assert [bool(names) for names in sorted(applied, key=len)] == [False] * 5 + [True]
    [(recorded,)] = await ask(f"select count(*) from {schema}.migrations")
    assert recorded == len(max(applied, key=len))


Verb: TypeAlias = Callable[[PostgresEngine, list[str]], Awaitable[object]]


async def _settle_all(engine: PostgresEngine, jobs: list[str]) -> None:
    held = await claim(engine, limit=len(jobs))
    outcomes = itertools.cycle([COMPLETED, retried()])
    await engine.settle([end(h, outcome) for h, outcome in zip(reversed(held), outcomes, strict=False)])


VERBS: dict[str, Verb] = {
    "settle": _settle_all,
    "cancel": lambda engine, jobs: engine.cancel(jobs, "test"),
    "promote": lambda engine, jobs: engine.promote(jobs[::-1]),
    "delete": lambda engine, jobs: engine.delete(jobs[::-1]),
    "stage": lambda engine, jobs: engine.stage(len(jobs)),
    "expire": lambda engine, jobs: engine.expire(len(jobs)),
    "prune": lambda engine, jobs: engine.prune(Retention("default", 0, 0), len(jobs)),
    "recover": lambda engine, jobs: engine.recover([Recovery(job, make_id()) for job in jobs[::-1]]),
    "rescue": lambda engine, jobs: engine.rescue_worker("worker-1", frozenset(), gone),
    "keys": lambda engine, jobs: engine.enqueue([new(key=job) for job in jobs[::-1]]),
    "tidy": lambda engine, jobs: engine.tidy(),
}


@pytest.mark.parametrize("pair", list(itertools.combinations(VERBS, 2)), ids="-".join)
async def test_two_verbs_on_the_same_jobs_do_not_deadlock(pair):
    first, second = (VERBS[name] for name in pair)
    async with fresh_engine(pool_size=6) as engine:
        await register(engine)
        jobs = [*news(20), *(new(delay=0.001) for _ in range(20))]
        await engine.enqueue(jobs)
        before = await deadlocks()
        await asyncio.gather(
            *(verb(engine, ids(jobs)) for verb in (first, second) * 3), return_exceptions=True
        )
        assert await deadlocks() == before


async def deadlocks() -> int:
    await ask("select pg_stat_clear_snapshot()")
    [(count,)] = await ask("select deadlocks from pg_stat_database where datname = current_database()")
    return int(count)


async def until_waiting(engine: PostgresEngine) -> None:
    sql = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and position(%s in query) > 0"
    while not await ask(sql, engine.schema):
        pass
