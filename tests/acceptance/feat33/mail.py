"""An SMTP server that can refuse, and take its time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from email import message_from_bytes
from email.message import Message

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from servers import free_port


class Mailroom:
    """What came, by recipient; those who begin with `busy` are refused once, with `full` always."""

    def __init__(self) -> None:
        self.held = threading.Event()  # cleared: mail for `slow` is not taken yet
        self.held.set()
        self.tries: dict[str, list[float]] = defaultdict(list)
        self.inboxes: dict[str, list[Message]] = defaultdict(list)
        self._server = Controller(self, hostname="127.0.0.1", port=free_port())

    @property
    def address(self) -> str:
        return f"{self._server.hostname}:{self._server.port}"

    def open(self) -> None:
        self._server.start()

    def close(self) -> None:
        self.held.set()
        self._server.stop()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        (to,) = envelope.rcpt_tos
        self.tries[to].append(time.monotonic())
        if to.startswith("full") or (to.startswith("busy") and len(self.tries[to]) == 1):
            return "451 the mailbox is busy"
        while to.startswith("slow") and not self.held.is_set():
            await asyncio.sleep(0.02)
        assert isinstance(envelope.content, bytes)
        self.inboxes[to].append(message_from_bytes(envelope.content))
        return "250 taken"
