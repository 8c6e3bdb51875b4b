"""The watch: once across the fleet, told once, together, not at night, and never in anybody's way."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from runtime_kit import Flaky

from alerts_kit import Looking, Sink, post_here, sink
from penstock import EngineUnavailable, Penstock
from penstock.alerts import couriers, gauges
from penstock.alerts import sender as senders
from penstock.alerts.book import Book
from penstock.alerts.channels import MOST_LISTED, Channel, Notice, Told
from penstock.alerts.life import Event, Phase
from penstock.alerts.rules import Severity, Subject
from penstock.alerts.sender import Item, Sender
from penstock.alerts.turn import Turn
from penstock.alerts.watch import MOST_OF_RULE, AlertWatch
from penstock.model.clock import FakeClock
from penstock.model.errors import OutcomeUnknown
from penstock.model.job import NewJob
from penstock.tasks.ids import new_id

DAY = timedelta(days=1)
DEEP = "alerts: {queue_depth_high: {condition: waiting > 0}, worker_down: off}\n"


@pytest.fixture
async def looking() -> AsyncIterator[Looking]:
    clock = FakeClock()
    app = Penstock("sqlite://:memory:", clock=clock)
    app.queue("email")

    @app.task(queue="email")
    async def send() -> None: ...

    async with app, sink() as place:
        made = Looking(app, place, clock)
        made.over(DEEP)
        yield made


async def fill(looking: Looking) -> None:
    await looking.app.tasks["send"].aenqueue()


async def empty(looking: Looking) -> None:
    await looking.app.worker().run(burst=True)


async def test_of_many_watchers_one_looks_and_another_when_it_is_gone(looking: Looking) -> None:
    await fill(looking)
    watchers = [looking.another(f"watcher-{n}") for n in range(5)]
    looked = await asyncio.gather(*(watcher.round() for watcher in watchers))
    assert sorted(looked) == [False, False, False, False, True]
    first = looked.index(True)
    await watchers[first].sender.idle()
    await watchers[first].hear()
    looking.clock.advance(44)
    assert not await watchers[first - 1].round()
    looking.clock.advance(2)
    assert await watchers[first - 1].round()
    assert not await watchers[first].round()
    await watchers[first - 1].sender.idle()
    assert len(looking.sink.calls) == 1


async def test_a_watcher_that_ends_leaves_its_turn_to_others_at_once(looking: Looking) -> None:
    running = asyncio.create_task(replace_every(looking, 0.01).run())
    while not await looking.app.engine.note("turn", "alerts"):
        await asyncio.sleep(0.01)
    assert not await looking.another("other").round()
    running.cancel()
    await asyncio.wait([running])
    assert await looking.another("other").round()


def replace_every(looking: Looking, seconds: float) -> AlertWatch:
    looking.alerting = replace(looking.alerting, every=seconds)
    watch = looking.another("short")
    looking.alerting = replace(looking.alerting, every=15.0)
    return watch


async def test_a_watcher_that_woke_up_late_tells_nobody(looking: Looking) -> None:
    """It had read how alerts stand, slept through its turn, and writes what another has written already."""
    await fill(looking)
    asleep = looking.another("asleep")
    awake = asyncio.Event()

    async def read_then_sleep() -> Any:
        found = await Book(looking.app.engine).read()
        await awake.wait()
        return found

    asleep._book.read = read_then_sleep  # type: ignore[method-assign]
    sleeping = asyncio.create_task(asleep.round())
    await asyncio.sleep(0)
    while not await looking.app.engine.note("turn", "alerts"):
        await asyncio.sleep(0)
    looking.clock.advance(46)
    other = looking.another("other")
    assert await other.round()
    await other.sender.idle()
    awake.set()
    await sleeping
    await asleep.sender.idle()
    assert (len(looking.sink.calls), asleep.sender.sent) == (1, 0)
    assert len(await looking.app.ops.alerts.history(10)) == 1


async def test_what_one_has_told_the_next_one_knows(looking: Looking) -> None:
    await fill(looking)
    assert len(await looking.look()) == 1
    await looking.look(15)
    looking._watch = looking.another("next")
    assert await looking.look(60) == []
    await empty(looking)
    assert [line[:10] for line in await looking.until_over()] == ["[resolved]"]
    (firing, over) = reversed(await looking.app.ops.alerts.history(10))
    assert (firing.event, over.event, firing.rule) == (Event.FIRING, Event.RESOLVED, "queue_depth_high")
    assert await looking.app.ops.alerts.standing() == []


async def test_what_was_not_told_when_a_watcher_died_the_next_one_tells(looking: Looking) -> None:
    async def dies(channel: Channel, notice: Notice) -> str | None:
        await asyncio.Event().wait()
        return None

    await fill(looking)
    looking._watch = looking.another("first", dies)
    assert await looking._watch.round()
    await looking._watch.sender.close()
    looking._watch = looking.another("next")
    assert len(await looking.look(46)) == 1


async def test_quiet_hours_hold_back_until_the_morning_what_is_not_critical(looking: Looking) -> None:
    looking.over(DEEP + "quiet_hours: {from: 11:00, to: 13:00}")  # it is noon
    await fill(looking)
    assert await looking.look() == []
    assert await looking.look(3_599) == []
    assert len(await looking.look(1)) == 1


async def test_what_came_and_went_at_night_wakes_nobody(looking: Looking) -> None:
    looking.over(DEEP + "quiet_hours: {from: 11:00, to: 13:00}")
    await fill(looking)
    await looking.look()
    await empty(looking)
    assert await looking.until_over() == []
    assert await looking.look(7_200) == []
    assert [entry.event for entry in await looking.app.ops.alerts.history(10)] == [
        Event.RESOLVED,
        Event.FIRING,
    ]


async def test_what_goes_on_is_repeated_after_its_time(looking: Looking) -> None:
    looking.over(DEEP + "repeat_every: 1h")
    await fill(looking)
    assert len(await looking.look()) == 1
    assert [len(await looking.look(1_200)) for _ in range(7)] == [0, 0, 1, 0, 0, 1, 0]


async def test_a_channel_that_answers_with_an_error_is_told_again_later_and_less_and_less_often(
    looking: Looking,
) -> None:
    await fill(looking)
    looking.sink.answer = b"HTTP/1.1 500 Oh\r\n\r\n"
    tries = [len(await looking.look(15)) for _ in range(40)]  # ten minutes
    assert 4 <= sum(tries) <= 7
    (state,) = await looking.app.ops.alerts.channels()
    assert (state.name, state.problem, state.told_at) == ("ops", "it answered 500", None)
    looking.sink.answer = b"HTTP/1.1 200 OK\r\n\r\n"
    told = [len(await looking.look(60)) for _ in range(20)]
    assert sum(told) == 1
    (state,) = await looking.app.ops.alerts.channels()
    assert (state.problem, state.told_at is not None) == (None, True)


async def test_a_hung_channel_blocks_neither_the_watch_nor_the_others(looking: Looking) -> None:
    """F68: the sink hangs; a courier is killed after its time, and the other channel has long been told."""
    async with sink() as other:
        looking.sink.hangs = True
        channels = {"ops": looking.sink.channel(), "night": other.channel("night")}
        looking.alerting = replace(looking.alerting, channels=channels)

        async def impatient(channel: Channel, notice: Notice) -> str | None:
            return await couriers.send(channel, notice, 1.0)

        looking._watch = looking.another("first", impatient)
        await fill(looking)
        began = time.monotonic()
        assert await looking.watch.round()
        assert time.monotonic() - began < 1.0
        await asyncio.gather(looking.sink.called(), other.called())
        await looking.watch.sender.idle()
        await looking.watch.hear()
        (alert,) = await looking.app.ops.alerts.standing()
        assert (alert.told, alert.owed) == (("night",), ("ops",))
        states = {state.name: state.problem for state in await looking.app.ops.alerts.channels()}
        assert states == {"ops": "it did not answer in time", "night": None}


async def test_a_thousand_hits_are_one_message(looking: Looking) -> None:
    """F68: a thousand rule hits a second."""
    ids = [new_id() for _ in range(1_000)]
    jobs = [NewJob(id_, f"q{n:04}", "app.work", key=id_) for n, id_ in enumerate(ids)]
    await looking.app.engine.enqueue(jobs)
    began = time.monotonic()
    lines = [await looking.look(0.2) for _ in range(5)]
    spent = time.monotonic() - began
    assert [len(each) for each in lines] == [MOST_LISTED + 1, 0, 0, 0, 0]
    assert lines[0][-1] == f"… and {MOST_OF_RULE + 1 - MOST_LISTED} more: penstock alerts"
    (call,) = looking.sink.calls
    assert call.json["count"] == MOST_OF_RULE + 1
    assert len(call.body) < 20_000
    assert len(await looking.app.ops.alerts.standing()) == MOST_OF_RULE + 1
    assert spent < 10


async def test_an_engine_that_is_away_is_waited_for(
    looking: Looking, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(looking)
    await looking.look()
    flaky = Flaky(looking.app.engine)
    flaky.before["survey"] = [EngineUnavailable("it is away")]
    watch = AlertWatch(flaky, looking.app.registry, looking.alerting, "watcher-1", post_here)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        await watch._try(watch.round)
    assert "alerts put off: it is away" in caplog.text
    flaky.before["survey"] = [ValueError("a bug")]
    await watch._try(watch.round)
    assert "looking for alerts failed" in caplog.text
    assert await watch.round()
    assert len(looking.sink.calls) == 1


async def test_where_nothing_is_wrong_a_look_costs_three_calls_and_a_new_minute_one_more(
    looking: Looking,
) -> None:
    looking.clock.advance(60 - looking.clock.now().second)
    engine = Flaky(looking.app.engine)
    watch = AlertWatch(engine, looking.app.registry, looking.alerting, "watcher-1", post_here, stages=False)  # type: ignore[arg-type]
    assert await watch.round()
    engine.calls.clear()
    for _ in range(3):
        looking.clock.advance(15)
        assert await watch.round()
    assert engine.verbs() == ["put_note", "survey", "notes"] * 3
    engine.calls.clear()
    looking.clock.advance(15)
    assert await watch.round()
    assert engine.verbs() == ["put_note", "survey", "put_note", "notes"]


async def test_what_changes_within_a_minute_is_kept_as_it_was_last(looking: Looking) -> None:
    looking.clock.advance(60 - looking.clock.now().second)
    await looking.look()
    await fill(looking)
    await looking.look(15)
    looks = await gauges.kept(looking.app.engine, looking.clock.now() - DAY, looking.clock.now() + DAY)
    (look,) = looks.values()
    assert look.queues["email"]["waiting"] == 1


async def test_a_turn_is_renewed_without_reading_it_until_another_has_it(looking: Looking) -> None:
    engine = Flaky(looking.app.engine)
    one, two = (Turn(engine, name, 45.0) for name in ("one", "two"))  # type: ignore[arg-type]
    assert await one.take()
    assert not await two.take()
    engine.calls.clear()
    looking.clock.advance(44)
    assert await one.take()
    assert engine.verbs() == ["put_note"]
    looking.clock.advance(45)
    assert await two.take()
    assert not await one.take()
    assert await two.take()


async def test_a_turn_whose_renewal_has_an_unknown_outcome_is_read_again(looking: Looking) -> None:
    engine = Flaky(looking.app.engine)
    turn = Turn(engine, "one", 45.0)  # type: ignore[arg-type]
    assert await turn.take()
    engine.after["put_note"] = [OutcomeUnknown("lost")]
    with pytest.raises(OutcomeUnknown):
        await turn.take()
    assert turn.held
    assert await turn.take()


async def test_who_takes_a_turn_knows_when_the_one_before_has_last_looked(looking: Looking) -> None:
    engine, clock = looking.app.engine, looking.clock
    died, gave_back, last = (Turn(engine, name, 45.0) for name in ("died", "gave back", "last"))
    assert await died.take()
    died.seen = first = clock.now()
    clock.advance(600)
    assert await gave_back.take()
    assert gave_back.seen == first
    gave_back.seen = second = clock.now()
    clock.advance(20)
    await gave_back.give_back()
    assert await last.take()
    assert last.seen == second


async def test_notes_that_cannot_be_read_are_no_alerts(looking: Looking) -> None:
    engine = looking.app.engine
    await engine.put_note("alert", "old", '{"what": "another release wrote"}')
    await engine.put_note("alert", "odd", "[1]")
    await engine.put_note("turn", "alerts", '"nobody"')
    assert await looking.look() == []
    assert await looking.app.ops.alerts.standing() == []


# -- the sender ---------------------------------------------------------------------------------------
def items(n: int) -> list[Item]:
    told = Told("deep", "email", Severity.WARNING, Phase.FIRING, "it is deep", "2026-01-05T12:00:00+00:00")
    return [Item(f"key-{k}", told) for k in range(n)]


async def test_what_waits_for_a_hung_channel_is_bounded_and_what_is_dropped_is_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go = asyncio.Event()
    told: list[int] = []

    async def hung(channel: Channel, notice: Notice) -> str | None:
        told.append(len(notice.alerts))
        await go.wait()
        return None

    sender = Sender({"ops": Channel("ops", "webhook", "https://x")}, hung)
    assert sender.offer("ops", items(1)) == 1
    await asyncio.sleep(0)
    assert [sender.offer("ops", items(600)) for _ in range(3)] == [600, 400, 0]
    assert sender.dropped == 800
    assert "dropped" in caplog.text
    go.set()
    await sender.idle()
    assert (told, sender.sent) == ([1, senders.MOST_WAITING], 2)  # all that had waited, together
    assert sum(len(result.items) for result in sender.results()) == 1_001
    assert sender.results() == []


async def test_a_channel_that_breaks_is_a_channel_that_was_not_told(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(channel: Channel, notice: Notice) -> str | None:
        raise RuntimeError("a bug")

    sender = Sender({"ops": Channel("ops", "webhook", "https://x")}, broken)
    sender.offer("ops", items(1))
    await sender.idle()
    assert (sender.failed, sender.results()[0].problem) == (1, "it could not be told")


def test_a_rule_is_judged_in_microseconds(looking: Looking) -> None:
    """A thousand hits a second are a hundredth of a core."""
    rule = looking.alerting.rules[0]
    subject = Subject(rule.scope, "email", {"queue": "email", "waiting": 5_000.0})
    began = time.perf_counter()
    for _ in range(10_000):
        rule.judge(subject)
    assert time.perf_counter() - began < 1.0


# -- couriers -----------------------------------------------------------------------------------------
NOTICE = Notice(tuple(item.told for item in items(1)))


async def test_a_courier_takes_a_signed_message_to_a_webhook(looking: Looking) -> None:
    place: Sink = looking.sink
    assert await couriers.send(place.channel(), NOTICE) is None
    assert place.calls[0].json["title"] == "Penstock: 1 alert firing (warning)"
    refused = await couriers.send(place.channel(allow=()), NOTICE)
    assert refused == "its host has an address that is not public; to reach one of your own, `allow` it"
    assert place.connections == 1


async def test_a_courier_tells_apprise(looking: Looking) -> None:
    channel = Channel("chat", "apprise", f"json://127.0.0.1:{looking.sink.port}/chat")
    assert await couriers.send(channel, NOTICE) is None
    (call,) = looking.sink.calls
    assert call.json["title"] == "Penstock: 1 alert firing (warning)"
    assert call.json["message"] == "[warning] it is deep (deep)"
    assert await couriers.send(replace(channel, url="nonsense://x"), NOTICE) == "apprise cannot read its URL"


async def test_a_courier_sends_an_e_mail() -> None:
    from aiosmtpd.controller import Controller
    from aiosmtpd.handlers import Message

    letters = []

    class Box(Message):
        def handle_message(self, message: Any) -> None:
            letters.append(message)

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(Box(), hostname="127.0.0.1", port=port)
    controller.start()
    try:
        to = ("ops@example.com", "night@example.com")
        channel = Channel("mail", "email", f"smtp://127.0.0.1:{port}", to=to, sender="penstock@example.com")
        assert await couriers.send(channel, NOTICE) is None
        with_password = replace(channel, url=f"smtp://user:secret@127.0.0.1:{port}")
        problem = "the mail server offers no encryption: the password was not sent"
        assert await couriers.send(with_password, NOTICE) == problem
    finally:
        controller.stop()
    (letter,) = letters
    assert (letter["Subject"], letter["To"]) == ("Penstock: 1 alert firing (warning)", ", ".join(to))
    assert letter.get_payload().strip() == "[warning] it is deep (deep)"
    assert await couriers.send(channel, NOTICE) == (
        "the mail server does not answer, or its certificate is not good"
    )


async def test_a_channel_that_is_not_declared_any_more_is_owed_nothing(looking: Looking) -> None:
    looking.sink.answer = b"HTTP/1.1 500 Oh\r\n\r\n"
    await fill(looking)
    await looking.look()
    looking.alerting = replace(looking.alerting, channels={})
    looking._watch = looking.another("next")
    await empty(looking)
    looking.clock.advance(46)
    await looking.until_over()
    assert await looking.app.ops.alerts.standing() == []
