"""Webhooks: signed, and sent to no address that was not checked. Connections are counted at the socket."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from alerts_kit import SECRET, Sink, sink
from penstock import InvalidOption
from penstock.alerts.addresses import Refused, is_public, target_of
from penstock.alerts.channels import PORTS, Channel
from penstock.alerts.webhook import NotTaken, post
from penstock.model.signing import HEADER, sign, verify

MESSAGE = {"title": "Penstock: 1 alert firing", "text": "deep"}


@pytest.fixture(name="sink")
async def local_sink() -> AsyncIterator[Sink]:
    async with sink() as made:
        yield made


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every address that a socket of this process was connected to."""
    addresses: list[Any] = []
    real = asyncio.selector_events.BaseSelectorEventLoop.sock_connect

    async def sock_connect(loop: Any, sock: socket.socket, address: Any) -> None:
        addresses.append(address)
        await real(loop, sock, address)

    monkeypatch.setattr(asyncio.selector_events.BaseSelectorEventLoop, "sock_connect", sock_connect)
    return addresses


async def test_a_message_arrives_signed_under_the_name_that_the_url_has(
    sink: Sink, connected: list[Any]
) -> None:
    channel = sink.channel(host="ops.example.com")
    await post(channel, MESSAGE, lambda host, port: ["127.0.0.1"])
    (call,) = sink.calls
    assert call.head.startswith("POST /hook?to=ops HTTP/1.1\r\n")
    assert call.header("Host") == f"ops.example.com:{sink.port}"
    assert call.json == MESSAGE
    assert verify([SECRET], call.header(HEADER), call.body, time.time())
    assert connected == [("127.0.0.1", sink.port)]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
        "127.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[64:ff9b:1:a9fe:a9:fe00:808:808]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "10.0.0.1",
        "100.64.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "224.0.0.1",
        "255.255.255.255",
    ],
)
async def test_an_address_that_is_not_public_is_never_connected_to(
    host: str, sink: Sink, connected: list[Any]
) -> None:
    channel = sink.channel(host=host, allow=())
    with pytest.raises(Refused):
        await post(channel, MESSAGE)
    assert (connected, sink.connections) == ([], 0)


async def test_a_name_is_looked_up_once_and_the_address_that_was_checked_is_called(
    sink: Sink, connected: list[Any]
) -> None:
    """The rebinding name: public when it is checked, this machine when it is asked again."""
    answers = iter([["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]])
    asked: list[str] = []

    def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    with pytest.raises((NotTaken, TimeoutError)):
        await asyncio.wait_for(
            post(sink.channel(host="rebind.example.com", allow=()), MESSAGE, rebinding), 0.3
        )
    assert asked == ["rebind.example.com"]
    assert {address[0] for address in connected} <= {"93.184.216.34"}
    assert sink.connections == 0


async def test_one_bad_address_among_good_ones_is_enough_to_refuse(sink: Sink, connected: list[Any]) -> None:
    with pytest.raises(Refused):
        await post(
            sink.channel(host="two.example.com", allow=()),
            MESSAGE,
            lambda host, port: ["93.184.216.34", "127.0.0.1"],
        )
    with pytest.raises(Refused):
        await post(sink.channel(host="none.example.com"), MESSAGE, lambda host, port: [])
    assert (connected, sink.connections) == ([], 0)


async def test_a_redirect_is_not_followed(sink: Sink, connected: list[Any]) -> None:
    async with _second() as secret:
        sink.answer = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{secret.port}/\r\n\r\n".encode()
        with pytest.raises(NotTaken, match="302; redirects are not followed"):
            await post(sink.channel(), MESSAGE)
        assert (len(connected), secret.connections) == (1, 0)


def _second() -> Any:
    return sink()


async def test_only_what_is_allowed_by_name_is_let_through(sink: Sink) -> None:
    await post(sink.channel(allow=("127.0.0.0/8",)), MESSAGE)
    with pytest.raises(Refused):
        await post(sink.channel(allow=("10.0.0.0/8", "::/0")), MESSAGE)
    assert sink.connections == 1


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 500 Oh\r\n\r\nsecret page", "it answered 500$"),
        (b"SSH-2.0-OpenSSH\r\n", "not answer as HTTP"),
        (b"HTTP/1.1 200" + b" " * 5_000, "not answer as HTTP"),
        (b"", "not answer as HTTP"),
    ],
)
async def test_an_answer_that_is_no_yes_is_told_without_what_stands_in_it(
    sink: Sink, answer: bytes, problem: str
) -> None:
    sink.answer = answer
    with pytest.raises(NotTaken, match=problem):
        await post(sink.channel(), MESSAGE)


async def test_nobody_there_is_told(sink: Sink) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        port = closing.getsockname()[1]
    channel = replace(sink.channel(), url=f"http://127.0.0.1:{port}/", ports=frozenset({port}))
    with pytest.raises(NotTaken, match="nobody answers"):
        await post(channel, MESSAGE)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "http://user:password@example.com/",
        "https://example.com:22/",
        "https://example.com:99999/",
        "https:///path",
        "https://ex ample.com/",
        "https://example.com/\r\nHost: evil",
        "https://evil.com\\@example.com/",
        "https://ex\u0430mple.com/",
        "https://[::1%25eth0]/",
        "//example.com/",
        "example.com",
    ],
)
def test_a_url_that_is_none_of_a_webhook_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        target_of(url, PORTS)
    assert "example" not in str(refused.value)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:4700::1111", "::ffff:93.184.216.34"])
def test_a_public_address_is_one(address: str) -> None:
    assert is_public(ip_address(address))


def test_a_channel_does_not_show_its_secrets() -> None:
    assert "hush" not in repr(Channel("ops", "webhook", "https://hush", secrets=("hush",)))


# -- signatures ---------------------------------------------------------------------------------------
def test_a_signature_is_good_for_its_body_its_secret_and_five_minutes() -> None:
    header = sign(["old secret", SECRET], b"{}", 1_000)
    assert verify([SECRET], header, b"{}", 1_000)
    assert verify(["old secret", "new"], header, b"{}", 1_300)
    assert not verify([SECRET], header, b"{} ", 1_000)
    assert not verify(["other"], header, b"{}", 1_000)
    assert not verify([SECRET], header, b"{}", 1_301)
    assert not verify([SECRET], header, b"{}", 699)
    assert not verify([], header, b"{}", 1_000)
    assert not verify([SECRET], header.replace("t=1000", "t=1001"), b"{}", 1_000)


@pytest.mark.parametrize(
    "header", ["", "t=", "t=x,v1=", "v1=abc", "t=1,t=2,v1=a", "t=١,v1=a", "t=1", "é=ü,v1=ü"]
)
def test_what_is_no_signature_is_not_good(header: str) -> None:
    assert not verify([SECRET], header, b"{}", 1)
