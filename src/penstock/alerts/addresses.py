"""Which addresses a webhook may be sent to: every one that a name has is looked at before any is called."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from penstock.alerts.channels import Channel
from penstock.model.errors import InvalidOption

Address: TypeAlias = IPv4Address | IPv6Address
Resolve: TypeAlias = Callable[[str, int], Sequence[str]]

MOST_ADDRESSES = 16  # of one name

# Networks of IPv6 that lead to an address of IPv4, and where in them it stands (bits from the right).
_WITHIN = (
    ("64:ff9b::/96", 0),
    ("2002::/16", 80),
    ("::/96", 0),
    ("::ffff:0:0:0/96", 0),
)
_CLOSED = tuple(
    ip_network(each) for each in ("64:ff9b:1::/48", "2001::/23", "100::/64", "fec0::/10", "192.88.99.0/24")
)
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")


class Refused(Exception):
    """This is not called."""


class Target(NamedTuple):
    """Where a webhook goes."""

    secure: bool
    host: str  # as the URL has it, without brackets
    port: int
    path: str
    named: str  # as the Host header has it


def target_of(url: str, ports: frozenset[int]) -> Target:
    """Read the URL of a webhook; InvalidOption never repeats it: there may be a secret in it."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise InvalidOption("the URL of a webhook cannot be read") from None
    if parts.scheme not in ("http", "https"):
        raise InvalidOption("the URL of a webhook begins with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise InvalidOption("the URL of a webhook has no user or password: it is signed, see `secret`")
    named = parts.netloc.rpartition(":")[0] if parts.port is not None else parts.netloc.rstrip(":")
    if not _HOST.fullmatch(named) or not all(" " < c < "\x7f" for c in url):
        raise InvalidOption("the host in the URL of a webhook cannot be one; write names in ASCII (xn--…)")
    if port not in ports:
        raise InvalidOption(f"a webhook goes to ports {_listed(ports)}; add {port} to its `ports`")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme == "https", named.strip("[]"), port, path, parts.netloc)


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, by the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def checked(channel: Channel, target: Target, ask: Resolve = resolve) -> list[str]:
    """The addresses that may be called, asked for once; Refused where one of them may not."""
    try:
        found = ask(target.host, target.port)[:MOST_ADDRESSES]
    except (OSError, UnicodeError):
        raise Refused("its host has no address") from None
    if not found:
        raise Refused("its host has no address")
    allowed = [ip_network(each) for each in channel.allow]
    for text in found:
        address = _read(text)
        own = any(address.version == network.version and address in network for network in allowed)
        if not own and not is_public(address):
            raise Refused("its host has an address that is not public; to reach one of your own, `allow` it")
    return [str(_read(text)) for text in found]


def is_public(address: Address) -> bool:
    """Whether the address, and any that stands within it, is one of the public internet."""
    if isinstance(address, IPv6Address):
        within = _within(address)
        if within is not None:
            return is_public(within)
    if any(address.version == network.version and address in network for network in _CLOSED):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _within(address: IPv6Address) -> IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    for network, shift in _WITHIN:
        if address in ip_network(network):
            return IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    return None


def _read(text: str) -> Address:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        raise Refused("its host has an address that cannot be read") from None


def _listed(ports: frozenset[int]) -> str:
    return ", ".join(str(port) for port in sorted(ports))
