"""Engine URLs: which engine they name, and how they are shown without their secrets."""

from __future__ import annotations

import os
import re

from penstock.model.errors import InvalidOption

MEMORY = ":memory:"

_REDIS = ("redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
_SCHEMES = ("sqlite", "postgresql", "postgres", *_REDIS)

_PORTS = {"postgres": "5432", "redis+sentinel": "26379"}
_LOCAL = {"": "localhost", "127.0.0.1": "localhost", "[::1]": "localhost"}
_WHERE = ("host", "hostaddr", "port", "dbname", "service")  # options of libpq that say where

_PASSWORD = re.compile(r"(//[^/@:]*):[^?]*@")
_QUERY = re.compile(r"([?&][^=&]*(?:password|secret|token|key)[^=&]*)=[^&]*", re.IGNORECASE)


def masked(url: str) -> str:
    """The URL as it may be shown: passwords are replaced by `***`."""
    return _QUERY.sub(r"\1=***", _PASSWORD.sub(r"\1:***@", url))


def check_url(url: str) -> None:
    """InvalidOption where no engine answers to this URL; says which do."""
    scheme, found, _ = url.partition("://")
    if not found:
        raise InvalidOption(
            "the engine URL has no scheme; write sqlite:///jobs.db, postgresql://host/name or redis://host"
        )
    if scheme not in _SCHEMES:
        raise InvalidOption(
            f"there is no engine for {scheme}://; use sqlite://, postgresql:// or redis://, "
            "given to Penstock() or as PENSTOCK_URL"
        )
    if is_sqlite(url):
        sqlite_path(url)


def check_ledger(url: str, ledger: str) -> None:
    """InvalidOption where these two cannot go together."""
    if not is_redis(url):
        raise InvalidOption(
            "a ledger is for jobs that live in Redis: PostgreSQL and SQLite keep background_jobs themselves"
        )
    if ledger.partition("://")[0] not in ("sqlite", "postgresql", "postgres"):
        raise InvalidOption(
            "the ledger's URL must name a database: postgresql://host/name or sqlite:///ledger.db"
        )
    if in_memory(ledger):
        raise InvalidOption(
            "a ledger in memory would not outlive the process: name a file, sqlite:///ledger.db"
        )


def check_outbox(url: str, outbox: str) -> None:
    """InvalidOption where the outbox would be in the file of the jobs: nothing need be brought there."""
    if is_sqlite(url) and is_sqlite(outbox) and not in_memory(url) and _file(url) == _file(outbox):
        raise InvalidOption(
            "the outbox is in the very file that holds the jobs, where none is needed: leave outbox= out, "
            "and using(connection=…) puts jobs in as a part of your transaction"
        )


def _file(url: str) -> str:
    return os.path.realpath(sqlite_path(url))


def place_of(url: str, schema: str) -> str:
    """Where the jobs of an app live, the same however the URL is written: without its secrets and options."""
    if is_sqlite(url):
        return f"sqlite {_file(url)}"
    scheme, _, rest = url.partition("://")
    kind = scheme.replace("rediss", "redis").replace("postgresql", "postgres")
    address, _, options = rest.partition("?")
    user, _, address = address.rpartition("@")  # a password may hold a slash
    hosts, _, name = address.partition("/")
    port = _PORTS.get(kind, "6379")
    default = "0" if kind == "redis" else user.partition(":")[0]
    named = [option for option in sorted(options.split("&")) if option.partition("=")[0] in _WHERE]
    shown = ",".join(sorted(_host(host, port) for host in hosts.split(",")))
    return " ".join([f"{kind} {shown}/{name or default}", *named, schema])


def _host(text: str, port: str) -> str:
    host, found, given = text.lower().rpartition(":")
    if not found or given.endswith("]"):  # the colons of an address of IPv6
        host, given = text.lower(), port
    return f"{_LOCAL.get(host, host)}:{given or port}"


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite://")


def is_redis(url: str) -> bool:
    return url.partition("://")[0] in _REDIS


def in_memory(url: str) -> bool:
    return is_sqlite(url) and sqlite_path(url) == MEMORY


def sqlite_path(url: str) -> str:
    """The file in `sqlite:///relative.db` or `sqlite:////absolute.db`, or `:memory:`."""
    rest = url.partition("://")[2]
    if rest in (MEMORY, f"/{MEMORY}"):
        return MEMORY
    if not rest.startswith("/") or rest == "/":
        raise InvalidOption(
            f"{masked(url)!r} names no file; write sqlite:///relative.db, sqlite:////absolute.db or sqlite://{MEMORY}"
        )
    return rest[1:]
