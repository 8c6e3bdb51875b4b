"""What runs log by `ctx.log`: bounded, clean, with the error, and found by the job."""

from __future__ import annotations

import logging

import pytest
from runtime_kit import make_app

from penstock import Context, SyncContext, Unrecoverable
from penstock.logs import ConsoleFormatter, JsonFormatter
from penstock.model.redaction import redacted
from penstock.tasks.joblog import MAX_LINE, MAX_LINES, MAX_TEXT, JobLog, Line


def test_the_latest_lines_are_kept_within_bounds_and_without_secrets() -> None:
    told: list[list[Line]] = []
    log = JobLog(redacted, told.append)
    for n in range(MAX_LINES + 50):
        log.add(logging.INFO, "line %d password=hunter2", (n,), None)
    log.add(logging.ERROR, "x" * 10_000, (), ValueError("no"))
    log.add(logging.INFO, "%d", ("not a number",), None)  # logging itself complains of it
    log.tell()
    lines = told[-1]
    assert len(lines) <= MAX_LINES
    assert sum(len(line["text"]) for line in lines) <= MAX_TEXT
    assert (lines[-1]["level"], len(lines[-1]["text"]) <= MAX_LINE) == ("error", True)
    assert lines[-2]["text"].startswith(f"line {MAX_LINES + 49} ")
    assert "hunter2" not in str(told)
    before = len(told)
    log.tell()
    assert len(told) == before, "nothing new to tell"


async def test_what_an_attempt_logs_is_found_by_its_job_and_is_kept_with_its_error() -> None:
    app = make_app()

    @app.task(secret="card")
    async def pay(ctx: Context, card: str) -> None:
        ctx.log.info("charging %s", card)
        ctx.log.debug("a detail")
        raise Unrecoverable("no")

    @app.task
    def count(ctx: SyncContext) -> None:
        ctx.log.warning("one left")

    async with app:
        failed = await pay.aenqueue(card="4111 1111")
        fine = await count.aenqueue()
        await app.worker().run(burst=True)
        job = await app.ops.job(failed.id)
        (lines,) = (await app.ops.logged(job)).values()
        assert [(line["level"], line["text"]) for line in lines] == [("info", "charging •••")]
        assert job.errors[0]["log"] == lines
        assert {
            n: [line["text"] for line in lines]
            for n, lines in (await app.ops.logged(await app.ops.job(fine.id))).items()
        } == {1: ["one left"]}


async def test_the_log_of_the_process_names_the_line_of_the_handler() -> None:
    app = make_app()
    seen: list[logging.LogRecord] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    @app.task
    async def speak(ctx: Context) -> None:
        ctx.log.warning("here")

    logger = logging.getLogger("penstock.task.speak")
    ear = Ear()
    logger.addHandler(ear)
    try:
        async with app:
            await speak.aenqueue()
            await app.worker().run(burst=True)
    finally:
        logger.removeHandler(ear)
    assert [record.funcName for record in seen] == ["speak"]


async def test_what_a_run_says_holds_no_secret_of_its_job(caplog: pytest.LogCaptureFixture) -> None:
    app = make_app()
    caplog.set_level(logging.DEBUG)

    @app.task(secret="card")
    async def pay(ctx: Context, card: str) -> None:
        await ctx.progress(5, f"{card} by redis://:hunter2@cache/0")
        ctx.log.debug("the card %s", card, extra={"used": {"it": [card]}, "error": ValueError(card)})
        ctx.log.info("%(card)s is used", {"card": card})
        ctx.log.warning("%d %d", card)  # noqa: PLE1206 - on purpose
        await ctx.step(f"charge {card}", lambda: 1)
        try:
            try:
                raise LookupError(card)
            except LookupError as cause:
                raise ValueError(f"refused {card}") from cause
        except ValueError:
            ctx.log.exception("it is %s", card)

    async with app:
        job = await pay.aenqueue(card="4111 1111")
        await app.worker().run(burst=True)
        found = await app.engine.get(job.id)
        assert found is not None
        assert found.progress == {"percent": 5, "message": "••• by redis://:•••@cache/0"}
        assert "4111" not in str(await app.ops.logged(found))
    told = [(JsonFormatter().format(record), ConsoleFormatter().format(record)) for record in caplog.records]
    assert [each for each in told if "4111" in str(each) or "hunter2" in str(each)] == []
    written = "".join(json for json, _ in told)
    assert "the card \\u2022\\u2022\\u2022" in written
    assert "ValueError: refused \\u2022\\u2022\\u2022" in written
    assert "LookupError" in written
    (logged,) = (record for record in caplog.records if record.msg == "it is •••")
    assert logged.funcName == "pay", "it names the line that logs"
