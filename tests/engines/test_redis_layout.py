"""The keys: one slot, known names, no expiry, little memory, and a cost that does not grow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import penstock.engines.redis
from conformance.kit import (
    TASK,
    after,
    claim,
    counts,
    end,
    failed,
    finish,
    gone,
    make_id,
    new,
    news,
    parked,
    put,
    register,
    retried,
    settle,
    take,
    want,
)
from engines.redis_kit import commands, fresh_engine, keys
from penstock.engine import Group, JobEvent, JobFilter, Order, Recovery, Retention, Sample, ScheduleRow, Tick
from penstock.engines.redis.scripts import scripts
from penstock.model.breaker import Breaker, Circuit
from penstock.model.clock import FakeClock
from penstock.model.job import FlowName, Ties, Window
from penstock.model.limits import Limit
from penstock.model.names import check_name
from penstock.model.states import State
from servers import REDIS_MAKES, RedisServer, redis_server

LUA = Path(penstock.engines.redis.__file__).parent / "lua"
VERBS = sorted(path.name for path in LUA.glob("[!_]*.lua"))

DOCS = Path(__file__).parents[2] / "docs" / "redis.md"
# What stands for a name in the docs' table of keys.
STANDS_FOR = {
    "GROUP": ".+>.+",
    "TIME": "[0-9]+",
    **dict.fromkeys(("QUEUE", "KIND", "WORKER", "JOB", "FLOW", "SCHEDULE", "TASK…", "TASK", "KEY"), ".+"),
}


def documented() -> list[str]:
    """A pattern for each key in the first column of the table of keys."""
    table = DOCS.read_text().partition("| key, after the prefix |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [_pattern(name) for cell in cells for name in re.findall("`([^`]+)`", cell)]


def _pattern(name: str) -> str:
    words = re.split("([A-Z]+…?)", name)
    return "".join(STANDS_FOR[word] if word[:1].isupper() else re.escape(word) for word in words)


PATTERNS = documented()


@pytest.fixture(params=REDIS_MAKES)
def own_server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    with RedisServer(request.param) as server:
        yield server


# -- names ------------------------------------------------------------------------------------------------


def test_every_key_that_a_script_names_is_one_that_the_docs_name():
    scripts_text = "\n".join(path.read_text() for path in LUA.glob("*.lua"))
    named = set(re.findall(r"\bp \.\. '([a-z]+[a-z:]*)'", scripts_text))
    documented_beginnings = {re.split(r"\.\+|\[", pattern)[0] for pattern in PATTERNS}
    assert len(named) > 60
    assert named - documented_beginnings == set()


async def test_every_key_is_one_that_the_docs_name_in_one_slot_and_none_expires(own_server):
    clock = FakeClock()
    async with fresh_engine(own_server, clock=clock) as engine:
        await live_a_full_life(engine, clock)
        found = keys(engine, own_server)
        assert {p for p in PATTERNS if any(re.fullmatch(p, key) for key in found)} == set(PATTERNS)
        assert [key for key in found if not any(re.fullmatch(p, key) for p in PATTERNS)] == []
        assert own_server.ask("DBSIZE") == len(found)
        assert "expires=0" in own_server.info("keyspace")["db0"]
        slots = {own_server_slot(f"{{{engine.schema}}}:{key}") for key in found}
        assert len(slots) == 1


def own_server_slot(key: str) -> str:
    """What Redis hashes: the part between the first braces."""
    return key[key.index("{") + 1 : key.index("}")]


async def live_a_full_life(engine, clock: FakeClock) -> None:
    """Leave a trace in every key."""
    worker = await register(engine)
    await finish(engine, key="k", owner="o", ties=Ties(shelf="@nightly"))
    dead, old = await finish(engine, outcome=failed(), owner="o"), await finish(engine, outcome=failed())
    await engine.recover([Recovery(old.id, make_id())])
    await engine.enqueue([new(delay=60, expire_after=5), new("later")])
    await engine.settle([end(h, parked(misfit="v0")) for h in await claim(engine)])
    held = await take(engine, "held")
    await engine.cancel([held.id], "no")
    await engine.release(worker, "lost")
    await engine.set_paused("later", True)
    await engine.prune(Retention("later"), 1, run="2026-01-01")
    assert dead.id
    await engine.beat(worker, 60, 1_000)
    await engine.order_worker(worker, Order.QUIET)
    await put(engine, "owed", owner="o")
    await live_with_ties(engine)
    await live_by_schedule(engine)
    await live_under_limits(engine, clock)
    await engine.put_note("token", "one", "{}", ttl=60)
    await engine.count([Sample("q", "t", {"completed": 1})])
    await engine.publish([JobEvent("added", make_id(), "q", "t")])


async def live_with_ties(engine) -> None:
    flow = FlowName(make_id(), "course")
    first = new("tied", ties=Ties(flow=flow))
    await engine.enqueue([first, new("tied", ties=after(first.id, deadline=60, flow=flow))])
    [held] = await claim(engine, "tied")
    await engine.save_step(held.id, held.token, "one", "1")
    throttled = await take(engine, "throttled", key="k", window=Window("period", 60))
    await settle(engine, throttled, keep=False)


async def live_by_schedule(engine) -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    await engine.put_schedules([ScheduleRow(id="nightly", spec="{}", next_at=at)])
    await engine.fire(Tick("nightly", at, at + timedelta(days=1), None, note="no"))


async def live_under_limits(engine, clock: FakeClock) -> None:
    """Lanes in every place where one can stand: aged, owing, resting, waiting for its turn, and idle; and one
    that is forgiven what it owes."""
    await engine.put_breakers([Breaker(name="mail")])
    await engine.set_breaker("mail", Circuit.OPEN)
    slow, fast = "limited>slow", "limited>fast"
    await engine.put_groups([Group(slow, per_key=Limit(rate=0.001))])
    await engine.enqueue(news(2, "old", lane="old>task>aged"))
    clock.advance(1_000)
    worker = await register(engine, "late")
    assert len(await claim(engine, "old", worker=worker, limit=1)) == 1
    await engine.enqueue(news(1, "limited", lane=f"{fast}>idle", priority=1))
    await engine.settle([end(held) for held in await claim(engine, "limited", worker=worker, limit=1)])
    await engine.enqueue(news(2, "limited", lane=f"{fast}>owing", priority=1))
    await engine.enqueue(news(2, "limited", lane=f"{slow}>resting", priority=1))
    assert len(await claim(engine, "limited", worker=worker, limit=2)) == 2
    await engine.enqueue(news(1, "limited", lane=f"{fast}>turn"))
    await engine.enqueue(news(3, "alone", lane="alone>task"))
    for _ in range(2):
        assert len(await claim(engine, "alone", worker=worker, limit=1)) == 1


@pytest.mark.parametrize("name", ["a:b", "a{b", "a}b", "a?b", "a b", "a\nb", "", "x" * 129])
def test_no_queue_or_task_may_bear_what_separates_words_in_keys(name):
    with pytest.raises(ValueError, match="not allowed"):
        check_name("queue", name)


async def test_keys_and_owners_of_users_make_no_keys_of_ours(own_server):
    async with fresh_engine(own_server) as engine:
        await put(engine, key="plain", owner="plain")
        before = keys(engine, own_server)
        for text in ("{x}:y", "*", "}{", "a\nb\r\nDEL x", "live:default:app.work", "\u202e"):
            await put(engine, key=text, owner=text)
        assert keys(engine, own_server) == before


# -- scripts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VERBS)
def test_every_script_tells_its_keys_arguments_and_answer(name):
    text = (LUA / name).read_text()
    shebang, *head = text.splitlines()
    told = "\n".join(line for line in head if line.startswith("--"))
    assert shebang.startswith("#!lua")
    assert "-- KEYS 1 prefix" in told
    assert "-- ARGV 1 now" in told
    assert "Returns" in told or "return 1\n" in text


CREATING = {
    "enqueue.lua",
    "settle_then.lua",
    "fire.lua",
    "put_schedules.lua",
    "put_groups.lua",
    "put_breakers.lua",
    "recover.lua",
    "migrate.lua",
    "put_note.lua",
    "count.lua",
    "publish.lua",
    "put_off.lua",
}


@pytest.mark.parametrize("name", VERBS)
def test_only_what_makes_something_new_is_refused_when_memory_is_full(name):
    shebang = (LUA / name).read_text().splitlines()[0]
    flagged = "allow-oom" in shebang or "no-writes" in shebang
    assert flagged is (name not in CREATING)


def test_scripts_are_static():
    for path in LUA.parent.glob("*.py"):
        assert not re.search(r"\.text\b.*(format|%|\+)", path.read_text()), path.name
    assert all(b"loadstring" not in script.text for script in scripts().values())


# -- memory -----------------------------------------------------------------------------------------------


async def test_a_waiting_job_takes_at_most_300_bytes_beside_its_payload(own_server):
    """The index by which it is listed apart: that is told in the docs."""
    many = 20_000
    payload = '{"n":"' + "x" * 60 + '"}'
    async with fresh_engine(own_server) as engine:
        await engine.enqueue([new(args=payload)])
        before = used(own_server)
        for _ in range(many // 1_000):
            await engine.enqueue(news(1_000, args=payload))
        all_of_it = (used(own_server) - before) / many - len(payload)
        listed = (
            own_server.ask("MEMORY", "USAGE", f"{{{engine.schema}}}:live:default:{TASK}", "SAMPLES", 0) / many
        )
        assert all_of_it - listed <= 300, (all_of_it, listed)
        assert listed <= 150


def used(server: RedisServer) -> int:
    return int(server.info("memory")["used_memory"])


# -- cost -------------------------------------------------------------------------------------------------


async def cost(server: RedisServer, verb) -> int:
    """How many commands a verb makes the server run."""
    before = sum(commands(server).values())
    await verb()
    return sum(commands(server).values()) - before


async def test_a_verb_runs_as_many_commands_however_much_waits_runs_or_has_ended(own_server):
    async with fresh_engine(own_server) as engine:
        worker = await register(engine, ttl=3_000)
        await register(engine, "other", ttl=3_000)

        async def verbs() -> list[int]:
            await engine.enqueue(news(10))
            held = await claim(engine, limit=10)
            asked = want(limit=10)
            job, key, last = new(), new(key=make_id()), new()
            return [
                await cost(own_server, verb)
                for verb in (
                    lambda: engine.enqueue([job, key]),
                    lambda: engine.settle([end(h) for h in held[:5]], asked),
                    lambda: engine.settle([end(h, retried(60)) for h in held[5:]]),
                    lambda: engine.beat(worker, 3_000),
                    lambda: engine.stage(10),
                    lambda: engine.get(held[0].id),
                    lambda: engine.jobs(JobFilter(state=State.COMPLETED), 5),
                    lambda: engine.enqueue([last]),
                    engine.queues,
                    lambda: engine.standing(last.id, 10),
                )
            ]

        await verbs()  # loads the scripts
        few = await verbs()
        await engine.enqueue(news(3_000))
        many = await claim(engine, worker="other", limit=2_000, each=2_000)
        await engine.settle([end(h) for h in many[:1_000]])
        assert (await counts(engine))[State.ACTIVE] >= 1_000
        crowded = await verbs()
        assert all(later <= before for later, before in zip(crowded, few, strict=True)), f"{few} {crowded}"


async def test_listing_one_state_does_not_wade_through_the_others(own_server):
    async with fresh_engine(own_server) as engine:
        await register(engine, ttl=3_000)
        oldest = await put(engine, delay=60)
        cancelled = await put(engine)
        await engine.cancel([cancelled], "no")
        waiting = await put(engine, "quiet")
        await engine.enqueue(news(3_000))
        held = await claim(engine)
        await engine.settle([end(h) for h in held[:900]])
        found = {}
        for name, queue in ((State.DELAYED, None), (State.CANCELLED, None), (State.WAITING, "quiet")):
            where = JobFilter(state=name, queue=queue)
            looks = await cost(own_server, lambda where=where: engine.jobs(where, 50))
            [job] = await engine.jobs(where, 50)
            found[name] = job.id
            assert looks < 60, name
        assert found == {State.DELAYED: oldest, State.CANCELLED: cancelled, State.WAITING: waiting}


async def test_a_claim_takes_large_payloads_a_few_at_a_time():
    async with fresh_engine() as engine:
        await register(engine)
        large = '{"x":"' + "x" * 1_000_000 + '"}'
        await engine.enqueue(news(20, args=large))
        first = await claim(engine)
        assert 4 <= len(first) < 20
        rest = await claim(engine)
        assert len(first) + len(rest) == 20
        assert all([await settle(engine, h) for h in first + rest])


async def test_a_list_of_large_payloads_comes_in_several_looks():
    async with fresh_engine() as engine:
        large = '{"x":"' + "x" * 1_000_000 + '"}'
        jobs = news(12, args=large)
        await engine.enqueue(jobs)
        found = await engine.jobs(JobFilter(), 12)
        assert [job.id for job in found] == [job.id for job in jobs[::-1]]


async def test_a_rescue_empties_a_worker_of_thousands_in_bounded_steps():
    async with fresh_engine() as engine:
        worker = await register(engine)
        await engine.enqueue(news(1_300))
        await claim(engine, limit=2_000, each=2_000)
        assert len(await engine.rescue_worker(worker, frozenset(), gone)) == 1_300
        assert await engine.workers() == []
        assert redis_server().ask("EXISTS", f"{{{engine.schema}}}:held:{worker}") == 0
