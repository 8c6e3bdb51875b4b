"""The log says why a job failed and what happens next, and never with which arguments it was called."""

from __future__ import annotations

import json
import logging

import pytest
from shop_kit import Shop, begin, open_shop  # noqa: F401 - fixtures
from test_runtime_child import CLAIM

from penstock import Retry
from penstock.model.outcome import COMPLETED, Cancelled, Failed, Outcome, Park, Released, Retried, Snoozed
from penstock.runtime.report import MAX_MESSAGE, report

ERROR = json.dumps({"type": "ConnectionError", "message": "the shop\n is closed"})
FAILED = "job job (add) failed at attempt 1 of 3: ConnectionError: the shop is closed; "


@pytest.mark.parametrize(
    ("outcome", "told", "level"),
    [
        (Retried(4.2, ERROR), FAILED + "retry in 4.2 s", logging.WARNING),
        (
            Retried(4.2, ERROR, refund=True),
            FAILED + "retry in 4.2 s (it was a probe of a breaker: not counted)",
            logging.WARNING,
        ),
        (Failed("exhausted", ERROR), FAILED + "dead-lettered (exhausted)", logging.ERROR),
        (Released(error=ERROR, suspect=True), FAILED + "runs again, alone in a process", logging.WARNING),
        (
            Released(park=Park("add", "nobody knows it")),
            "job job (add) is parked: nobody knows it",
            logging.WARNING,
        ),
    ],
)
def test_what_did_not_end_well_is_told_with_the_reason_and_what_comes_next(
    outcome: Outcome, told: str, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    report(CLAIM, outcome)
    assert [(record.getMessage(), record.levelno) for record in caplog.records] == [(told, level)]


@pytest.mark.parametrize("outcome", [COMPLETED, Snoozed(3), Cancelled("no"), Released()])
def test_other_ends_are_not_told(outcome: Outcome, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    report(CLAIM, outcome)
    assert caplog.records == []


def test_a_long_message_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    report(CLAIM, Retried(1, json.dumps({"type": "E", "message": "x" * 10_000})))
    assert len(caplog.text) < MAX_MESSAGE + 300


async def test_a_worker_tells_of_every_failed_attempt_and_not_the_arguments(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    @shop.app.task(retry=Retry.immediate(2))
    async def pay(card: str) -> None:
        raise ConnectionError("the bank is closed")

    job = await pay.aenqueue(card="4111-1111")
    caplog.set_level(logging.DEBUG)
    await (await begin(shop)).run(burst=True)
    told = f"job {job.id} (pay) failed at attempt {{}} of 2: ConnectionError: the bank is closed; {{}}"
    assert told.format(1, "retry in 0.0 s") in caplog.text
    assert told.format(2, "dead-lettered (exhausted)") in caplog.text
    assert "4111" not in caplog.text
