"""Publishing: nothing where nobody listens, bounded where the engine is away, and never told twice."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.kit import new
from feed.kit import memory_engine, some_events  # noqa: F401
from penstock.engine import Engine
from penstock.feed.listening import TTL, keep_listening, somebody_listens
from penstock.feed.publisher import MAX_WAITING, ClientPublisher, Publisher
from penstock.model.clock import FakeClock
from penstock.model.errors import EngineUnavailable, InvalidOption, OutcomeUnknown
from penstock.model.job import Enqueued
from penstock.model.states import State
from unit.runtime_kit import Flaky


@pytest.fixture(name="flaky")
def flaky_engine(memory: Engine) -> Any:
    return Flaky(memory)


async def listen(engine: Engine) -> str:
    return (await keep_listening(engine, None, settled=False)).name


async def published(engine: Engine) -> list[str]:
    return [event.body for _, _, event in (await engine.feed(0, 1_000)).events]


async def test_while_nobody_listens_nothing_is_published(flaky: Any) -> None:
    publisher = Publisher(flaky)
    await publisher.look()
    assert not publisher.on
    await publisher.flush()
    assert flaky.verbs() == ["note"]


async def test_what_waits_when_the_last_listener_leaves_is_forgotten(flaky: Any, clock: FakeClock) -> None:
    await listen(flaky)
    publisher = Publisher(flaky)
    await publisher.look()
    assert publisher.on
    publisher.tell(*some_events(1))
    clock.advance(TTL + 1)
    await publisher.look()
    await publisher.flush()
    assert await published(flaky) == []
    assert publisher.dropped == 0


async def test_while_the_engine_is_away_events_wait_in_order(flaky: Any) -> None:
    publisher = Publisher(flaky)
    flaky.before["publish"] = [EngineUnavailable("away")]
    for event in some_events(1, 2):
        publisher.tell(event)
    with pytest.raises(EngineUnavailable):
        await publisher.flush()
    await publisher.flush()
    assert await published(flaky) == ['{"n":1}', '{"n":2}']


@pytest.mark.parametrize("error", [OutcomeUnknown("lost"), InvalidOption("no event at all")])
async def test_what_may_have_been_told_is_not_told_again_and_listeners_are_warned(
    flaky: Any, error: Exception
) -> None:
    before = await listen(flaky)
    publisher = Publisher(flaky)
    flaky.after["publish"] = [error]
    publisher.tell(*some_events(1))
    await publisher.flush()
    assert publisher.dropped == 1
    assert await published(flaky) == ['{"n":1}']
    assert await listen(flaky) != before


async def test_more_than_fit_are_dropped_and_counted_and_listeners_are_warned(flaky: Any) -> None:
    before = await listen(flaky)
    publisher = Publisher(flaky)
    [event] = some_events(1)
    for _ in range(MAX_WAITING + 3):
        publisher.tell(event)
    assert publisher.dropped == 3
    await publisher.flush()
    assert await listen(flaky) != before


async def test_a_client_asks_at_most_now_and_then_whether_somebody_listens(flaky: Any) -> None:
    client = ClientPublisher(flaky)
    for _ in range(5):
        job = new()
        client.added([job], [Enqueued(job.id, State.WAITING, False)])
        await client.close()
    assert flaky.verbs() == ["note"]


async def test_a_client_tells_what_it_put_in_and_not_what_was_there_already(flaky: Any) -> None:
    await listen(flaky)
    client = ClientPublisher(flaky)
    fresh, taken = new(owner="ana"), new()
    answers = [Enqueued(fresh.id, State.WAITING, False), Enqueued("another", State.WAITING, True)]
    client.added([fresh, taken], answers)
    await client.close()
    [(_, _, event)] = (await flaky.feed(0, 10)).events
    assert (event.event, event.job_id, event.owner) == ("added", fresh.id, "ana")


async def test_a_client_that_ends_waits_for_no_engine_that_is_away(
    flaky: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.feed.publisher.LAST_WORDS", 0.05)
    await listen(flaky)
    client = ClientPublisher(flaky)
    flaky.before["publish"] = [EngineUnavailable("away")] * 3
    job = new()
    client.added([job], [Enqueued(job.id, State.WAITING, False)])
    await client.close()
    assert await published(flaky) == []
    assert await somebody_listens(flaky)
