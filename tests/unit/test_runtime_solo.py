"""The pool of child processes that run one job at a time: who gets which child, and when one is started."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from typing import Any

import pytest
from runtime_kit import TERMS, Ear
from test_runtime_child import CLAIM

from penstock import InvalidOption
from penstock.model.decide import Returned
from penstock.model.errors import EngineUnavailable
from penstock.model.job import Claim, Edge, FlowName, NewJob, Ties, Window
from penstock.runtime import solo, solo_child
from penstock.runtime.warm import Warm
from penstock.runtime.wire import Terms, end_to_wire, pack, unpack
from penstock.tasks.errands import STEPS

END = pack({"token": CLAIM.token, "end": end_to_wire(Returned("2"))})


def of_another_run(**said: Any) -> bytes:
    return pack({"token": "another", **said})


class Child:
    """Ends its jobs when the test says so."""

    def __init__(self, may_end: asyncio.Event) -> None:
        self._may_end = may_end
        self.alive = True
        self.killed = False
        self.ran = 0

    async def take_up(self, _claim: Claim, _terms: Terms) -> None:
        if not self.alive:
            raise solo.ChildDied("gone")

    async def end(self, _listener: object) -> Returned:
        self.ran += 1
        await self._may_end.wait()
        return Returned()

    async def kill(self) -> None:
        self.killed = True


class Nursery:
    """Gives birth to a child each time the test allows one."""

    def __init__(self) -> None:
        self.asked = 0
        self.children: list[Child] = []
        self.allowed = asyncio.Semaphore(0)
        self.errors: list[Exception] = []
        self.jobs_end = asyncio.Event()
        self.jobs_end.set()

    def bear(self) -> Any:
        return None

    def close(self) -> None: ...

    async def start(self, _line: object) -> Any:
        self.asked += 1
        await self.allowed.acquire()
        if self.errors:
            raise self.errors.pop(0)
        self.children.append(Child(self.jobs_end))
        return self.children[-1]


@pytest.fixture
def nursery(monkeypatch: pytest.MonkeyPatch) -> Nursery:
    made = Nursery()
    monkeypatch.setattr(solo.Child, "start", made.start)
    return made


@pytest.fixture
def pool(nursery: Nursery) -> solo.SoloPool:
    return solo.SoloPool(nursery)  # type: ignore[arg-type]


nobody = Ear()  # who does not want to know


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# -- the pool ---------------------------------------------------------------------------------------
async def test_few_children_are_started_at_once_and_each_is_used_again(
    nursery: Nursery, pool: solo.SoloPool
) -> None:
    jobs = [asyncio.create_task(pool.run(CLAIM, nobody)) for _ in range(10)]
    await turns()
    assert nursery.asked == solo.STARTS
    for _ in range(solo.STARTS):
        nursery.allowed.release()
    assert await asyncio.gather(*jobs) == [Returned()] * 10
    assert sum(child.ran for child in nursery.children) == 10
    assert len(nursery.children) == solo.STARTS
    await pool.close()
    assert all(child.killed for child in nursery.children)


async def test_a_few_children_are_kept_and_the_rest_end(nursery: Nursery, pool: solo.SoloPool) -> None:
    nursery.jobs_end.clear()
    jobs = [asyncio.create_task(pool.run(CLAIM, nobody)) for _ in range(solo.MAX_IDLE + 2)]
    for _ in jobs:
        nursery.allowed.release()
    while sum(child.ran for child in nursery.children) < len(jobs):
        await asyncio.sleep(0)
    nursery.jobs_end.set()
    await asyncio.gather(*jobs)
    assert sum(child.killed for child in nursery.children) == 2
    await pool.close()
    assert all(child.killed for child in nursery.children)


async def test_a_child_that_died_while_idle_is_not_given_a_job(nursery: Nursery, pool: solo.SoloPool) -> None:
    nursery.allowed.release()
    await pool.run(CLAIM, nobody)
    nursery.children[0].alive = False
    nursery.allowed.release()
    await pool.run(CLAIM, nobody)
    assert [child.ran for child in nursery.children] == [1, 1]
    await pool.close()


async def test_a_child_that_cannot_start_fails_one_job_and_not_the_others(
    nursery: Nursery, pool: solo.SoloPool
) -> None:
    nursery.errors = [solo.ChildDied("could not load")]
    nursery.allowed.release()
    with pytest.raises(RuntimeError, match="could not load"):
        await pool.run(CLAIM, nobody)
    nursery.allowed.release()
    assert await pool.run(CLAIM, nobody) == Returned()
    await pool.close()


async def test_a_job_stopped_while_its_child_starts_lets_the_next_start_one(
    nursery: Nursery, pool: solo.SoloPool
) -> None:
    jobs = [asyncio.create_task(pool.run(CLAIM, nobody)) for _ in range(solo.STARTS)]
    await turns()
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    nursery.allowed.release()
    assert await pool.run(CLAIM, nobody) == Returned()
    assert len(nursery.children) == 1
    await pool.close()


async def test_a_job_that_needs_a_process_says_so_where_no_app_is_known() -> None:
    with pytest.raises(InvalidOption, match="penstock worker --app"):
        await solo.SoloPool(Warm(None)).run(CLAIM, nobody)


# -- one child --------------------------------------------------------------------------------------
class Other:
    """The other end of a child's line, in the hands of the test."""

    def __init__(self, child: solo.Child, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.child = child
        self._reader = reader
        self._writer = writer

    def says(self, data: bytes) -> None:
        self._writer.write(data)

    async def hears(self) -> dict[str, Any]:
        return unpack(await self._reader.readline())

    def dies(self, code: int) -> None:
        self.says(b"\n" + pack({"ended": code}))
        self._writer.close()


@pytest.fixture
async def other(monkeypatch: pytest.MonkeyPatch) -> Any:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda pid, number: killed.append((pid, number)))
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    writer.write(pack({"ready": 77}))
    made = Other(await solo.Child.start(ours), reader, writer)
    made.killed = killed  # type: ignore[attr-defined]
    yield made
    made.child._writer.close()
    writer.close()


