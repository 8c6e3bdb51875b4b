"""Reads penstock.yaml: `alerts` in the documents' syntax, `channels`, `queues`, and how often who is told."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, time, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import Any

from penstock.alerts.channels import Channel
from penstock.alerts.conditions import parse_duration
from penstock.alerts.config import EVERY, GROUP_EVERY, PACE, Alerting
from penstock.alerts.declared_channels import read_channel
from penstock.alerts.life import Pace
from penstock.alerts.quiet import QuietHours
from penstock.alerts.rules import BUILT_IN, BY_FAILURE, Rule, Severity, make_rule
from penstock.alerts.section import Section, text, texts
from penstock.alerts.templates import MAX_MESSAGE
from penstock.alerts.yaml_lines import read_yaml
from penstock.model.errors import InvalidOption, MissingExtra
from penstock.model.zones import read_zone

DEFAULT_FILE = "penstock.yaml"
OFF = "off"
MOST_RULES = 200
LEAST_EVERY = 1.0  # second

_UTC: tzinfo = UTC
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_TOP = (
    "alerts",
    "channels",
    "queues",
    "quiet_hours",
    "every",
    "group_every",
    "repeat_every",
    "recover_after",
)


def load(path: str | None) -> Alerting | None:
    """As the setting says: a file, `off`, or None: penstock.yaml if it is there, else the built-in rules."""
    if path == OFF:
        return None
    file = Path(path or DEFAULT_FILE)
    if path is None and not file.is_file():
        return Alerting()
    try:
        return parse(file.read_text(encoding="utf-8"))
    except MissingExtra as error:
        raise MissingExtra(f"{file}: {error}") from None
    except InvalidOption as error:
        raise InvalidOption(f"{file}: {error}") from None
    except (OSError, UnicodeError) as error:
        raise InvalidOption(f"{file} cannot be read: {error}") from None


def parse(yaml: str, environment: Mapping[str, str] = os.environ) -> Alerting:
    """What the text of a penstock.yaml says; InvalidOption names the line of what is wrong."""
    document = read_yaml(yaml)
    if document.data is None:
        return Alerting()
    top = Section(document)
    top.only(*_TOP)
    channels = _channels(top, environment)
    return Alerting(
        rules=_rules(top, channels),
        channels=MappingProxyType(channels),
        expected_workers=MappingProxyType(_expected(top)),
        quiet=_quiet(top),
        pace=Pace(
            top.read("recover_after", parse_duration, PACE.recover_after),
            top.read("repeat_every", parse_duration, PACE.repeat_every),
        ),
        every=top.read("every", _often, EVERY),
        group_every=top.read("group_every", parse_duration, GROUP_EVERY),
    )


def _often(value: Any) -> float:
    return max(LEAST_EVERY, parse_duration(value))


def _channels(top: Section, environment: Mapping[str, str]) -> dict[str, Channel]:
    if "channels" not in top:
        return {}
    declared = top.section("channels")
    found = {}
    for name in declared:
        with declared.at(name):
            _check_name(name)
            found[name] = read_channel(name, declared, environment)
    return found


# -- rules --------------------------------------------------------------------------------------------
def _rules(top: Section, channels: Mapping[str, Channel]) -> tuple[Rule, ...]:
    rules = dict(BUILT_IN)
    if "alerts" in top and top.data["alerts"] is not None:
        declared = top.section("alerts")
        for name in declared:
            with declared.at(name):
                _check_name(name)
                found = _rule(name, declared, channels)
            rules.pop(name, None)
            if found is not None:
                rules[name] = found
    if len(rules) > MOST_RULES:
        raise InvalidOption(f"there are more than {MOST_RULES} rules")
    return tuple(rules.values())


def _rule(name: str, declared: Section, channels: Mapping[str, Channel]) -> Rule | None:
    if declared.data[name] is False:  # YAML reads `off` so
        return None
    given = declared.section(name)
    given.only("condition", "severity", "channels", "message")
    base = BUILT_IN.get(name)
    if base is None and (
        missing := [key for key in ("condition", "severity", "message") if key not in given]
    ):
        raise InvalidOption(f"has no {missing[0]}")
    with given.at("condition"):
        condition = given.data.get("condition", base and base.condition.text)
        rule = make_rule(name, condition, None, (), "", built_in=base is not None)
    severity = given.read("severity", _severity, base.severity if base else None)
    message = given.read("message", _message, base.message if base else "")
    with given.at("message"):
        rule = make_rule(name, rule.condition.text, severity, (), message, built_in=base is not None)
    named = given.read("channels", lambda value: _named(value, channels), base.channels if base else ())
    if "channels" in given:
        rule = replace(rule, built_in=False)
    return replace(rule, channels=named)


def _severity(value: Any) -> Severity | None:
    if value == BY_FAILURE:
        return None
    try:
        return Severity(value)
    except ValueError:
        raise InvalidOption(f"is one of {', '.join(Severity)}, or {BY_FAILURE}") from None


def _message(value: Any) -> str:
    found = text(value)
    if len(found) > MAX_MESSAGE:
        raise InvalidOption(f"has more than {MAX_MESSAGE} characters")
    return found


def _named(value: Any, channels: Mapping[str, Channel]) -> tuple[str, ...]:
    """Where no channels are declared at all, as in the documents' own file, nobody is told."""
    found = texts(value) if value != [] else ()
    for name in found if channels else ():
        if name not in channels:
            raise InvalidOption(f"there is no {name!r} under `channels`; there are: {', '.join(channels)}")
    return found


# -- the rest -----------------------------------------------------------------------------------------
def _expected(top: Section) -> dict[str, int]:
    if "queues" not in top:
        return {}
    queues = top.section("queues")
    found = {}
    for name in queues:
        queue = queues.section(name)
        queue.only("expected_workers")
        found[name] = queue.read("expected_workers", _count, 1)
    return found


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100_000:
        raise InvalidOption("takes a number from 0 on")
    return value


def _quiet(top: Section) -> QuietHours | None:
    if "quiet_hours" not in top:
        return None
    given = top.section("quiet_hours")
    given.only("from", "to", "tz", "below")
    for name in ("from", "to"):
        if name not in given:
            raise given.wrong(name, "is missing; write such as from: 22:00")
    return QuietHours(
        given.read("from", _clock, time()),
        given.read("to", _clock, time()),
        given.read("tz", _zone, _UTC),
        given.read("below", _bound, Severity.CRITICAL),
    )


def _bound(value: Any) -> Severity:
    found = _severity(value)
    if found is None:
        raise InvalidOption(f"is one of {', '.join(Severity)}")
    return found


def _clock(value: Any) -> time:
    """A time of day; 22:00 is a number to YAML: minutes."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_440:
        return time(value // 60, value % 60)
    found = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidOption("is a time of day, such as 22:00")
    return time(int(found[1]), int(found[2]))


def _zone(value: Any) -> tzinfo:
    return read_zone(text(value))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidOption("its name has lower case letters, digits, _ and -, 40 at most")
