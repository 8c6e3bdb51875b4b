"""The log of our own processes, without secrets: also where a driver or the user's code writes to it."""

from __future__ import annotations

import logging

from penstock.model.redaction import redacted

_plain = logging.Formatter()


class WithoutSecrets(logging.Filter):
    """Of a handler: cleans what a record says, and the exception that it tells of."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except Exception:  # noqa: BLE001 - the handler will say that the record cannot be written
            return True
        record.msg, record.args = redacted(said), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = redacted(_plain.formatException(record.exc_info))
        return True


def configure(level: str | int) -> None:
    """Write the log to standard error, from this level on."""
    handler = logging.StreamHandler()
    handler.addFilter(WithoutSecrets())
    logging.basicConfig(level=level, format="%(asctime)s %(process)d %(message)s", handlers=[handler])
