"""Reads one channel of penstock.yaml. What is secret may be `$NAME`, a variable of the environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

from penstock.alerts.addresses import target_of
from penstock.alerts.channels import PORTS, Channel
from penstock.alerts.section import Section, text, texts
from penstock.model.errors import InvalidOption
from penstock.model.hosts import PORTS as ALL_PORTS

LEAST_SECRET = 16  # characters

_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_ADDRESS = re.compile(r"[^\s@<>,;:\"\x00-\x1f]{1,64}@[A-Za-z0-9.\-]{1,190}")


def read_channel(name: str, declared: Section, environment: Mapping[str, str]) -> Channel:
    """A URL of Apprise, or what a webhook or an e-mail needs."""
    if isinstance(declared.data[name], str):
        return _apprise(name, _given(declared.data[name], environment))
    given = declared.section(name)
    for kind, read in _KINDS.items():
        if kind in given:
            return read(name, given, environment)
    raise InvalidOption("takes a URL of Apprise, or has one of: " + ", ".join(_KINDS))


def _given(value: Any, environment: Mapping[str, str]) -> str:
    """A text, or what the variable that it names holds. Neither is ever repeated: it may be a secret."""
    found = _VARIABLE.fullmatch(text(value))
    if found is None:
        return text(value)
    if not environment.get(found[1]):
        raise InvalidOption(f"the environment variable {found[1]} is not set")
    return environment[found[1]]


def _apprise(name: str, url: str) -> Channel:
    if "://" not in url:
        raise InvalidOption("a URL of Apprise looks like slack://…; see its documentation")
    return Channel(name, "apprise", url)


def _apprise_below(name: str, given: Section, environment: Mapping[str, str]) -> Channel:
    given.only("apprise")
    return _apprise(name, given.read("apprise", lambda value: _given(value, environment), ""))


def _webhook(name: str, given: Section, environment: Mapping[str, str]) -> Channel:
    given.only("webhook", "secret", "allow", "ports")
    if "secret" not in given:
        raise InvalidOption("a webhook has a secret, by which it is signed: name a variable, as $OPS_SECRET")
    channel = Channel(
        name,
        "webhook",
        given.read("webhook", lambda value: _given(value, environment), ""),
        secrets=given.read("secret", lambda value: _secrets(value, environment), ()),
        allow=given.read("allow", _networks, ()),
        ports=PORTS | given.read("ports", _ports, PORTS),
    )
    with given.at("webhook"):
        target_of(channel.url, channel.ports)
    return channel


def _secrets(value: Any, environment: Mapping[str, str]) -> tuple[str, ...]:
    found = tuple(_given(each, environment) for each in texts(value))
    if any(len(secret) < LEAST_SECRET for secret in found):
        raise InvalidOption(f"has fewer than {LEAST_SECRET} characters")
    return found


def _networks(value: Any) -> tuple[str, ...]:
    try:
        return tuple(str(ip_network(each)) for each in texts(value))
    except ValueError:
        raise InvalidOption("takes addresses and networks, such as 10.0.0.0/8") from None


def _ports(value: Any) -> frozenset[int]:
    found = value if isinstance(value, list) else [value]
    if any(isinstance(port, bool) or not isinstance(port, int) or port not in ALL_PORTS for port in found):
        raise InvalidOption("takes numbers from 1 to 65535")
    return frozenset(found)


def _email(name: str, given: Section, environment: Mapping[str, str]) -> Channel:
    given.only("email", "smtp", "from")
    for needed in ("smtp", "from"):
        if needed not in given:
            raise InvalidOption(f"an e-mail needs {needed}, such as " + _EXAMPLES[needed])
    return Channel(
        name,
        "email",
        given.read("smtp", lambda value: _server(_given(value, environment)), ""),
        to=given.read("email", _addresses, ()),
        sender=given.read("from", lambda value: _addresses(value)[0], ""),
    )


def _server(url: str) -> str:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("smtp", "smtps") and parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        known = False
    if not known:
        raise InvalidOption("looks like smtp://user:password@mail.example.com:587, or smtps://…")
    return url


def _addresses(value: Any) -> tuple[str, ...]:
    found = texts(value)
    if not all(_ADDRESS.fullmatch(each) for each in found):
        raise InvalidOption("takes addresses such as ops@example.com")
    return found


_EXAMPLES = {"smtp": "smtp://user:password@mail.example.com:587", "from": "penstock@example.com"}
_KINDS: dict[str, Callable[[str, Section, Mapping[str, str]], Channel]] = {
    "webhook": _webhook,
    "email": _email,
    "apprise": _apprise_below,
}
