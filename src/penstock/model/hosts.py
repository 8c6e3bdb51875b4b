"""Hosts and ports as URLs name them."""

from __future__ import annotations

from ipaddress import ip_address

from penstock.model.errors import InvalidOption

PORTS = range(1, 65_536)
_HINT = "in a password, write /, @, : and ? percent-encoded"


def check_host(name: str) -> None:
    """InvalidOption for what no name server could be asked for. Never repeats it: passwords get misread."""
    try:
        name.encode("idna")
    except UnicodeError:
        possible = False
    else:
        possible = "\0" not in name
    if not possible:
        raise InvalidOption(
            f"the host in the URL cannot be one: the parts between its dots have 1 to 63 characters; {_HINT}"
        )


def check_port(port: str) -> int:
    """The number; InvalidOption where it is none of a port. Never repeats it."""
    if not (port.isascii() and port.isdigit() and int(port) in PORTS):
        raise InvalidOption(f"the port in the URL must be a number from 1 to {PORTS[-1]}; {_HINT}")
    return int(port)


def is_loopback(name: str) -> bool:
    """Whether a host is this machine itself, by its number or as `localhost`."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
