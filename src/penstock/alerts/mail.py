"""Sends one message as an e-mail, over the SMTP server that the channel names."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.alerts.channels import Channel
from penstock.alerts.webhook import NotTaken


def mail(channel: Channel, message: dict[str, Any], timeout: float) -> None:
    """Deliver; NotTaken says in words that name no secret why that was not done."""
    letter = EmailMessage()
    letter["Subject"], letter["From"], letter["To"] = message["title"], channel.sender, ", ".join(channel.to)
    letter.set_content(message["text"])
    with _refusals(), _server(channel.url, timeout) as server:
        server.send_message(letter)


def knock(channel: Channel, timeout: float) -> None:
    """Let the mail server let us in, and send nothing."""
    with _refusals(), _server(channel.url, timeout):
        pass


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except smtplib.SMTPAuthenticationError:
        raise NotTaken("the mail server does not let us in") from None
    except smtplib.SMTPException as error:
        raise NotTaken(f"the mail server refused it: {type(error).__name__}") from None
    except OSError:
        raise NotTaken("the mail server does not answer, or its certificate is not good") from None


def _server(url: str, timeout: float) -> smtplib.SMTP:
    parts = urlsplit(url)
    host, context = parts.hostname or "", ssl.create_default_context()
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, parts.port or 465, timeout=timeout, context=context)
    else:
        server = smtplib.SMTP(host, parts.port or 587, timeout=timeout)
    try:
        server.ehlo()
        if parts.scheme == "smtp" and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
        if parts.username is not None:
            _log_in(server, parts.scheme, unquote(parts.username), unquote(parts.password or ""))
    except BaseException:
        server.close()
        raise
    return server


def _log_in(server: smtplib.SMTP, scheme: str, user: str, password: str) -> None:
    if scheme == "smtp" and not isinstance(server.sock, ssl.SSLSocket):
        raise NotTaken("the mail server offers no encryption: the password was not sent")
    server.login(user, password)
