"""What alerts are set up as: the rules in force, the channels, the pace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from penstock.alerts.channels import Channel
from penstock.alerts.life import Pace
from penstock.alerts.quiet import QuietHours
from penstock.alerts.rules import BUILT_IN, Rule

EVERY = 15.0  # seconds between looks
GROUP_EVERY = 30.0  # seconds between two messages to one channel
PACE = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerting:
    """Made from penstock.yaml; without one, the built-in rules and nobody to tell."""

    rules: tuple[Rule, ...] = tuple(BUILT_IN.values())
    channels: Mapping[str, Channel] = field(default_factory=lambda: MappingProxyType({}))
    expected_workers: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    quiet: QuietHours | None = None
    pace: Pace = PACE
    every: float = EVERY
    group_every: float = GROUP_EVERY
    relay_lag: Callable[[], Awaitable[float]] | None = None  # of the app's outbox, where it has one

    def told(self, rule: Rule) -> tuple[str, ...]:
        """The channels that hear of a rule: of a built-in one, where none of its own is declared, all."""
        named = tuple(name for name in rule.channels if name in self.channels)
        return named or (tuple(self.channels) if rule.built_in else ())
