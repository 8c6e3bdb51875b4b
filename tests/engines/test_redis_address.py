"""URLs: what they mean, what they refuse, and that they never show their secrets."""

from __future__ import annotations

import ssl

import pytest

from penstock.engines.redis.address import read_url
from penstock.model.errors import InvalidOption
from penstock.tasks.urls import check_url, masked

SECRET = "p%40ss:w0rd"


@pytest.mark.parametrize(
    ("url", "hosts", "database"),
    [
        ("redis://localhost", (("localhost", 6379),), 0),
        ("redis://", (("localhost", 6379),), 0),
        ("redis://cache:7000/5", (("cache", 7000),), 5),
        ("redis://cache:7000?db=5", (("cache", 7000),), 5),
        ("redis://[::1]:7000/1", (("::1", 7000),), 1),
        ("redis://[::1]", (("::1", 6379),), 0),
        ("redis+cluster://a:1,b:2,c", (("a", 1), ("b", 2), ("c", 6379)), 0),
    ],
)
def test_a_url_names_hosts_and_a_database(url, hosts, database):
    address = read_url(url)
    assert (address.hosts, address.database) == (hosts, database)
    assert address.tls is False


def test_a_sentinel_url_names_the_service():
    address = read_url("redis+sentinel://:hush@s1:1,s2/mymaster/3?sentinel_password=other")
    assert (address.kind, address.service, address.database) == ("sentinel", "mymaster", 3)
    assert address.hosts == (("s1", 1), ("s2", 26379))
    assert (address.password, address.options) == ("hush", {"sentinel_password": "other"})


@pytest.mark.parametrize("scheme", ["rediss", "rediss+sentinel", "rediss+cluster"])
def test_tls_checks_certificates_and_names_unless_told_otherwise(scheme):
    path = "/mymaster" if "sentinel" in scheme else ""
    context = read_url(f"{scheme}://host{path}").tls_context()
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    context = read_url(f"{scheme}://host{path}?ssl_check_hostname=false").tls_context()
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, False)
    context = read_url(f"{scheme}://host{path}?ssl_cert_reqs=none").tls_context()
    assert context is not None
    assert context.verify_mode == ssl.CERT_NONE


def test_credentials_are_unquoted():
    address = read_url(f"redis://a%3Ana:{SECRET}@host")
    assert (address.username, address.password) == ("a:na", "p@ss:w0rd")


@pytest.mark.parametrize(
    "url",
    [
        "redis://h:port",
        "redis://h:70000",
        "redis://h:-1",
        "redis://a..b/",
        "redis://a\0b/",
        f"redis://{'a' * 64}/",
        "redis://h/x",
        "redis://h/-1",
        "redis://h/1/2",
        "redis+sentinel://h",
        "redis+cluster://h/1",
        "redis://h?ssl_ca_certs=/x",
        "redis://h?socket_timeout=5",
        "rediss://h?password=x",
    ],
)
def test_what_cannot_be_read_is_refused_without_repeating_it(url):
    secret = url.replace("://", f"://ana:{SECRET}@", 1)
    with pytest.raises(InvalidOption) as told:
        read_url(secret)
    assert "w0rd" not in str(told.value)
    assert "ana" not in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://ana:{SECRET}@host:1/0",
        f"rediss://:{SECRET}@host/0",
        f"redis+sentinel://:{SECRET}@s1:1,s2:2/mymaster?sentinel_password={SECRET}",
        f"redis+cluster://ana:{SECRET}@a:1,b:2",
    ],
)
def test_no_secret_is_ever_shown(url):
    check_url(url)
    address = read_url(url)
    for shown in (masked(url), repr(address), address.shown):
        assert "w0rd" not in shown
        assert "p@ss" not in shown


def test_unknown_options_are_named():
    with pytest.raises(InvalidOption, match="unknown options: ssl;"):
        read_url("redis://h?ssl=true")


def test_the_rest_of_a_password_is_not_taken_for_the_name_of_an_option():
    with pytest.raises(InvalidOption) as told:
        read_url("redis://ana:hal?f=x&word=y@host")
    assert "word" not in str(told.value).replace("password", "")
