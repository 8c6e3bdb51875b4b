"""The ledger beside Redis: it is the authority, whatever crashes, is flushed or is away."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from conformance.kit import (
    FEEDS,
    after,
    blocked,
    claim,
    end,
    failed,
    gone,
    new,
    news,
    put,
    read,
    register,
    retried,
    settle,
    state,
    take,
    want,
)
from engines.ledger_kit import (
    LONG,
    database_of_the_ledger,
    engine_with_ledger,
    flush,
    redis_that_may_be_lost,
    row,
    run_one,
)
from engines.test_background_jobs import COLUMNS
from penstock import InvalidOption, Penstock
from penstock.engine import Level, Reconciled, Retention
from penstock.engines.postgres.engine import PostgresEngine
from penstock.ledger.books import SAFE
from penstock.ledger.database import Say
from penstock.ledger.engine import LedgeredEngine
from penstock.ledger.reconcile import GRACE
from penstock.model.clock import FakeClock
from penstock.model.errors import EngineError, EngineUnavailable
from penstock.model.job import Window
from penstock.model.outcome import Completed
from penstock.model.states import State
from penstock.opening import make_engine
from servers import PostgresServer, RedisServer, postgres_server

__all__ = ["database_of_the_ledger", "engine_with_ledger", "redis_that_may_be_lost"]

pytestmark = pytest.mark.usefixtures("hurried")

# -- what is written when -------------------------------------------------------------------------------


async def test_the_row_tells_every_step_of_a_life(engine: LedgeredEngine) -> None:
    job = await put(engine)
    assert await row(engine, job) == ("pending", 0, True)
    [first] = await claim(engine)
    assert await row(engine, job) == ("processing", 1, True)
    await settle(engine, first, retried())
    assert await row(engine, job) == ("processing", 1, True)
    [second] = await claim(engine)
    await settle(engine, second, Completed('"ok"'))
    assert await row(engine, job) == ("completed", 2, True)
    told = await engine.history(job)
    assert told is not None
    assert (told.result_json, told.error_message, told.bull_job_id) == ('"ok"', None, job)


async def test_a_thousand_ends_are_one_statement_and_a_look(engine: LedgeredEngine) -> None:
    await engine.enqueue(news(1_000))
    held = await claim(engine, limit=1_000)
    said: list[Say] = []
    run = engine._books.database.run

    async def listen(says: Any) -> Any:
        said.extend(says)
        return await run(says)

    engine._books.database.run = listen  # type: ignore[method-assign]
    assert all((await engine.settle([end(one) for one in held])).accepted)
    assert [say.name for say in said] == ["save", "look"]


async def test_followers_have_their_rows_with_the_end_that_puts_them_in(engine: LedgeredEngine) -> None:
    held = await take(engine)
    follower = new()
    await engine._books.save([end(held, then=[follower])])  # and here the worker dies
    assert await row(engine, held.id) == ("completed", 1, True)
    assert await row(engine, follower.id) == ("pending", 0, False)


async def test_followers_of_a_refused_end_have_none(engine: LedgeredEngine) -> None:
    held = await take(engine)
    follower = new()
    await engine._books.save([end(held._replace(token="0" * 32), then=[follower])])
    assert await engine._books.lines([follower.id]) == {}


# -- crashes in between ---------------------------------------------------------------------------------


async def test_what_was_not_dispatched_is_dispatched_by_the_reconciler_once(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    job = new(delay=60.0)
    await engine._books.put([job])
    assert (await engine.reconcile(100)).dispatched == 0  # whoever put it in may be about to
    clock.advance(GRACE)
    assert (await engine.reconcile(100)).dispatched == 1
    assert (await engine.reconcile(100)).repairs == 0
    assert (await read(engine, job.id)).state is State.DELAYED
    clock.advance(60 - GRACE)
    await engine.stage(10)
    assert (await run_one(engine)).id == job.id


async def test_what_was_dispatched_and_not_marked_runs_once(engine: LedgeredEngine, clock: FakeClock) -> None:
    job = new()
    await engine._books.put([job])
    await engine._inner.enqueue([job])
    clock.advance(GRACE)
    await engine.reconcile(100)
    await run_one(engine)
    assert await claim(engine) == []


async def test_what_has_ended_by_its_row_is_not_run_again_and_redis_is_told(
    engine: LedgeredEngine, caplog: pytest.LogCaptureFixture
) -> None:
    for outcome in (Completed('"done"'), failed(message="bad")):
        held = await take(engine)
        await engine._books.save([end(held, outcome)])  # and here the worker dies
        await engine.rescue_worker("worker-1", frozenset([held.token]), gone)
        await register(engine, "worker-2", LONG)
        assert await claim(engine, worker="worker-2") == []
        job = await read(engine, held.id)
        assert job.state is outcome.state
        assert job.result_json == outcome.result
        await register(engine, ttl=LONG)
    assert "not run" in caplog.text
    dead = await engine.dead_letter(held.id)
    assert dead is not None
    assert dead.error is not None
    assert dead.error["message"] == "bad"


async def test_an_older_claim_never_takes_the_row_over(engine: LedgeredEngine) -> None:
    job = await put(engine)
    [old] = (await engine._inner.claim(want())).claims  # its worker sleeps before it writes the start
    await engine._inner.rescue_worker("worker-1", frozenset(), gone)
    await register(engine, "worker-2", LONG)
    [newer] = await claim(engine, worker="worker-2")
    lines = await engine._books.start(want(), 1, [old])
    assert lines[job].token == newer.token
    assert not await settle(engine, old)
    assert await row(engine, job) == ("processing", 1, True)
    assert await settle(engine, newer)
    assert await row(engine, job) == ("completed", 1, True)


async def test_one_who_was_rescued_cannot_end_it(engine: LedgeredEngine) -> None:
    held = await take(engine)
    await engine.rescue_worker("worker-1", frozenset([held.token]), gone)
    assert not await settle(engine, held)
    assert await row(engine, held.id) == ("processing", 1, True)


async def test_a_job_that_only_redis_knows_gets_its_row_when_it_is_claimed(engine: LedgeredEngine) -> None:
    job = new(key="k-1", owner="ana")
    await engine._inner.enqueue([job])
    [held] = await claim(engine)
    assert await row(engine, job.id) == ("processing", 1, True)
    assert await settle(engine, held)
    told = await engine.history(job.id)
    assert told is not None
    assert (told.idempotency_key, told.owner) == ("k-1", "ana")


# -- a flushed Redis ------------------------------------------------------------------------------------


async def test_what_redis_lost_is_dispatched_again_and_what_had_ended_is_not(
    engine: LedgeredEngine, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    done = await take(engine)
    await settle(engine, done)
    waiting, running = await put(engine), await take(engine, "other")
    later = await put(engine, delay=3_600.0, args='{"n": 5}')
    await flush(engine, redis)
    assert (await engine.reconcile(100)).restored == 3
    assert [await state(engine, i) for i in (waiting, running.id, later)] == ["waiting", "waiting", "delayed"]
    assert (await read(engine, later)).args_json == '{"n": 5}'
    assert await state(engine, done.id) is None
    assert (await run_one(engine)).id == waiting
    assert "lost by Redis" in caplog.text


async def test_a_restored_job_has_the_attempts_that_are_left(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    held = await take(engine, max_attempts=3)
    await settle(engine, held, retried())
    await flush(engine, redis)
    await engine.reconcile(100)
    [again] = await claim(engine)
    assert (again.attempt, again.max_attempts) == (1, 2)
    assert await row(engine, held.id) == ("processing", 2, True)


async def test_who_ran_when_redis_was_flushed_has_its_end_saved(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    held = await take(engine)
    await flush(engine, redis)
    assert await settle(engine, held, Completed('"done"'))
    assert await row(engine, held.id) == ("completed", 1, True)
    assert (await engine.reconcile(100)).repairs == 0
    assert await claim(engine) == []


async def test_of_two_runs_after_a_flush_only_the_newer_may_end_it(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    old = await take(engine)
    await flush(engine, redis)
    await engine.reconcile(100)
    [newer] = await claim(engine)
    assert not await settle(engine, old)
    assert await settle(engine, newer)


async def test_a_flow_goes_on_where_it_was(engine: LedgeredEngine, redis: RedisServer) -> None:
    first, second = await take(engine, ties=FEEDS), await put(engine, ties=FEEDS)
    after_first = await blocked(engine, first.id)
    after_second = await blocked(engine, second)
    await settle(engine, first)
    await flush(engine, redis)
    await engine.reconcile(100)
    assert await state(engine, after_first) is State.WAITING
    assert await state(engine, after_second) is State.BLOCKED
    for _ in range(3):
        for held in await claim(engine):
            await settle(engine, held)
    assert (await row(engine, after_second))[0] == "completed"


async def test_what_waited_for_a_failed_one_does_not_run_after_a_flush(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    first = await take(engine, ties=FEEDS)
    await engine._books.save([end(first, failed())])
    follower = new(ties=after(first.id))
    await engine._books.put([follower])
    await engine._books.mark([follower.id])
    await flush(engine, redis)
    await engine.reconcile(100)
    assert (await row(engine, follower.id))[0] == "cancelled"


async def test_keys_are_held_though_redis_has_forgotten_them(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    held = await take(engine, key="k-1")
    waiting = await put(engine, key="k-2", window=Window("unfinished"))
    await settle(engine, held)
    await flush(engine, redis)
    answers = await engine.enqueue([new(key="k-1"), new(key="k-2", window=Window("unfinished"))])
    assert [(a.id, a.duplicate) for a in answers] == [(held.id, True), (waiting, True)]


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "not kept"])
async def test_what_ends_while_it_is_compared_is_no_repair(
    engine: LedgeredEngine, keep: bool, caplog: pytest.LogCaptureFixture
) -> None:
    held = await take(engine)
    states = engine._inner.states

    async def ends_first(ids: Any) -> Any:
        await settle(engine, held, keep=keep)
        return await states(ids)

    engine._inner.states = ends_first  # type: ignore[method-assign]
    assert (await engine.reconcile(100)).repairs == 0
    assert "reconciled" not in caplog.text
    assert await claim(engine) == []


async def test_a_step_is_bounded_and_goes_on_where_it_stopped(
    engine: LedgeredEngine, redis: RedisServer
) -> None:
    await engine.enqueue(news(5))
    await flush(engine, redis)
    steps, place = [], None
    while True:
        done = await engine.reconcile(2, place)
        steps.append(done.restored)
        if (place := done.after) is None:
            break
    assert steps == [2, 2, 1]


# -- ends that are not of a run -------------------------------------------------------------------------


async def test_what_expired_in_redis_is_ended_by_the_reconciler(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    job = await put(engine, expire_after=10.0)
    clock.advance(11)
    assert len(await engine.expire(10)) == 1
    assert (await engine.reconcile(100)).ended == 1
    assert await row(engine, job) == ("cancelled", 0, True)


async def test_a_job_that_was_not_dispatched_can_be_cancelled(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    job = new()
    await engine._books.put([job])
    assert await engine.cancel([job.id], "not wanted") == [State.CANCELLED]
    clock.advance(GRACE)
    assert (await engine.reconcile(100)).repairs == 0
    told = await engine.history(job.id)
    assert told is not None
    assert told.error_message == "not wanted"


async def test_a_cancelled_run_that_would_be_tried_again_is_cancelled_in_both(engine: LedgeredEngine) -> None:
    held = await take(engine)
    await engine.cancel([held.id], "enough")
    await settle(engine, held, retried())
    assert await state(engine, held.id) is State.CANCELLED
    assert (await row(engine, held.id))[0] == "cancelled"


async def test_the_ledger_has_bounds_of_its_own_and_keeps_what_redis_may_not_know_yet(
    engine: LedgeredEngine, clock: FakeClock
) -> None:
    old = await take(engine)
    await settle(engine, old)
    assert await engine.prune(Retention("default", keep_completed=0), 10) == 1
    assert await engine.history(old.id) is not None
    assert await engine.forget(0, 0, 10) == 0
    clock.advance(SAFE + 1)
    assert await engine.forget(1, LONG * 24, 10) == 0
    assert await engine.forget(0, LONG * 24, 10) == 1
    assert await engine.history(old.id) is None


# -- away -----------------------------------------------------------------------------------------------


async def test_without_redis_jobs_are_accepted_and_dispatched_later(ledger: str) -> None:
    clock = FakeClock()
    with RedisServer() as server:
        engine = make_engine(server.url(), f"t_{secrets.token_hex(6)}", clock, ledger)
        assert isinstance(engine, LedgeredEngine)
        await engine.migrate()
        await engine.open()
        server.stop()
        [answer] = await engine.enqueue([new(key="k-1", args='{"n": 1}')])
        assert (answer.state, answer.duplicate) == (State.WAITING, False)
        [second] = await engine.enqueue([new(key="k-1")])
        assert (second.id, second.duplicate) == (answer.id, True)
        assert (await read(engine, answer.id)).args == {"n": 1}
        clock.advance(GRACE)
        with pytest.raises(EngineUnavailable):
            await engine.reconcile(10)
        server.start()
        await engine._inner.migrate()
        assert (await engine.reconcile(10)).dispatched == 1
        await register(engine)
        assert (await run_one(engine)).id == answer.id
        await engine.close()


async def test_an_app_opens_and_enqueues_while_redis_is_away(ledger: str) -> None:
    with RedisServer() as server:
        schema = f"t_{secrets.token_hex(6)}"
        before = make_engine(server.url(), schema, FakeClock(), ledger)
        await before.migrate()
        await before.close()
        server.stop()
        engine = make_engine(server.url(), schema, FakeClock(), ledger)
        await engine.open()
        [answer] = await engine.enqueue([new()])
        assert not answer.duplicate
        await engine.close()


async def test_without_the_ledger_nothing_is_accepted_claimed_or_settled_and_nothing_is_spent(
    redis: RedisServer,
) -> None:
    with PostgresServer() as server:
        engine = make_engine(redis.url(), f"t_{secrets.token_hex(6)}", FakeClock(), server.url())
        assert isinstance(engine, LedgeredEngine)
        await engine.migrate()
        await engine.open()
        await register(engine, ttl=LONG)
        held = await take(engine, "other")
        waiting = await put(engine)
        server.stop()
        for away in (engine.enqueue([new()]), engine.claim(want()), engine.settle([end(held)])):
            with pytest.raises(EngineUnavailable):
                await away
        with pytest.raises(EngineUnavailable):
            await engine.settle([end(held)], want())
        assert await engine._inner.states([held.id, waiting]) == [State.ACTIVE, State.WAITING]
        server.start()
        assert await settle(engine, held, again=True)
        [again] = await claim(engine)
        assert (again.id, again.attempt) == (waiting, 1)
        await engine.close()


# -- where it is, and who may know ----------------------------------------------------------------------


async def test_the_table_has_the_documents_columns_and_indexes(redis: RedisServer) -> None:
    schema = f"t_{secrets.token_hex(6)}"
    engine = make_engine(redis.url(), schema, FakeClock(), postgres_server().url())
    ledger = ["0001_ledger", "0002_losses", "0003_notes", "0004_quota"]
    assert await engine.migrate() == [*(f"ledger {name}" for name in ledger), "0001_initial"]
    assert await engine.migrate() == []
    with psycopg.connect(postgres_server().url()) as connection:
        found = connection.execute(
            "select column_name from information_schema.columns where table_schema = %s "
            "and table_name = 'background_jobs' order by ordinal_position",
            [schema],
        )
        assert [name for (name,) in found][: len(COLUMNS)] == COLUMNS
        indexes = connection.execute(
            "select indexdef from pg_indexes where schemaname = %s and tablename = 'background_jobs'",
            [schema],
        ).fetchall()
    for columns in (
        "(queue_name, id)",
        "(status, id)",
        "(created_at)",
        "(queue_name, status, id)",
        "(queue_name, job_type, idempotency_key)",
    ):
        assert any(columns in text for (text,) in indexes), columns


async def test_a_schema_that_holds_an_engine_is_refused(redis: RedisServer) -> None:
    schema = f"t_{secrets.token_hex(6)}"
    other = PostgresEngine(postgres_server().url(), schema=schema)
    await other.migrate()
    engine = make_engine(redis.url(), schema, FakeClock(), postgres_server().url())
    with pytest.raises(EngineError, match="holds the jobs of an engine"):
        await engine.migrate()
    await engine.close()


async def test_a_file_that_is_the_ledger_of_another_app_is_refused(
    redis: RedisServer, tmp_path: Path
) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    one, other = (make_engine(redis.url(), schema, FakeClock(), ledger) for schema in ("shop", "office"))
    await one.migrate()
    for verb in (other.migrate, other.open):
        with pytest.raises(EngineError, match=r"ledger of an app whose PENSTOCK_SCHEMA is 'shop'"):
            await verb()
    assert "'shop'" in {finding.name: finding.text for finding in await other.examine()}["ledger-schema"]
    await one.open()
    await one.close()


async def test_doctor_looks_at_the_ledger_and_lets_a_forgetful_redis_pass(
    engine: LedgeredEngine,
) -> None:
    found = {finding.name: finding for finding in await engine.examine()}
    assert found["ledger-schema"].level is Level.OK
    assert found["ledger-durability"].text.startswith("ledger: ")
    assert found["persistence"].level is Level.WARNING


@pytest.mark.parametrize(
    ("url", "ledger", "words"),
    [
        ("sqlite:///jobs.db", "postgresql://h/d", "keep background_jobs themselves"),
        ("redis://h", "redis://other", "must name a database"),
        ("redis://h", "sqlite://:memory:", "would not outlive"),
    ],
)
def test_what_cannot_go_together_is_refused_when_the_app_is_made(url: str, ledger: str, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        Penstock(url, ledger=ledger)


async def test_the_ledgers_password_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    app = Penstock("redis://u:hush@127.0.0.1:1", ledger="postgresql://u:secret@127.0.0.1:1/d")

    @app.task
    def work() -> None: ...

    shown = [repr(app), repr(app.settings)]
    for attempt in (work.aenqueue, app.migrate):
        with pytest.raises(EngineError) as raised:
            await attempt()
        shown += [str(raised.value), repr(raised.value)]
    shown.append(repr(await app.examine()))
    engine = make_engine(app.url, "s", FakeClock(), "postgresql://u:secret@127.0.0.1:1/d")
    shown += [repr(engine), caplog.text]
    assert not any("secret" in text or "hush" in text for text in shown)


# -- people, and workers ---------------------------------------------------------------------------------


@pytest.fixture
def shop(redis: RedisServer, ledger: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Penstock]:
    """An app whose module the command line finds."""
    monkeypatch.setenv("PENSTOCK_MIGRATE", "true")
    made = Penstock(redis.url(), ledger=ledger, schema=f"t_{secrets.token_hex(4)}")

    @made.task
    async def work(n: int) -> int:
        return n

    yield made
    redis.ask("FLUSHALL")


async def test_an_operator_can_reconcile_at_once(shop: Penstock, redis: RedisServer) -> None:
    async with shop:
        await shop.aenqueue_many([shop.tasks["work"].call(n=n) for n in range(3)])
        assert (await shop.ops.reconcile()).repairs == 0
        redis.ask("FLUSHALL")
        assert await shop.ops.reconcile() == Reconciled(restored=3)


async def test_a_worker_goes_on_after_a_flush_by_itself(shop: Penstock, redis: RedisServer) -> None:
    async with shop:
        redis.ask("FLUSHALL")
        working = asyncio.create_task(shop.worker(lease=1.0).run())
        job = await shop.tasks["work"].aenqueue(n=1)
        assert await job.aresult(timeout=30) == 1
        later = [await shop.tasks["work"].using(delay=0.5).aenqueue(n=n) for n in range(3)]
        redis.ask("FLUSHALL")
        engine = shop.engine
        async with asyncio.timeout(60):
            while not all([await engine.history(job.id) for job in later]):
                await asyncio.sleep(0.05)
        working.cancel()
        await asyncio.wait([working])
