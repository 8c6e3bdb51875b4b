"""Where the server is and how to be let in. Secrets never leave this in words."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.model.errors import InvalidOption
from penstock.model.hosts import check_host, check_port

Kind = Literal["single", "sentinel", "cluster"]
Host = tuple[str, int]

_PORTS: dict[Kind, int] = {"single": 6379, "sentinel": 26379, "cluster": 6379}
_SCHEMES: dict[str, tuple[Kind, bool]] = {
    "redis": ("single", False),
    "rediss": ("single", True),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
_SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")
_TLS_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname", "ssl_cert_reqs")
_HELP = (
    "write redis://user:password@host:port/database, redis+sentinel://host:port,host:port/service, "
    "or redis+cluster://host:port,host:port; rediss… for TLS"
)


@dataclass(frozen=True)
class Address:
    """A read URL."""

    kind: Kind
    hosts: tuple[Host, ...]
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    database: int = 0
    service: str = ""  # the name by which the sentinels know the server
    tls: bool = False
    options: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """For people: never who connects or how."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{hosts}/{self.service or self.database}"

    def tls_context(self) -> ssl.SSLContext | None:
        """Certificates are checked, and the host's name, unless the URL says otherwise by name."""
        if not self.tls:
            return None
        context = self._with_certificates()
        trusting = self.options.get("ssl_cert_reqs", "required").lower() == "none"
        if trusting or self.options.get("ssl_check_hostname", "true").lower() in ("false", "0", "no"):
            context.check_hostname = False
        if trusting:
            context.verify_mode = ssl.CERT_NONE
        return context

    def _with_certificates(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.options.get("ssl_ca_certs"))
            if certificate := self.options.get("ssl_certfile"):
                context.load_cert_chain(certificate, self.options.get("ssl_keyfile"))
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise InvalidOption(
                f"the certificates that the Redis URL names cannot be read ({why}); "
                "look at its ssl_ca_certs, ssl_certfile and ssl_keyfile"
            ) from None
        return context


def read_url(url: str) -> Address:
    """InvalidOption where it cannot be read; never repeats it."""
    try:
        return _read(url)
    except InvalidOption:
        raise
    except ValueError:
        raise InvalidOption(f"the Redis URL cannot be read; {_HELP}") from None


def _read(url: str) -> Address:
    parts = urlsplit(url)
    kind, tls = _SCHEMES[parts.scheme]
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    service, database = _place(kind, parts.path, options.pop("db", ""))
    _check_options(kind, tls, options, may_name="@" not in parts.query)  # else it may be a password, misread
    return Address(
        kind=kind,
        hosts=tuple(_host(host, _PORTS[kind]) for host in (hosts or "localhost").split(",")),
        username=unquote(username),
        password=unquote(password),
        database=database,
        service=service,
        tls=tls,
        options=options,
    )


def _place(kind: Kind, path: str, database: str) -> tuple[str, int]:
    """The sentinels' service, and the number of the database."""
    words = [unquote(word) for word in path.split("/") if word]
    if kind == "sentinel" and not words:
        raise ValueError("no service")
    service = words.pop(0) if kind == "sentinel" else ""
    if len(words) > 1:
        raise ValueError("too many words")
    number = int(words[0] if words else database or 0)
    if number < 0 or (kind == "cluster" and number):
        raise ValueError("no such database")
    return service, number


def _host(text: str, default: int) -> Host:
    name, found, port = text.rpartition(":")
    if not found or text.endswith("]"):
        name, port = text, str(default)
    check_host(name.strip("[]"))
    return name.strip("[]"), check_port(port)


def _check_options(kind: Kind, tls: bool, options: dict[str, str], *, may_name: bool) -> None:
    known = (*(_SENTINEL_OPTIONS if kind == "sentinel" else ()), *(_TLS_OPTIONS if tls else ()))
    if unknown := sorted(options.keys() - set(known)):
        named = f": {', '.join(unknown)}" if may_name else ""
        raise InvalidOption(f"the Redis URL has unknown options{named}; {_HELP}")
