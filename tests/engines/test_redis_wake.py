"""Wake-ups: one for each who can use it, lost by nobody, and found again when the connection is lost."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from conformance.kit import QUEUE, claim, counts, news, put, register, want
from engines.redis_kit import commands, fresh_engine
from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import OutcomeUnknown
from penstock.model.states import State
from servers import RedisServer, fresh_schema, redis_server

PATIENCE = 20.0


async def blocked(server: RedisServer, many: int) -> None:
    """Return when so many clients wait for a bell."""
    async with asyncio.timeout(PATIENCE):
        while int(server.info("clients")["blocked_clients"]) < many:
            await asyncio.sleep(0.005)


async def wait(engine: RedisEngine, *queues: str) -> asyncio.Task[None]:
    return asyncio.create_task(engine.wait(list(queues) or [QUEUE], 600))


async def listening(engine: RedisEngine) -> None:
    """The first wait polls while the connection is made."""
    await engine.wait([QUEUE], 0.01)
    async with asyncio.timeout(PATIENCE):
        while engine._bell._wire is None:
            await asyncio.sleep(0.005)
    engine._bell.look({QUEUE: 1})


async def test_one_job_wakes_one_of_those_who_wait():
    with RedisServer() as server:
        async with fresh_engine(server) as one, fresh_engine(server, schema=one.schema) as two:
            for engine in (one, two):
                await listening(engine)
            first, second = await wait(one), await wait(two)
            await blocked(server, 2)
            await put(one)
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0.05)
            assert [first.done(), second.done()].count(True) == 1
            first.cancel()
            second.cancel()


async def test_whoever_leaves_work_behind_wakes_the_next():
    with RedisServer() as server:
        async with fresh_engine(server) as one, fresh_engine(server, schema=one.schema) as two:
            await register(one)
            for engine in (one, two):
                await listening(engine)
            first, second = await wait(one), await wait(two)
            await blocked(server, 2)
            await one.enqueue(news(5))
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
                await claim(one, limit=2)
                await asyncio.gather(first, second)


async def test_whoever_takes_the_last_leaves_no_false_alarm():
    async with fresh_engine() as engine:
        await register(engine)
        await engine.enqueue(news(3))
        assert len(await claim(engine)) == 3
        assert redis_server().ask("EXISTS", f"{{{engine.schema}}}:bell:{QUEUE}") == 0


async def test_a_wake_up_does_not_go_to_a_worker_that_cannot_use_it():
    """A worker whose slots for a queue are taken listens to the others only."""
    with RedisServer() as server:
        async with fresh_engine(server) as busy, fresh_engine(server, schema=busy.schema) as free:
            await register(busy)
            for engine in (busy, free):
                await listening(engine)
            await busy.claim(want(per_queue={"other": 1, QUEUE: 0}))
            deaf, hearing = await wait(busy, "other", QUEUE), await wait(free)
            await blocked(server, 2)
            await put(free)
            async with asyncio.timeout(PATIENCE):
                await hearing
            assert not deaf.done()
            deaf.cancel()


async def test_a_wake_up_that_nobody_here_waits_for_any_more_is_passed_on():
    with RedisServer() as server:
        async with fresh_engine(server) as gone, fresh_engine(server, schema=gone.schema) as there:
            for engine in (gone, there):
                await listening(engine)
            left = await wait(gone)
            await blocked(server, 1)
            left.cancel()
            stays = await wait(there)
            await blocked(server, 2)
            await put(there)
            async with asyncio.timeout(PATIENCE):
                await stays


async def test_a_waiter_for_other_queues_is_heard_too():
    async with fresh_engine() as engine:
        await listening(engine)
        one = await wait(engine, "a")
        await asyncio.sleep(0.01)
        two = await wait(engine, "b")
        await put(engine, "b")
        async with asyncio.timeout(PATIENCE):
            await two
        await put(engine, "a")
        async with asyncio.timeout(PATIENCE):
            await one


async def test_a_restart_ends_every_wait_and_wake_ups_work_again():
    with RedisServer(appendonly="yes") as server:
        async with fresh_engine(server) as engine:
            await listening(engine)
            waiting = await wait(engine)
            await blocked(server, 1)
            server.restart("KILL")
            async with asyncio.timeout(PATIENCE):
                await waiting  # nobody knows what was missed: look
            engine._bell.look({QUEUE: 1})
            again = await wait(engine)
            await blocked(server, 1)
            await put(engine)
            async with asyncio.timeout(PATIENCE):
                await again


async def test_while_nothing_can_be_heard_waiting_is_short():
    with RedisServer() as server:
        async with fresh_engine(server) as engine:
            await listening(engine)
            async with asyncio.timeout(PATIENCE):
                while not engine._bell._listening:
                    await engine.wait([QUEUE], 0.01)
                server.stop("KILL")
                while engine._bell._wire is not None:
                    await asyncio.sleep(0.005)
                await engine.wait([QUEUE], 600)


async def test_waiting_costs_the_server_nothing():
    with RedisServer() as server:
        async with fresh_engine(server) as engine:
            await listening(engine)
            before = commands(server)
            for _ in range(20):
                await engine.wait([QUEUE], 0.01)
            assert commands(server).get("blpop", 0) - before.get("blpop", 0) <= 1


async def stand(engine: RedisEngine, server: RedisServer) -> asyncio.Task[list[str]]:
    """A claim that waits for work, at the server."""
    await listening(engine)

    async def ids() -> list[str]:
        return [held.id for held in (await engine.claim_next(want(), 600)).claims]

    standing = asyncio.create_task(ids())
    async with asyncio.timeout(PATIENCE):
        while engine._bell._behind is None:
            await asyncio.sleep(0.005)
    await blocked(server, 1)
    return standing


async def test_a_claim_that_stands_is_carried_out_as_the_job_comes():
    with RedisServer() as server:
        async with fresh_engine(server) as engine, fresh_engine(server, schema=engine.schema) as other:
            await register(engine)
            await claim(engine)  # the server knows the script
            standing = await stand(engine, server)
            job_id = await put(other)
            assert await counts(other) == {State.ACTIVE: 1}
            async with asyncio.timeout(PATIENCE):
                assert await standing == [job_id]


async def test_who_asks_again_the_moment_it_was_answered_stands_at_once():
    with RedisServer() as server:
        async with fresh_engine(server) as engine:
            await register(engine)
            await listening(engine)
            for number in range(1, 4):
                claiming = asyncio.create_task(_claim_twice(engine))
                await blocked(server, 1)
                await put(engine)
                await blocked(server, 1)
                await put(engine)
                async with asyncio.timeout(PATIENCE):
                    assert await claiming == 2
                assert commands(server)["blpop"] == 2 * number
        assert "client|unblock" not in commands(server)


async def _claim_twice(engine: RedisEngine) -> int:
    return sum([len((await engine.claim_next(want(limit=1), 600)).claims) for _ in range(2)])


async def test_a_claim_that_stands_when_the_scripts_are_forgotten_brings_its_job():
    with RedisServer() as server:
        async with fresh_engine(server) as engine:
            await register(engine)
            standing = await stand(engine, server)
            server.ask("SCRIPT", "FLUSH")
            job_id = await put(engine)
            async with asyncio.timeout(PATIENCE):
                assert await standing == [job_id]


async def test_a_claim_that_stands_when_the_server_is_lost_is_in_doubt():
    with RedisServer(appendonly="yes") as server:
        async with fresh_engine(server) as engine:
            await register(engine)
            standing = await stand(engine, server)
            server.restart("KILL")
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(OutcomeUnknown):
                    await standing


async def test_a_claim_stands_also_where_somebody_has_left_a_wait_behind():
    with RedisServer() as server:
        async with fresh_engine(server) as engine:
            await register(engine)
            await listening(engine)
            left = await wait(engine, "other")
            await blocked(server, 1)
            left.cancel()
            await asyncio.wait([left])
            await claim(engine)
            standing = asyncio.create_task(engine.claim_next(want(), 600))
            async with asyncio.timeout(PATIENCE):
                while engine._bell._listening != {QUEUE}:
                    await asyncio.sleep(0.005)
            await blocked(server, 1)
            job_id = await put(engine)
            async with asyncio.timeout(PATIENCE):
                assert [held.id for held in (await standing).claims] == [job_id]


async def test_a_server_that_does_not_let_us_end_a_wait_is_heard_all_the_same():
    schema = fresh_schema()
    with RedisServer() as server:
        server.ask("ACL", "SETUSER", "ana", "on", ">hush", "~*", "+@all", "-client|unblock")
        async with fresh_engine(url=f"redis://ana:hush@127.0.0.1:{server.port}", schema=schema) as engine:
            await register(engine)
            await listening(engine)
            client = engine._bell._client
            left = await wait(engine)
            await blocked(server, 1)
            left.cancel()
            await asyncio.wait([left])
            await claim(engine)
            for _ in range(3):
                standing = asyncio.create_task(engine.claim_next(want(), 600))
                await asyncio.sleep(0.05)
                job_id = await put(engine)
                async with asyncio.timeout(PATIENCE):
                    assert [held.id for held in (await standing).claims] == [job_id]
            assert engine._bell._client == client, "the connection was given up"


async def test_a_server_that_falls_silent_keeps_no_claim_for_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("penstock.engines.redis.bell.LATE", 0.1)
    with RedisServer() as server:
        async with fresh_engine(server) as engine:
            await register(engine)
            await listening(engine)
            await claim(engine)
            standing = asyncio.create_task(engine.claim_next(want(), 0.3))
            await blocked(server, 1)
            pid = int(server.info("server")["process_id"])
            os.kill(pid, signal.SIGSTOP)
            try:
                async with asyncio.timeout(PATIENCE):
                    with pytest.raises(OutcomeUnknown):
                        await standing
            finally:
                os.kill(pid, signal.SIGCONT)
