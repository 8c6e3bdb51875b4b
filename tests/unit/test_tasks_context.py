"""The context: what a handler reads about its run and says while it runs."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from penstock import Context, State, SyncContext
from penstock.model.job import Claim
from penstock.model.values import loads
from penstock.tasks.run_link import MAX_PROGRESS_BYTES, progress_text

NOW = datetime(2026, 1, 5, tzinfo=UTC)


class Link:
    claim = Claim(
        "id-1", "token", "email", "send", "email", '{"to":"ana"}', "receipt:7", 2, 3, 2, "me", None, False, 0,
        NOW, NOW,
    )  # fmt: skip
    worker = "worker-1"
    deadline = 12.5

    def __init__(self) -> None:
        self.told: list[tuple[float, str]] = []

    def lease_lost(self) -> bool:
        return True

    def cancelled(self) -> bool:
        return False

    async def progress(self, percent: float, message: str) -> None:
        self.told.append((percent, message))

    def progress_sync(self, percent: float, message: str) -> None:
        self.told.append((percent, message))

    def logged(self, lines: list[dict[str, str]]) -> None: ...


@pytest.mark.parametrize("kind", [Context, SyncContext])
def test_the_context_tells_what_runs(kind) -> None:
    ctx = kind(Link())
    assert (ctx.attempt, ctx.key, ctx.deadline) == (2, "receipt:7", 12.5)
    assert (ctx.cancelled, ctx.lease_lost) == (False, True)
    job = ctx.job
    assert (job.id, job.state, job.args, job.unique) == ("id-1", State.ACTIVE, {"to": "ana"}, True)
    assert (job.worker, job.owner, job.max_attempts) == ("worker-1", "me", 3)


async def test_progress_goes_from_nought_to_a_hundred() -> None:
    link = Link()
    await Context(link).progress(40, "rendering")
    SyncContext(link).progress(100)
    await Context(link).progress(100.01)
    SyncContext(link).progress(-1)
    SyncContext(link).progress(float("nan"))
    assert link.told == [(40, "rendering"), (100, ""), (100, ""), (0, ""), (0, "")]


class Share(float):
    """As other libraries have them."""


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("percent", [Share(40), Decimal(40), Fraction(40), "40"])
async def test_whatever_is_a_number_can_be_progress(percent: Any) -> None:
    link = Link()
    await Context(link).progress(percent)
    SyncContext(link).progress(percent)
    assert [(type(told), told) for told, _ in link.told] == [(float, 40.0)] * 2


@pytest.mark.parametrize(("percent", "message"), [(None, ""), ("half", ""), (1j, ""), (1, Unspeakable())])
async def test_what_is_no_progress_is_logged_and_fails_no_run(
    percent: Any, message: Any, caplog: pytest.LogCaptureFixture
) -> None:
    link = Link()
    await Context(link).progress(percent, message)
    SyncContext(link).progress(percent, message)
    assert link.told == []
    assert caplog.text.count("progress of job id-1 not stored") == 2


@pytest.mark.parametrize("character", ["x", "é", "\x01", "\N{GRINNING FACE}", '"', "\x00", "\ud800"])
def test_progress_is_stored_as_bounded_json_and_what_is_too_long_is_cut(character: str) -> None:
    assert progress_text(40, "rendering") == '{"percent":40,"message":"rendering"}'
    text = progress_text(100 / 3, character * 50_000)
    assert len(text.encode()) <= MAX_PROGRESS_BYTES
    assert "cut" in loads(text)["message"]


def test_log_records_name_the_job(caplog: pytest.LogCaptureFixture) -> None:
    ctx = SyncContext(Link())
    with caplog.at_level(logging.INFO):
        ctx.log.info("sent to %d", 3, extra={"part": "a"})
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("penstock.task.send", "sent to 3")
    assert (record.job_id, record.job_name, record.queue, record.attempt) == ("id-1", "send", "email", 2)
    assert record.part == "a"
    assert ctx.log is ctx.log
