"""How log lines look: JSON for programs, text for people; one line each, whatever the names in it contain."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from penstock.model.redaction import redacted, without_secrets

JOBS = "penstock.jobs"  # the logger of job events
SERVICE = "job-worker"

LogFormat: TypeAlias = Literal["console", "json"]

# What the record of a job event has, in the order in which it is written.
FIELDS = (
    *("event", "queue", "job_id", "job_name", "timestamp", "attempt", "max_attempts"),
    *("previous_status", "status", "started_at", "finished_at", "duration_ms"),
    *("error", "error_code", "alert_level"),
)
_LEVELS = {"WARNING": "warn", "CRITICAL": "error"}
_USUAL = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "metadata", *FIELDS}


class JsonFormatter(logging.Formatter):
    """One JSON object per record: level, event, job, times, error, metadata, message and service.

    What a record brings along besides (`extra=`) is told as metadata.
    """

    def __init__(self, service: str = SERVICE) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        brought = record.__dict__
        told: dict[str, Any] = {"level": _LEVELS.get(record.levelname, record.levelname.lower())}
        clean = _as_it_is if record.name == JOBS else without_secrets
        told |= {name: clean(brought[name]) for name in FIELDS if brought.get(name) is not None}
        told.setdefault("timestamp", instant(record.created))
        if metadata := _metadata(brought):
            told["metadata"] = clean(metadata)
        told |= {"message": _message(record), "service": self._service, "logger": record.name}
        if record.exc_info:
            told["exception"] = redacted(self.formatException(record.exc_info))
        return json.dumps(told, default=_text)  # all but ASCII is escaped, and so is every line break


class ConsoleFormatter(logging.Formatter):
    """Time, process and message. What could break the line or steer the terminal is escaped."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(process)d %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - as above
        return _indented(redacted(super().formatException(ei)))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - as above
        return _indented(redacted(stack_info))


class WithoutSecrets(logging.Filter):
    """Of a handler: cleans what a record says, whoever writes it. The formatters clean the exceptions."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except Exception:  # noqa: BLE001 - logging would print its arguments as they are
            said = f"{record.msg} (what was to be put into it does not fit)"
        record.msg, record.args = redacted(said), ()
        return True


def configure(level: str, style: LogFormat = "console") -> None:
    """Write the log of this process to standard error, from this level on.

    People are told of jobs that fail and run again; of every job only where they ask for `debug`.
    """
    handler = logging.StreamHandler()
    handler.addFilter(WithoutSecrets())
    handler.setFormatter(JsonFormatter() if style == "json" else ConsoleFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger(JOBS).setLevel(_quiet(level) if style == "console" else logging.NOTSET)


def _quiet(level: str) -> int:
    return logging.DEBUG if level == "DEBUG" else max(logging.getLevelNamesMapping()[level], logging.WARNING)


def instant(seconds: float) -> str:
    """A moment since the epoch as it is written in logs."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def one_line(text: str) -> str:
    """`text` with whatever is not printed as itself escaped: line breaks, control and bidi characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _indented(text: str) -> str:
    """Lines that belong to the record before them: none can be taken for one of its own."""
    return "\n".join(f"  {one_line(line)}" for line in text.split("\n"))


def headline(queue: str, job_name: str, job_id: str, event: str) -> str:
    """`[queue] name:id - event`."""
    return one_line(f"[{queue}] {job_name}:{job_id} - {event}")


def _message(record: logging.LogRecord) -> str:
    job = record.__dict__
    if record.name != JOBS or "event" not in job:
        return record.getMessage()
    return headline(job["queue"], job["job_name"], job["job_id"], job["event"])


def _as_it_is(value: Any) -> Any:
    """Of the events of jobs, which are many, and clean from the beginning."""
    return value


def _text(value: object) -> str:
    return redacted(str(value))


def _metadata(brought: Mapping[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in brought.items() if name not in _USUAL}
    return {**others, **(brought.get("metadata") or {})}
