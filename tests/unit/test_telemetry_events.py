"""The log tells what happens to jobs, why one failed and what comes next, and never its arguments."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from shop_kit import Shop, begin, open_shop  # noqa: F401 - fixtures
from test_runtime_child import CLAIM

from penstock import Context, FailureClass, Retry
from penstock.logs import JsonFormatter
from penstock.model.outcome import COMPLETED, Cancelled, Failed, Outcome, Released, Retried, Snoozed
from penstock.telemetry import events
from penstock.telemetry.events import MAX_ERROR

AT = 1_767_614_400.0  # 2026-01-05 12:00
ERROR = json.dumps({"type": "ConnectionError", "message": "the shop\n is closed", "code": "ECONNRESET"})
WHY = "attempt 1 of 3: ConnectionError: the shop is closed; "


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The events as the JSON log has them."""
    formatter = JsonFormatter()
    return [json.loads(formatter.format(r)) for r in caplog.records if r.name == "penstock.jobs"]


@pytest.fixture(autouse=True)
def everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "penstock.jobs")


# -- one end ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("outcome", "text", "level"),
    [
        (COMPLETED, "completed", logging.INFO),
        (Cancelled("cancelled while running"), "cancelled", logging.INFO),
        (Snoozed(3.0), "retrying", logging.INFO),
        (Retried(4.2, ERROR), f"retrying: {WHY}retry in 4.2 s", logging.WARNING),
        (Failed("exhausted", ERROR), f"failed: {WHY}dead-lettered (exhausted)", logging.ERROR),
        (
            Released(error=ERROR, suspect=True),
            f"retrying: {WHY}runs again, alone in a process",
            logging.WARNING,
        ),
    ],
)
def test_an_end_is_told_with_the_reason_and_what_comes_next(
    outcome: Outcome, text: str, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    events.ended(CLAIM, outcome, 0.25, AT)
    assert [(record.getMessage(), record.levelno) for record in caplog.records] == [
        (f"[default] add:job - {text}", level)
    ]


def test_a_failure_has_every_field_of_the_document(caplog: pytest.LogCaptureFixture) -> None:
    events.ended(CLAIM, Failed("exhausted", ERROR), 0.25, AT)
    (event,) = told(caplog)
    del event["timestamp"]
    assert event == {
        "level": "error",
        "event": "failed",
        "queue": "default",
        "job_id": "job",
        "job_name": "add",
        "attempt": 1,
        "max_attempts": 3,
        "previous_status": "processing",
        "status": "failed",
        "started_at": "2026-01-05T11:59:59.750Z",
        "finished_at": "2026-01-05T12:00:00.000Z",
        "duration_ms": 250.0,
        "error": "ConnectionError: the shop is closed",
        "error_code": "ECONNRESET",
        "alert_level": "none",
        "metadata": {"reason": "exhausted"},
        "message": "[default] add:job - failed",
        "service": "job-worker",
        "logger": "penstock.jobs",
    }


@pytest.mark.parametrize(
    ("found", "alert"),
    [
        (FailureClass.TRANSIENT, "none"),
        (FailureClass.RATE_LIMIT, "warning"),
        (FailureClass.INVALID_INPUT, "error"),
        (FailureClass.RESOURCE_UNAVAILABLE, "critical"),
        (FailureClass.LOGIC_ERROR, "error"),
        (FailureClass.SYSTEM_FAILURE, "critical"),
    ],
)
def test_a_failure_tells_who_is_to_be_alerted(
    found: FailureClass, alert: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = json.dumps({"type": "E", "message": "", "class": found})
    events.ended(CLAIM, Retried(1, error), 0.0, AT)
    assert [event["alert_level"] for event in told(caplog)] == [alert]


def test_a_run_that_was_handed_back_is_as_if_it_had_not_been(caplog: pytest.LogCaptureFixture) -> None:
    events.ended(CLAIM, Released(), 0.1, AT)
    assert caplog.records == []


def test_a_long_error_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    events.ended(CLAIM, Retried(1, json.dumps({"type": "E", "message": "x" * 10_000})), 0.0, AT)
    assert len(caplog.records[0].getMessage()) < MAX_ERROR + 300


def test_a_message_is_one_line_whatever_the_names_contain(caplog: pytest.LogCaptureFixture) -> None:
    events.started(CLAIM._replace(task="a\n\x1b[2Jb", queue="\u202eq"))
    assert caplog.records[0].getMessage() == r"[\u202eq] a\n\x1b[2Jb:job - started"


# -- the life of a job --------------------------------------------------------------------------------
async def test_the_life_of_a_job_is_told_from_end_to_end_and_never_its_arguments(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    @shop.app.task(retry=Retry.immediate(2))
    async def pay(ctx: Context, card: str) -> None:
        if ctx.attempt == 1:
            raise ConnectionError("the bank is closed")
        await ctx.progress(40, "paying")

    job = await pay.aenqueue(card="4111-1111")
    await (await begin(shop)).run(burst=True)
    assert [(e["event"], e.get("attempt"), e.get("previous_status"), e["status"]) for e in told(caplog)] == [
        ("added", None, None, "pending"),
        ("started", 1, "pending", "processing"),
        ("retrying", 1, "processing", "processing"),
        ("started", 2, "processing", "processing"),
        ("progress", 2, None, "processing"),
        ("completed", 2, "processing", "completed"),
    ]
    assert {event["job_id"] for event in told(caplog)} == {job.id}
    assert told(caplog)[4]["metadata"] == {"percent": 40, "message": "paying"}
    assert "4111" not in json.dumps(told(caplog))


async def test_a_job_whose_key_is_taken_is_not_added(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    @shop.app.task(key="{n}")
    async def once(n: int) -> None: ...

    await once.aenqueue(n=1)
    await shop.app.aenqueue_many([once.call(n=1), once.using(delay=5).call(n=2)])
    assert [(e["event"], e.get("metadata")) for e in told(caplog)] == [
        ("added", None),
        ("added", {"delay_s": 5.0}),
    ]


async def test_a_job_that_follows_is_added_when_the_run_it_follows_is_completed(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    @shop.app.task
    async def second() -> None: ...

    @shop.app.task
    async def first(ctx: Context) -> None:
        ctx.enqueue(second.call())

    job = await first.aenqueue()
    await (await begin(shop)).run(burst=True)
    names = [(e["job_name"], e["event"]) for e in told(caplog)]
    assert names.index(("second", "added")) == names.index(("first", "completed")) + 1
    assert told(caplog)[3]["metadata"] == {"follows": job.id}