async def take_up(other: Other) -> dict[str, Any]:
    """The child takes a job up; what it was sent."""
    taking = asyncio.create_task(other.child.take_up(CLAIM, TERMS))
    message = await other.hears()
    other.says(pack({"token": CLAIM.token, "begun": True}))
    await taking
    return message


async def test_a_child_begins_with_one_job_and_tells_its_progress_and_end(other: Other) -> None:
    message = await take_up(other)
    assert (solo_child._claim_from(message["claim"]), Terms(*message["terms"])) == (CLAIM, TERMS)
    said: list[str] = []

    async def keep(progress: str) -> None:
        said.append(progress)

    other.says(pack({"token": CLAIM.token, "progress": "half"}) + END)
    assert await other.child.end(Ear(keep)) == Returned("2")
    assert said == ["half"]
    assert await other.hears() == {"stored": CLAIM.token}


@pytest.mark.parametrize(
    ("answer", "told"),
    [({"price": "1"}, {"answer": {"price": "1"}}), (EngineUnavailable("away"), {"unavailable": "away"})],
)
async def test_an_errand_is_answered_by_its_number(other: Other, answer: Any, told: dict[str, Any]) -> None:
    await take_up(other)
    other.says(pack({"token": CLAIM.token, "errand": STEPS, "number": 3}) + END)
    ear = Ear(answers={"steps": answer})
    assert await other.child.end(ear) == Returned("2")
    assert ear.errands == [STEPS]
    assert await other.hears() == {"answered": CLAIM.token, "number": 3, **told}


async def test_jobs_that_follow_come_over_the_line_as_they_were(other: Other) -> None:
    await take_up(other)
    flow = FlowName("f", "course")
    ties = Ties((Edge("a", "ignore"),), flow=flow, deadline=5.0, at_deadline="run")
    jobs = [
        NewJob("1", "default", "hello", key="1"),
        NewJob("2", "email", "send", '{"ä":1}', "k", True, window=Window("period", 60.0), ties=ties),
    ]
    other.says(b"".join(pack({"token": CLAIM.token, "follow": job}) for job in jobs) + END)
    ear = Ear()
    await other.child.end(ear)
    assert ear.followers == jobs
    assert ear.followers[1].ties == ties
    assert isinstance(ear.followers[1].ties, Ties)


async def test_what_a_child_says_of_another_run_is_passed_over(other: Other) -> None:
    taking = asyncio.create_task(other.child.take_up(CLAIM, TERMS))
    other.says(of_another_run(begun=True) + of_another_run(end=end_to_wire(Returned("1"))))
    await turns()
    assert not taking.done()
    other.says(pack({"token": CLAIM.token, "begun": True}))
    await taking
    other.says(of_another_run(progress="no") + of_another_run(end=end_to_wire(Returned("1"))) + END)

    async def refuse(progress: str) -> None:
        raise AssertionError(progress)

    assert await other.child.end(Ear(refuse)) == Returned("2")


async def test_the_end_of_a_run_waits_until_its_last_progress_is_dealt_with(other: Other) -> None:
    await take_up(other)
    stored = asyncio.Event()

    async def slowly(_progress: str) -> None:
        await stored.wait()

    other.says(pack({"token": CLAIM.token, "progress": "all"}) + END)
    ending = asyncio.create_task(other.child.end(Ear(slowly)))
    await turns()
    assert not ending.done()
    stored.set()
    assert await ending == Returned("2")


async def test_a_run_stopped_while_its_progress_is_being_stored_kills_the_child(other: Other) -> None:
    await take_up(other)
    storing = asyncio.Event()

    async def for_ever(_progress: str) -> None:
        storing.set()
        await asyncio.Event().wait()

    other.says(pack({"token": CLAIM.token, "progress": "half"}))
    ending = asyncio.create_task(other.child.end(Ear(for_ever)))
    await storing.wait()
    ending.cancel()
    other.dies(-signal.SIGKILL)
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert other.killed == [(77, signal.SIGKILL)]  # type: ignore[attr-defined]


async def test_a_result_may_be_as_large_as_the_settings_allow(other: Other) -> None:
    await take_up(other)
    large = json.dumps("x" * (17 * 1024 * 1024))
    ending = asyncio.create_task(other.child.end(nobody))
    other.says(pack({"token": CLAIM.token, "end": end_to_wire(Returned(large))}))
    assert await ending == Returned(large)


async def test_what_a_child_was_saying_when_it_died_is_passed_over(other: Other) -> None:
    other.says(b'{"end": {"kind": "Retu')
    other.dies(-signal.SIGSEGV)
    with pytest.raises(solo.ChildDied, match="SIGSEGV"):
        await other.child.end(nobody)
    assert not other.killed  # type: ignore[attr-defined]  # nobody kills a pid that may be another's by now


async def test_what_a_child_had_said_before_it_died_counts(other: Other) -> None:
    await take_up(other)
    other.says(END)
    other.dies(0)
    assert await other.child.end(nobody) == Returned("2")


async def test_killing_a_child_ends_its_whole_group_and_waits_until_it_is_gone(other: Other) -> None:
    killing = asyncio.create_task(other.child.kill())
    await turns()
    assert other.killed == [(77, signal.SIGKILL)]  # type: ignore[attr-defined]
    other.says(pack({"progress": "still here"}))
    await turns()
    assert not killing.done()
    other.dies(-signal.SIGKILL)
    await killing
