"""Whoever waits at a socket is called as long as there is something to hear."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

import pytest
import uvloop

from penstock.engines.postgres.straight import Session
from penstock.engines.postgres.watch import Seat, Watch

LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
Loop = Callable[[], asyncio.AbstractEventLoop]


@LOOPS
def test_what_was_said_before_the_line_broke_is_heard_to_the_end(loop: Loop) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(asyncio.wait_for(_last_words(b"bye"), 20)) == b"bye"


async def _last_words(words: bytes) -> bytes:
    heard: list[bytes] = []
    over = asyncio.get_running_loop().create_future()

    def step() -> None:
        try:
            heard.append(ours.recv(1))
        except OSError:
            watch.leave()
            over.set_result(None)

    with _broken_after(words) as ours:
        watch = Watch(ours.fileno(), step)
        await over
    return b"".join(heard)


def _broken_after(words: bytes) -> socket.socket:
    """Our end of a connection that was reset when these words had come, and before they were read."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    ours.setblocking(False)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    theirs.sendall(words)
    theirs.close()
    return ours


@LOOPS
def test_a_place_that_was_left_is_not_taken_from_the_next_one(loop: Loop) -> None:
    async def run() -> None:
        ours, theirs = socket.socketpair()
        heard = asyncio.Event()
        with ours, theirs:
            first = Watch(ours.fileno(), lambda: None)
            first.leave()
            second = Watch(ours.fileno(), heard.set)
            first.leave()
            theirs.send(b"hello")
            await heard.wait()
            second.leave()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(run(), 20))


def test_a_seat_is_taken_anew_on_another_loop() -> None:
    ours, theirs = socket.socketpair()
    seat = Seat()

    async def hear() -> None:
        heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        seat.begin(ours.fileno(), lambda: heard.set_result(ours.recv(9)))
        theirs.send(b"hello")
        assert await asyncio.wait_for(heard, 5) == b"hello"
        seat.rest()

    with ours, theirs:
        for _ in range(2):
            with asyncio.Runner() as runner:
                runner.run(hear())


@LOOPS
def test_a_word_between_two_calls_ends_the_seat(loop: Loop) -> None:
    async def run() -> None:
        ours, theirs = socket.socketpair()
        seat, heard = Seat(), asyncio.Event()
        with ours, theirs:
            watch = seat.begin(ours.fileno(), heard.set)
            seat.rest()
            theirs.send(b"goodbye")
            while watch.there:
                await asyncio.sleep(0)
            assert not heard.is_set()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(run(), 20))


async def test_a_session_that_is_dropped_leaves_no_reader_behind() -> None:
    ours, theirs = socket.socketpair()
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    with ours, theirs:
        session = Session.__new__(Session)
        session.seat = Seat()
        session.seat.begin(ours.fileno(), heard.set)
        del session
        assert not loop.remove_reader(ours.fileno())
