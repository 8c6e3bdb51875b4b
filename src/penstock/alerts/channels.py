"""Channels: where alerts are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Literal, NamedTuple, TypeAlias

from penstock.alerts.life import Phase
from penstock.alerts.rules import Severity

Kind: TypeAlias = Literal["apprise", "email", "webhook"]
Network: TypeAlias = IPv4Network | IPv6Network

PORTS = frozenset({80, 443, 8080, 8443})
MOST_LISTED = 20  # alerts in one message; of the others only the number is told


@dataclass(frozen=True, slots=True)
class Channel:
    """One place. What is secret about it is not shown."""

    name: str
    kind: Kind
    url: str = field(repr=False)  # of apprise, of the webhook, or of the mail server
    secrets: tuple[str, ...] = field(default=(), repr=False)  # of a webhook: each signs
    to: tuple[str, ...] = ()  # addresses of an e-mail
    sender: str = ""
    allow: tuple[str, ...] = ()  # networks of our own that a webhook may be in
    ports: frozenset[int] = PORTS


class Told(NamedTuple):
    """An alert, as a channel is told of it."""

    rule: str
    subject: str
    severity: Severity
    phase: Phase
    message: str
    since: str  # ISO 8601


class Notice(NamedTuple):
    """One message: every alert that a channel is to be told of at once."""

    alerts: tuple[Told, ...]

    @property
    def title(self) -> str:
        firing = [told for told in self.alerts if told.phase is Phase.FIRING]
        if not firing:
            return f"Penstock: {_counted(len(self.alerts))} resolved"
        worst = max((told.severity for told in firing), key=lambda severity: severity.weight)
        return f"Penstock: {_counted(len(firing))} firing ({worst})"

    @property
    def text(self) -> str:
        """For people."""
        lines = [_line(told) for told in self.alerts[:MOST_LISTED]]
        if len(self.alerts) > MOST_LISTED:
            lines.append(f"… and {len(self.alerts) - MOST_LISTED:,} more: penstock alerts")
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """For programs: the first ones, and how many there are."""
        listed = [told._asdict() for told in self.alerts[:MOST_LISTED]]
        return {"title": self.title, "text": self.text, "count": len(self.alerts), "alerts": listed}


def _line(told: Told) -> str:
    if told.phase is Phase.FIRING:
        return f"[{told.severity}] {told.message} ({told.rule})"
    return f"[resolved] {told.message} ({told.rule}, since {told.since})"


def _counted(n: int) -> str:
    return "1 alert" if n == 1 else f"{n:,} alerts"
