"""A forked child shares nothing with its parent."""

from __future__ import annotations

import os

from conformance.kit import new
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import EngineError

REFUSED, NOT_REFUSED = 7, 8


def refusal_of(verb) -> str:
    """What a verb says when it is begun; it must not get as far as waiting."""
    try:
        verb.send(None)
    except EngineError as error:
        return str(error)
    return ""


async def test_an_engine_opened_before_a_fork_refuses_to_work_in_the_child(tmp_path):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    child = os.fork()
    if child == 0:
        os._exit(REFUSED if "make a new engine" in refusal_of(engine.enqueue([new()])) else NOT_REFUSED)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == REFUSED
    assert len(await engine.enqueue([new()])) == 1
    await engine.close()


async def test_closing_in_the_child_leaves_the_parent_at_work(tmp_path):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    child = os.fork()
    if child == 0:
        try:
            engine.close().send(None)
        except StopIteration:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(await engine.enqueue([new()])) == 1
    await engine.close()
