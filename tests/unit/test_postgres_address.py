"""A URL of PostgreSQL that cannot be read is refused, and never repeated."""

from __future__ import annotations

import asyncio

import pytest

from penstock import InvalidOption, Penstock

BAD = [
    "postgresql://u:s3cr3t@[bad/db",
    "postgresql://u:s3%ZZcr3t@127.0.0.1:1/db",
    "postgresql://u:s3cr3t@127.0.0.1:1/db?foo=bar",
    "postgresql://u:s3cr3t@host:notaport/db",
]


@pytest.mark.parametrize("url", BAD)
def test_the_password_of_an_outbox_is_in_no_error(url: str) -> None:
    app = Penstock("redis://127.0.0.1:1/0", outbox=url)
    with pytest.raises(InvalidOption) as raised:
        asyncio.run(app.outbox.status())
    assert "cr3t" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.parametrize("url", BAD)
def test_the_password_of_a_ledger_is_in_no_error(url: str) -> None:
    app = Penstock("redis://127.0.0.1:1/0", ledger=url)
    with pytest.raises(InvalidOption) as raised:
        asyncio.run(app.aopen())
    assert "cr3t" not in str(raised.value)
