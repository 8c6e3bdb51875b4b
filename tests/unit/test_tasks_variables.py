"""Every documented variable has the effect that its page promises, and a slip of the pen is told."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import time
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock import (
    InvalidOption,
    Penstock,
    Priority,
    ResultDropped,
    Retry,
    Settings,
    SyncContext,
    ValueTooLarge,
)
from penstock.cli import work
from penstock.cli.main import app as commands
from penstock.health import Thresholds
from penstock.runtime.options import WorkerOptions
from penstock.tasks.queues import OPTIONS, PREFIX
from penstock.tasks.settings import variables_of

MEMORY = "sqlite://:memory:"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("PENSTOCK_", "JOB_QUEUE_")) or name == "REDIS_URL":
            monkeypatch.delenv(name)


def options() -> WorkerOptions:
    return Penstock(MEMORY).worker_host().options


def of_queue(name: str = "default") -> Any:
    app = Penstock(MEMORY)
    return app.queues[name] if name in app.queues else app.queue(name, concurrency=9)


def longest_text() -> int:
    """How much text an enqueue lets through."""
    app = Penstock(MEMORY)

    @app.task
    def say(text: str) -> None: ...

    for length in range(100):
        try:
            say.call(text="x" * length)
        except ValueTooLarge:
            return length
    return 100


def effects_kept() -> float:
    app = Penstock(MEMORY)

    @app.task
    def pay(ctx: SyncContext) -> None: ...

    return pay.effects_for(None)


def outbox_url() -> str | None:
    try:
        return Penstock(MEMORY).outbox.url
    except InvalidOption:
        return None


def thresholds() -> Thresholds:
    return Penstock(MEMORY)._thresholds()


def outbox_kept() -> float:
    return Penstock(MEMORY, outbox="sqlite:///user.db").relay()._keep_for


def result_kept() -> bool:
    app = Penstock(MEMORY)

    @app.task
    async def answer() -> str:
        return "x" * 50

    async def run() -> bool:
        async with app:
            job = await answer.aenqueue()
            await app.worker().run(burst=True)
            try:
                await job.aresult()
            except ResultDropped:
                return False
            return True

    return asyncio.run(run())


def of_worker(name: str) -> Any:
    """What `penstock worker` asks of its supervisor."""
    seen: list[Any] = []

    async def supervise(told: Any, _beside: object) -> int:
        seen.append(getattr(told, name))
        return 0

    before, work._supervise = work._supervise, supervise
    try:
        CliRunner().invoke(commands, ["worker", "--app", "shop:app"])
    finally:
        work._supervise = before
    return seen[0]


def ledger_of_redis() -> str | None:
    return Penstock("redis://host").settings.ledger


EFFECTS: dict[str, tuple[str, Callable[[], Any], Any]] = {
    "PENSTOCK_URL": ("sqlite:///ours.db", lambda: Penstock().url, "sqlite:///ours.db"),
    "REDIS_URL": ("redis://cache", lambda: Penstock().url, "redis://cache"),
    "PENSTOCK_SCHEMA": ("shop", lambda: Penstock(MEMORY).schema, "shop"),
    "PENSTOCK_OUTBOX": ("sqlite:///user.db", outbox_url, "sqlite:///user.db"),
    "PENSTOCK_OUTBOX_NAME": ("shop", lambda: Penstock(MEMORY).effects_name, "shop"),
    "PENSTOCK_KEEP_OUTBOX_FOR": ("60", outbox_kept, 60),
    "PENSTOCK_ACCEPT_UNSAFE": ("a, b", lambda: options().accept, {"a", "b"}),
    "PENSTOCK_MIGRATE": ("true", lambda: Penstock(MEMORY).settings.migrate, True),
    "PENSTOCK_CONCURRENCY": ("7", lambda: options().slots, 7),
    "JOB_QUEUE_WORKER_CONCURRENCY": ("7", lambda: options().slots, 7),
    "PENSTOCK_PROCESSES": ("3", lambda: of_worker("processes"), 3),
    "PENSTOCK_LEASE": ("12.5", lambda: options().lease, 12.5),
    "PENSTOCK_GRACE": ("0", lambda: options().grace, 0),
    "PENSTOCK_TIMEOUT": ("60", lambda: of_queue().timeout, 60),
    "PENSTOCK_RETRY": ("webhook", lambda: of_queue().retry, Retry.of("webhook")),
    "PENSTOCK_ATTEMPTS": ("7", lambda: of_queue().retry, Retry(7, 5.0)),
    "JOB_QUEUE_DEFAULT_ATTEMPTS": ("7", lambda: of_queue().retry, Retry(7, 5.0)),
    "PENSTOCK_RETRY_DELAY": ("2.5", lambda: of_queue().retry, Retry(3, 2.5)),
    "JOB_QUEUE_DEFAULT_BACKOFF_MS": ("2500", lambda: of_queue().retry, Retry(3, 2.5)),
    "PENSTOCK_KEEP_COMPLETED": ("0", lambda: options().unkept, {"default"}),
    "JOB_QUEUE_REMOVE_ON_COMPLETE": ("10", lambda: options().retentions[0].keep_completed, 10),
    "PENSTOCK_KEEP_FAILED": ("50", lambda: options().retentions[0].keep_failed, 50),
    "JOB_QUEUE_REMOVE_ON_FAIL": ("50", lambda: options().retentions[0].keep_failed, 50),
    "PENSTOCK_KEEP_FOR": ("none", lambda: options().retentions[0].max_age, None),
    "PENSTOCK_CLEAN_UP_AT": ("04:30", lambda: options().clean_up_at, time(4, 30)),
    "PENSTOCK_KEEP_DEAD_LETTERS_FOR": ("60", lambda: options().keep_dead, 60),
    "PENSTOCK_KEEP_AUDIT_FOR": ("60", lambda: options().keep_audit, 60),
    "PENSTOCK_LEDGER": ("sqlite:///ledger.db", ledger_of_redis, "sqlite:///ledger.db"),
    "PENSTOCK_KEEP_HISTORY": ("7", lambda: options().keep_history, 7),
    "PENSTOCK_KEEP_HISTORY_FOR": ("60", lambda: options().keep_history_for, 60),
    "PENSTOCK_KEEP_EFFECTS_FOR": ("5000000", effects_kept, 5_000_000),
    "PENSTOCK_ALERTS": ("off", lambda: options().alerts is None, True),
    "PENSTOCK_HEALTH_BACKLOGGED": ("7", lambda: thresholds().backlogged, 7),
    "PENSTOCK_HEALTH_STALLED": ("8", lambda: thresholds().stalled, 8),
    "PENSTOCK_HEALTH_STALLED_AFTER": ("9", lambda: thresholds().stalled_after, 9),
    "PENSTOCK_HEALTH_ERROR_RATE": ("0.5", lambda: thresholds().error_rate, 0.5),
    "PENSTOCK_METRICS": ("off", lambda: options().metrics, False),
    "PENSTOCK_LOG_FORMAT": ("json", lambda: of_worker("log_format"), "json"),
    "PENSTOCK_MAX_WAITING": ("5", lambda: Penstock().settings.max_waiting, 5),
    "PENSTOCK_MAX_ARGS_BYTES": ("30", longest_text, 20),
    "PENSTOCK_MAX_RESULT_BYTES": ("30", result_kept, False),
    "PENSTOCK_QUEUE_COURSE_GEN_CONCURRENCY": ("2", lambda: of_queue("course-gen").concurrency, 2),
    "PENSTOCK_QUEUE_COURSE_GEN_RETRY": ("4", lambda: of_queue("course-gen").retry.attempts, 4),
    "PENSTOCK_QUEUE_COURSE_GEN_TIMEOUT": ("9", lambda: of_queue("course-gen").timeout, 9),
    "PENSTOCK_QUEUE_COURSE_GEN_PRIORITY": ("low", lambda: of_queue("course-gen").priority, Priority.LOW),
    "PENSTOCK_QUEUE_COURSE_GEN_KEEP_COMPLETED": (
        "1", lambda: of_queue("course-gen").retention.keep_completed, 1,
    ),
    "PENSTOCK_QUEUE_COURSE_GEN_KEEP_FAILED": ("1", lambda: of_queue("course-gen").retention.keep_failed, 1),
    "PENSTOCK_QUEUE_COURSE_GEN_KEEP_FOR": ("1", lambda: of_queue("course-gen").retention.max_age, 1),
    "PENSTOCK_QUEUE_COURSE_GEN_ENABLED": ("off", lambda: of_queue("course-gen").gate.enabled, False),
    "PENSTOCK_QUEUE_COURSE_GEN_RATE": ("4/s", lambda: of_queue("course-gen").limit.rate, 4),
    "PENSTOCK_QUEUE_COURSE_GEN_MAX_ACTIVE": ("2", lambda: of_queue("course-gen").limit.concurrency, 2),
    "JOB_QUEUE_COURSE_GEN_LIMITER_MS": ("2000", lambda: of_queue("course_gen").limit.rate, 0.5),
    "JOB_QUEUE_COURSE_GEN_CONCURRENCY": ("2", lambda: of_queue("course_gen").concurrency, 2),
}  # fmt: skip


@pytest.mark.parametrize("variable", EFFECTS)
def test_a_variable_has_its_effect(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    value, look, expected = EFFECTS[variable]
    assert look() != expected
    monkeypatch.setenv(variable, value)
    assert look() == expected


def test_no_documented_variable_is_left_out_above() -> None:
    named = {variable for name in Settings.model_fields for variable in variables_of(name)}
    assert named | {f"{PREFIX}COURSE_GEN_{option.upper()}" for option in OPTIONS} <= EFFECTS.keys()


@pytest.mark.parametrize("queue", ["course-gen", "course_gen", "course_generation_queue"])
def test_the_documents_name_sets_the_concurrency_of_its_queue(
    monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    monkeypatch.setenv("JOB_QUEUE_COURSE_GEN_CONCURRENCY", "2")
    assert of_queue(queue).concurrency == 2


def test_our_name_wins_over_the_documents_for_a_queue_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_QUEUE_EMAIL_CONCURRENCY", "2")
    monkeypatch.setenv("PENSTOCK_QUEUE_EMAIL_CONCURRENCY", "3")
    assert of_queue("email").concurrency == 3


def test_the_slots_of_workers_are_not_the_bound_of_a_queue_named_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JOB_QUEUE_WORKER_CONCURRENCY", "2")
    assert of_queue("worker").concurrency == 9


@pytest.mark.parametrize("variable", ["PENSTOCK_QUEUE_EMAIL_RATE", "JOB_QUEUE_EMAIL_LIMITER_MS"])
def test_a_rate_that_cannot_be_read_is_refused_by_name_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "s3cr3t")
    with pytest.raises(InvalidOption, match=f"{variable} has a value that rate cannot take") as refused:
        of_queue("email")
    assert "s3cr3t" not in str(refused.value)


# -- too much ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("variable", ["PENSTOCK_CONCURRENCY", "JOB_QUEUE_WORKER_CONCURRENCY"])
def test_more_slots_than_a_worker_can_have_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "2000")
    with pytest.raises(InvalidOption, match=rf"{variable}: .*1024"):
        Penstock(MEMORY)


def test_more_slots_than_a_worker_can_have_are_refused_in_code() -> None:
    with pytest.raises(InvalidOption, match=r"concurrency: .*1024"):
        Settings(concurrency=2000)
    with pytest.raises(InvalidOption, match=r"slots .*from 1 to 1024"):
        Penstock(MEMORY).worker_host(slots=2000)


# -- slips of the pen ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("PENSTOCK_CONCURENCY", "did you mean PENSTOCK_CONCURRENCY?"),
        ("PENSTOCK_QUEUE_EMAIL_CONCURENCY", "did you mean PENSTOCK_QUEUE_EMAIL_CONCURRENCY?"),
        ("PENSTOCK_QUEUE_EMIAL_RETRY", "did you mean PENSTOCK_QUEUE_EMAIL_RETRY?"),
        ("PENSTOCK_ZZZ", "docs/settings.md"),
    ],
)
def test_a_variable_that_nobody_reads_is_told_once_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str, told: str
) -> None:
    monkeypatch.setenv(variable, "s3cr3t")
    with caplog.at_level(logging.WARNING, "penstock"):
        for _ in range(2):
            app = Penstock(MEMORY)
            app.queue("email")
            app.worker_host()
    [message] = [record.getMessage() for record in caplog.records if variable in record.getMessage()]
    assert told in message
    assert "s3cr3t" not in message


@pytest.mark.parametrize(
    "variable", ["PENSTOCK_APP", "PENSTOCK_URL", "PENSTOCK_PORT_8080_TCP", "PENSTOCK_SERVICE_HOST"]
)
def test_what_we_or_an_orchestrator_set_is_no_slip(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str
) -> None:
    monkeypatch.setenv(variable, "sqlite://:memory:")
    with caplog.at_level(logging.WARNING, "penstock"):
        Penstock(MEMORY).worker_host()
    assert caplog.records == []
