"""Whether channels can be reached: told with what to do, and no message is sent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from alerts_kit import SECRET, sink
from penstock import Penstock
from penstock.alerts.channels import Channel
from penstock.alerts.config import Alerting
from penstock.alerts.examining import examine
from penstock.engine import Level
from servers import free_port


def webhook(name: str, url: str, port: int, *allow: str) -> Channel:
    return Channel(name, "webhook", url, secrets=(SECRET,), allow=allow, ports=frozenset({port, 443}))


async def test_each_channel_is_looked_at_and_nothing_is_sent() -> None:
    closed = free_port()
    async with sink() as place:
        url = f"http://127.0.0.1:{place.port}/hook"
        channels = [
            webhook("here", url, place.port, "127.0.0.1/32"),
            webhook("inside", url, place.port),
            webhook("metadata", "https://169.254.169.254/latest", 443),
            webhook("away", f"http://127.0.0.1:{closed}/", closed, "127.0.0.1/32"),
            Channel(
                "mail", "email", f"smtp://user:hunter2@127.0.0.1:{closed}", to=("a@b.c",), sender="d@e.f"
            ),
            Channel("chat", "apprise", "nothing://of/the/kind"),
        ]
        found = {f.name: f for f in await examine(Alerting(channels={c.name: c for c in channels}))}
        assert place.calls == []
    levels = {name: finding.level for name, finding in found.items()}
    assert levels.pop("alerts-here") is Level.OK
    assert set(levels.values()) == {Level.WARNING}
    assert len(levels) == 5
    for name in ("alerts-inside", "alerts-metadata"):
        assert "not public" in found[name].text
        assert "`allow`" in found[name].text
    assert "nobody answers" in found["alerts-away"].text
    assert "mail server" in found["alerts-mail"].text
    assert all(f"penstock alerts send {c.name}" in found[f"alerts-{c.name}"].text for c in channels[1:])
    assert "hunter2" not in str(found)
    assert SECRET not in str(found)


async def test_asked_to_each_channel_is_sent_a_message() -> None:
    async with sink() as place:
        (found,) = await examine(Alerting(channels={"ops": place.channel()}), send=True)
        assert (found.level, found.text) == (Level.OK, "it was told")
        (call,) = place.calls
        assert "This is a test" in call.json["text"]


async def test_a_mail_server_is_knocked_at() -> None:
    said: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            said.append(line.split()[0].upper())
            writer.write(b"221 bye\r\n" if said[-1] == b"QUIT" else b"250 well\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        mail = Channel("mail", "email", url, to=("a@b.c",), sender="d@e.f")
        (found,) = await examine(Alerting(channels={"mail": mail}))
    assert found.level is Level.OK, found
    assert set(said) == {b"EHLO", b"QUIT"}, "no letter"


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("channels: {slack: $NO_SUCH_SLACK}", "NO_SUCH_SLACK is not set"),
        ("channels: {ops: {webhook: https://ops.example.com}}", "secret"),
    ],
)
async def test_what_keeps_workers_from_starting_is_a_finding(
    yaml: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.yaml").write_text(yaml)
    monkeypatch.setenv("PENSTOCK_ALERTS", str(tmp_path / "rules.yaml"))
    diagnosis = await Penstock("sqlite://:memory:").examine()
    (found,) = [finding for finding in diagnosis.findings if finding.name == "alerts"]
    assert found.level is Level.UNUSABLE
    assert told in found.text
    assert diagnosis.refused


async def test_alerts_that_are_off_or_told_to_nobody_are_no_reason_to_complain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for setting in ("off", None):
        monkeypatch.setenv("PENSTOCK_ALERTS", setting) if setting else monkeypatch.delenv("PENSTOCK_ALERTS")
        found = (await Penstock("sqlite://:memory:").examine()).findings[-1]
        assert (found.name, found.level) == ("alerts", Level.OK)
