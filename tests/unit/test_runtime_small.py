"""The small parts of the runtime: board, back-off, wire, threads, options, reload, watchdog."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import pytest

from penstock import Penstock
from penstock.model.decide import Crashed, Deferred, End, Lost, Returned, Skipped, Stopped, Unfit
from penstock.model.failure import Failure, FailureClass
from penstock.model.outcome import Park
from penstock.runtime import board as boards
from penstock.runtime.backoff import Backoff, jittered
from penstock.runtime.board import Board
from penstock.runtime.child import described
from penstock.runtime.options import WorkerOptions
from penstock.runtime.reload import Reloader
from penstock.runtime.solo import how_it_ended
from penstock.runtime.threads import Threads
from penstock.runtime.watchdog import Watchdog
from penstock.runtime.wire import end_from_wire, end_to_wire, pack, unpack


# -- board ------------------------------------------------------------------------------------------
def test_a_board_knows_which_runs_have_begun() -> None:
    board = Board.private(3, 30.0)
    assert board.begun() == frozenset()
    board.begin("a" * 32)
    board.begin("b" * 36)
    assert board.begun() == {"a" * 32, "b" * 36}
    board.end("a" * 32)
    assert board.begun() == {"b" * 36}
    board.clear()
    assert board.begun() == frozenset()


def test_a_board_that_is_full_forgets_what_is_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "PLACES", 1)
    board = Board.private(3, 30.0)
    for token in ("one", "two"):
        board.begin(token)
    assert board.begun() == {"one"}
    for token in ("one", "two"):
        board.end(token)
    assert board.begun() == frozenset()


def test_a_shared_board_is_read_after_its_writer_is_gone() -> None:
    fd = Board.make_file()
    try:
        worker = Board.shared(fd, 2, 30.0)
        worker.begin("token")
        del worker
        supervisor = Board.shared(fd, 2, 30.0)
        assert supervisor.begun() == {"token"}
    finally:
        os.close(fd)


def test_a_board_needs_no_memfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    fd = Board.make_file()
    try:
        board = Board.shared(fd, 1, 30.0)
        board.begin("token")
        assert board.begun() == {"token"}
    finally:
        os.close(fd)


def test_a_worker_stops_claiming_before_its_lease_is_over() -> None:
    board = Board.private(1, 30.0)
    board.beaten(time.monotonic())
    assert board.may_claim()
    assert not board.lost()
    board.beaten(time.monotonic() - 21)
    assert not board.may_claim()
    assert not board.lost()
    board.beaten(time.monotonic() - 31)
    assert board.lost()


def test_a_board_never_beaten_is_lost() -> None:
    board = Board.private(1, 0.0)
    assert board.lost()
    assert not board.may_claim()


def test_given_up_is_final_whatever_is_beaten_later() -> None:
    board = Board.private(1, 30.0)
    board.give_up()
    board.beaten(time.monotonic())
    assert board.given_up
    assert board.lost()
    assert not board.may_claim()


# -- back-off ---------------------------------------------------------------------------------------
def test_a_backoff_doubles_up_to_its_cap_with_jitter() -> None:
    backoff = Backoff(first=0.1, cap=1.0)
    waits = [backoff.next() for _ in range(60)]
    for n, wait in enumerate(waits):
        longest = min(0.1 * 2**n, 1.0)
        assert longest / 2 <= wait <= longest
    backoff.reset()
    assert backoff.next() <= 0.1


def test_jitter_only_shortens() -> None:
    assert all(0.8 <= jittered(1.0) <= 1.0 for _ in range(100))


# -- wire -------------------------------------------------------------------------------------------
ENDS: list[End] = [
    Returned(),
    Returned('{"a":1}'),
    Returned(None, "too large"),
    Skipped("nothing to do"),
    Deferred(1.5, "bank is closed"),
    Failure("Boom", "it broke", "E1", FailureClass.RATE_LIMIT, "line 1", retry=True, retry_after=2.0),
    Failure("Boom", "it broke", retry=False),
    Failure("Boom", "it broke", note="odd", causes=({"how": "cause", "type": "E", "message": "m"},)),
    Crashed("killed by SIGSEGV"),
    Stopped(cancelled=True),
    Stopped(cancelled=False),
    Lost("its process was lost"),
    Unfit(Park("task", "nobody knows it")),
    Unfit(Park("task", "does not fit", misfit="v1")),
]


@pytest.mark.parametrize("end", ENDS, ids=repr)
def test_every_end_comes_back_equal_over_the_wire(end: End) -> None:
    line = pack({"end": end_to_wire(end)})
    assert line.count(b"\n") == 1
    back = end_from_wire(unpack(line)["end"])
    assert back == end
    assert type(back) is type(end)


def test_a_failure_keeps_the_class_as_a_class() -> None:
    back = end_from_wire(end_to_wire(ENDS[5]))
    assert isinstance(back, Failure)
    assert back.failure_class is FailureClass.RATE_LIMIT


# -- threads ----------------------------------------------------------------------------------------
def test_threads_are_reused_when_idle() -> None:
    threads = Threads("t")
    seen: SimpleQueue[str] = SimpleQueue()
    names = set()
    for _ in range(5):
        threads.run(lambda: seen.put(threading.current_thread().name))
        names.add(seen.get(timeout=10))
        while threads._idle < 1:  # the thread counts itself idle after its work
            threading.Event().wait(0.001)
    assert len(names) == 1
    threads.close()


def test_work_never_waits_for_a_busy_thread() -> None:
    threads = Threads("t")
    hold = threading.Event()
    done: SimpleQueue[int] = SimpleQueue()
    for n in range(4):
        threads.run(lambda n=n: (hold.wait(10), done.put(n)))  # type: ignore[misc]
    threads.run(lambda: done.put(99))
    assert done.get(timeout=10) == 99
    hold.set()
    assert {done.get(timeout=10) for _ in range(4)} == {0, 1, 2, 3}
    threads.close()


def test_closing_does_not_wait_for_a_thread_that_was_left_behind() -> None:
    threads = Threads("t")
    hold, busy = threading.Event(), threading.Event()
    threads.run(lambda: (busy.set(), hold.wait(90)))  # type: ignore[arg-type, return-value]
    assert busy.wait(10)
    began = time.monotonic()
    threads.close(patience=60)
    assert time.monotonic() - began < 30
    hold.set()


# -- options ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("lease", "every"), [(30.0, 2.0), (3.0, 1.0), (6.0, 2.0)])
def test_a_worker_is_beaten_for_at_least_three_times_in_a_lease(lease: float, every: float) -> None:
    assert WorkerOptions(queues={}, lease=lease, fingerprints=dict).beat_every == every


# -- reload -----------------------------------------------------------------------------------------
async def test_a_change_of_a_python_file_is_told_once(tmp_path: Path) -> None:
    told: list[int] = []

    async def changed() -> None:
        told.append(1)

    (tmp_path / "app.py").write_text("a = 1")
    reloader = Reloader(changed, tmp_path)
    await reloader.round()
    assert told == []
    os.utime(tmp_path / "app.py", (1, 1))
    await reloader.round()
    await reloader.round()
    assert told == [1]


async def test_new_and_removed_files_count_as_changes_and_others_do_not(tmp_path: Path) -> None:
    told: list[int] = []

    async def changed() -> None:
        told.append(1)

    reloader = Reloader(changed, tmp_path)
    for name in ("notes.txt", ".git/x.py", "__pycache__/x.py", "node_modules/x.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    await reloader.round()
    assert told == []
    (tmp_path / "new.py").write_text("")
    await reloader.round()
    (tmp_path / "new.py").unlink()
    await reloader.round()
    assert told == [1, 1]


async def test_a_file_that_vanishes_while_looking_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "ghost.py").symlink_to(tmp_path / "gone")
    reloader = Reloader(lambda: None, tmp_path)  # type: ignore[arg-type, return-value]
    await reloader.round()


# -- watchdog ---------------------------------------------------------------------------------------
def test_a_blocked_loop_is_told_once_with_the_jobs_on_it(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog(lambda: ["resize 1"], blocked_after=0.0)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        watchdog._look()
        watchdog._look()
    assert [("blocked" in r.message, "resize 1" in r.message) for r in caplog.records] == [(True, True)]
    watchdog.alive()
    watchdog._look()
    assert len(caplog.records) == 2


def test_a_loop_that_gives_signs_of_life_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog(list, blocked_after=60.0)
    watchdog.start()
    watchdog.alive()
    watchdog._look()
    watchdog.stop()
    assert not caplog.records
    assert not watchdog._thread.is_alive()


def test_the_watchdogs_thread_looks_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    looked = threading.Event()

    def running() -> list[str]:
        looked.set()
        return []

    watchdog = Watchdog(running, blocked_after=0.01)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        watchdog.start()
        assert looked.wait(10)
        watchdog.stop()
    assert "nothing" in caplog.text


# -- words ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (3, "exited with code 3"),
        (-9, r"SIGKILL \(out of memory\?\)"),
        (-11, "SIGSEGV"),
        (-200, "signal 200"),
    ],
)
def test_the_end_of_a_process_is_told_in_a_sentence(code: int, told: str) -> None:
    import re

    assert re.search(told, how_it_ended(code))


def test_an_error_of_the_users_code_is_told_with_its_line() -> None:
    try:
        raise ZeroDivisionError("oops")
    except ZeroDivisionError as error:
        told = described(error)
    assert told.startswith("ZeroDivisionError: oops (")
    assert "test_runtime_small.py, line" in told
    assert described(ValueError("never raised")) == "ValueError: never raised"


# -- host -------------------------------------------------------------------------------------------
def test_what_a_worker_is_given_does_not_show_the_password() -> None:
    host = Penstock("postgresql://ana:secret@nowhere/db").worker_host()
    assert "secret" in host.url
    assert "secret" not in repr(host)
