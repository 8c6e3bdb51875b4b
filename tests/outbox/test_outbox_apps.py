"""Several apps with an outbox in one database: each relay brings its own rows, and nobody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outbox_kit import Home, jobs, make_home, other_engine, user_database
from penstock import Penstock
from penstock.engine import Effect, Engine, Level
from penstock.lent import AsyncLent, lent
from penstock.model.clock import EngineClock, FakeClock
from penstock.outbox.effects import SatelliteEffects
from penstock.tasks.settings import Settings
from penstock.tasks.urls import place_of

__all__ = ["other_engine", "user_database"]


def app_on(folder: Path, file: str, outbox: str, **more: Any) -> Penstock:
    return Penstock(f"sqlite:///{folder / file}", outbox=outbox, **more)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_relay_leaves_the_rows_of_another_app_alone(tmp_path: Path, kind: str) -> None:
    home = make_home(kind, tmp_path, EngineClock())
    mail, bill = app_on(tmp_path, "mail.db", home.url), app_on(tmp_path, "bill.db", home.url)

    async def send(n: int) -> int:
        return n

    mail.task(name="send")(send)
    bill.task(name="charge")(send)
    await mail.outbox.apply()
    with home.connect() as connection:
        job = mail.tasks["send"].using(connection=connection).enqueue(n=1)
        last = mail.tasks["send"].using(connection=connection, order="line").enqueue(n=2)
    async with bill:
        assert await bill.relay().run(burst=True) == 0
    assert (await bill.outbox.status()).waiting == 0
    assert (await mail.outbox.status()).waiting == 2
    async with mail:
        assert await mail.relay().run(burst=True) == 2
        await mail.worker().run(burst=True)
        assert (await job.aresult(timeout=5), await last.aresult(timeout=5)) == (1, 2)


async def test_rows_that_wait_for_another_engine_are_told_of(
    home: Home, engine: Engine, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    home.write(*jobs(2))
    home.destination = "another engine"
    assert (await home.status()).others == ()  # they have only come
    clock.advance(61)
    [other] = (await home.status()).others
    assert (other.destination, other.waiting, other.lag >= 61) == ("jobs elsewhere", 2, True)
    finding = await home.outbox.examine()
    assert finding.level is Level.WARNING
    assert "jobs elsewhere" in finding.text
    assert "PENSTOCK_OUTBOX_NAME" in finding.text
    assert await home.relay_all(engine) == 0
    assert "2 rows wait for 'jobs elsewhere'" in caplog.text


async def test_dispatched_rows_of_another_app_are_kept_as_long_as_it_says(
    home: Home, engine: Engine, clock: FakeClock
) -> None:
    home.write(*jobs(1))
    await home.relay_all(engine)
    clock.advance(home.keep_for + 1)
    home.destination = "another engine"
    await home.relay_all(engine)
    assert home.run("select count(*) from penstock_outbox") == [(1,)]


def test_the_name_of_an_outbox_takes_the_place_of_the_engine(tmp_path: Path) -> None:
    outbox = f"sqlite:///{tmp_path / 'own.db'}"
    at_one, at_other = (app_on(tmp_path, file, outbox) for file in ("a.db", "b.db"))
    assert at_one.outbox.destination != at_other.outbox.destination
    one, other = (
        app_on(tmp_path, file, outbox, settings=Settings(outbox_name="shop")) for file in ("a", "b")
    )
    assert one.outbox.destination == other.outbox.destination == "shop"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("redis://user:secret@Host:6379/0", "redis://host"),
        ("rediss://host/2?ssl_cert_reqs=none", "redis://:other@host:6379/2"),
        ("redis+sentinel://a:26379,b:26379/main", "redis+sentinel://x:p@b,a/main"),
        ("postgres://u:a/b@c@host/jobs", "postgresql://host:5432/jobs?sslmode=require"),
        ("postgresql://localhost/jobs", "postgresql://u:p@127.0.0.1:5432/jobs"),
        ("sqlite:///jobs.db", "sqlite:///./jobs.db"),
    ],
)
def test_one_place_is_known_however_its_url_is_written(one: str, other: str) -> None:
    assert place_of(one, "penstock") == place_of(other, "penstock")
    assert "secret" not in place_of(one, "penstock")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("redis://host/0", "redis://host/1"),
        ("redis://host", "redis://other"),
        ("redis://host:6380", "redis://host"),
        ("postgresql://host/a", "postgresql://host/b"),
        ("postgresql:///jobs?host=/run/a", "postgresql:///jobs?host=/run/b"),
        ("sqlite:///a.db", "sqlite:///b.db"),
    ],
)
def test_two_places_are_told_apart(one: str, other: str) -> None:
    assert place_of(one, "penstock") != place_of(other, "penstock")


def test_two_prefixes_and_schemas_in_one_place_are_told_apart() -> None:
    for url in ("redis://host", "postgresql://host/a"):
        assert place_of(url, "penstock") != place_of(url, "other")


def test_effects_of_two_apps_in_one_database_are_told_apart(home: Home, clock: FakeClock) -> None:
    effect = Effect("pay", "k:1", "charge", "01890a5d-ac96-774b-bcce-b302099a8057", 60.0)
    with home.connect() as connection:
        on = lent(connection)
        assert not isinstance(on, AsyncLent)
        shop, desk = SatelliteEffects(clock, "shop"), SatelliteEffects(clock, "desk")
        assert [shop.once(on, effect), desk.once(on, effect), shop.once(on, effect)] == [True, True, False]
