"""What a URL must name before anybody tries to connect by it."""

from __future__ import annotations

import psycopg
from psycopg import conninfo

from penstock.model.errors import InvalidOption
from penstock.model.hosts import check_host, check_port


def check_hosts(url: str) -> None:
    """InvalidOption where a URL that can be read names what cannot be a host or a port; never repeats it."""
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        # The parser repeats the URL in its message, and with it the password.
        raise InvalidOption(
            "the URL cannot be read; write postgresql://user:password@host:port/database"
        ) from None
    for host in str(given.get("host", "")).split(","):
        if not host.startswith(("/", "@")):  # the folder of a socket
            check_host(host)
    for port in filter(None, str(given.get("port", "")).split(",")):
        check_port(port)
