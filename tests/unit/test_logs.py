"""A log line is one line, as JSON or as text, whatever stands in it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.logs import ConsoleFormatter, JsonFormatter, WithoutSecrets, configure, one_line

JOB = {"event": "failed", "queue": "email", "job_id": "7", "job_name": "send"}
NASTY = "a\nb\rc\x1b[31m\u2028\u202e\x85d"


def record(
    message: str, name: str = "penstock.jobs", level: int = logging.INFO, **extra: Any
) -> logging.LogRecord:
    made = logging.LogRecord(name, level, __file__, 1, message, (), None)
    made.__dict__.update(extra)
    return made


def as_json(made: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormatter().format(made)
    assert line.isprintable()
    told: dict[str, Any] = json.loads(line)
    return told


def test_the_message_of_a_job_event_is_exactly_that_of_the_document() -> None:
    told = as_json(record("[email] send:7 - failed: and what people are told", **JOB))
    assert told["message"] == "[email] send:7 - failed"
    assert {name: told[name] for name in JOB} == JOB
    assert told["service"] == "job-worker"


@pytest.mark.parametrize(
    ("level", "told"),
    [(logging.DEBUG, "debug"), (logging.INFO, "info"), (logging.WARNING, "warn"), (logging.ERROR, "error")],
)
def test_levels_are_the_words_of_the_document(level: int, told: str) -> None:
    assert as_json(record("", level=level))["level"] == told


def test_the_time_is_in_utc_with_milliseconds() -> None:
    made = record("")
    made.created = 1_767_614_400.5
    assert as_json(made)["timestamp"] == "2026-01-05T12:00:00.500Z"


def test_other_records_keep_their_message_and_what_they_bring_is_metadata() -> None:
    told = as_json(record("paid", "penstock.task.pay", job_id="7", order=9, metadata={"a": 1}))
    assert (told["message"], told["job_id"], told["metadata"]) == ("paid", "7", {"order": 9, "a": 1})


def test_what_is_no_json_is_told_as_text() -> None:
    assert as_json(record("", thing={1}))["metadata"] == {"thing": "{1}"}


def test_json_is_one_line_whatever_the_names_contain() -> None:
    told = as_json(record("", **{**JOB, "queue": NASTY, "job_name": NASTY}))
    assert (told["queue"], told["job_name"]) == (NASTY, NASTY)


def test_an_exception_is_told_on_the_same_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        made = record("broken", "penstock.worker")
        made.exc_info = sys.exc_info()
    assert "ValueError: two\nlines" in as_json(made)["exception"]
    _, *traceback = ConsoleFormatter().format(made).splitlines()
    assert traceback[-1] == "  lines"
    assert all(line.startswith("  ") for line in traceback)  # none can be taken for a record of its own


def test_the_console_escapes_what_could_break_the_line_or_steer_the_terminal() -> None:
    line = ConsoleFormatter().format(record(NASTY))
    assert line.isprintable()
    assert line.endswith(r"a\nb\rc\x1b[31m\u2028\u202e\x85d")


def test_what_a_record_brings_along_is_cleaned_too() -> None:
    brought: dict[str, Any] = {
        "error": "password=hunter2",
        "order": {"api_key": "hunter2", "ids": ["token=hunter2", 7]},
        "metadata": {"url": "redis://ana:hunter2@here/0"},
        "thing": type("Thing", (), {"__str__": lambda _: "secret=hunter2"})(),
    }
    line = JsonFormatter().format(record("paid", "shop", **brought))
    assert "hunter2" not in line
    assert json.loads(line)["metadata"]["order"] == {"api_key": "•••", "ids": ["token=•••", 7]}


def test_a_record_whose_arguments_do_not_fit_is_written_without_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(WithoutSecrets())
    made = record("paid with password=hunter2 %s %s", "shop")
    made.args = ("CANARY",)
    handler.handle(made)
    told = capsys.readouterr().err
    assert told.startswith("paid with password=•••")
    assert "CANARY" not in told
    assert "Traceback" not in told


def test_what_is_printable_stays_as_it_is() -> None:
    assert one_line("grün – 日本語 🚰") == "grün – 日本語 🚰"


@pytest.mark.parametrize(
    ("level", "style", "jobs"),
    [
        ("INFO", "console", logging.WARNING),
        ("ERROR", "console", logging.ERROR),
        ("DEBUG", "console", logging.DEBUG),
        ("INFO", "json", logging.INFO),
        ("WARNING", "json", logging.WARNING),
    ],
)
def test_people_are_told_of_failures_and_programs_of_every_event(
    level: str, style: Any, jobs: int, levels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    configure(level, style)
    assert logging.getLogger("penstock.jobs").getEffectiveLevel() == jobs
    assert logging.getLogger("penstock.worker").getEffectiveLevel() == getattr(logging, level)


@pytest.fixture
def levels() -> Iterator[None]:
    loggers = logging.getLogger(), logging.getLogger("penstock.jobs")
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)
