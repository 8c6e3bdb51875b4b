"""`penstock outbox` and `penstock relay`: what they print, and what they say where something is missing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import Run, loaded_shop, runner

from penstock import InvalidOption, Penstock
from penstock.lent import AsyncLent, lent
from penstock.model.clock import EngineClock
from penstock.outbox.writer import Writer

__all__ = ["loaded_shop", "runner"]


@pytest.fixture(name="user_db")
def users_own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "user.db"
    monkeypatch.setenv("PENSTOCK_OUTBOX", f"sqlite:///{file}")
    return file


def write(app: Penstock, file: Path, count: int) -> None:
    with closing(sqlite3.connect(file)) as connection:
        on = lent(connection)
        assert not isinstance(on, AsyncLent)
        calls = [app.tasks["send_receipt"].call(order_id=n) for n in range(count)]
        Writer(f"sqlite:///{file}", EngineClock(), app.outbox.destination).enqueue(
            on, [call.job for call in calls]
        )
        connection.commit()


@pytest.mark.parametrize("words", [("relay",), ("outbox", "plan"), ("outbox", "apply"), ("outbox", "status")])
def test_without_an_outbox_it_says_how_to_have_one(run: Run, words: tuple[str, ...]) -> None:
    said = run(*words)
    assert said.code == 2
    assert "this app has no outbox" in said.err
    assert "PENSTOCK_OUTBOX" in said.err


@pytest.mark.parametrize("words", [("relay",), ("relay", "--burst"), ("outbox", "status")])
@pytest.mark.parametrize("there", [True, False])
def test_without_the_table_it_says_how_to_make_it(
    run: Run, user_db: Path, words: tuple[str, ...], there: bool
) -> None:
    if there:
        sqlite3.connect(user_db).execute("create table orders (id)").connection.close()
    said = run(*words)
    assert said.code == 2
    assert "penstock outbox apply" in said.err
    assert user_db.exists() is there


def test_the_plan_is_the_sql_of_the_tables(run: Run, user_db: Path) -> None:
    said = run("outbox", "plan")
    assert said.code == 0
    with closing(sqlite3.connect(user_db)) as connection:
        connection.executescript(said.out)
    assert run("outbox", "status").code == 0
    assert "timestamptz" in run("outbox", "plan", "--dialect", "postgresql").out
    assert "use postgresql or sqlite" in run("outbox", "plan", "--dialect", "mysql").err


def test_the_plan_of_a_dialect_needs_no_outbox(run: Run) -> None:
    assert "create table if not exists penstock_effects" in run("outbox", "plan", "--dialect", "sqlite").out


def test_from_apply_to_relay(run: Run, user_db: Path, shop: Penstock) -> None:
    said = run("outbox", "apply")
    assert (said.code, "has an outbox. Next: penstock relay" in said.out) == (0, True)
    assert "Nothing waits: everything is dispatched." in run("outbox", "status").out
    write(shop, user_db, 3)
    assert "3 rows wait, the oldest for " in run("outbox", "status").out
    state = run("outbox", "status", "--json").json
    assert state["lag_seconds"] > 0
    assert (state["waiting"], state["refused"], state["errors"]) == (3, 0, [])
    assert run("relay", "--burst", "--json").json == {"dispatched": 3, "refused": 0}
    assert len(run("jobs", "--json").json) == 3
    said = run("relay", "--burst")
    assert said.out.startswith(f"Relay from sqlite:///{user_db} to sqlite:///")
    assert said.out.endswith("Dispatched 0 rows.\n")


def test_a_refused_row_is_shown_with_its_error(run: Run, user_db: Path, shop: Penstock) -> None:
    run("outbox", "apply")
    write(shop, user_db, 1)
    with closing(sqlite3.connect(user_db)) as connection:
        connection.execute("update penstock_outbox set jobs = '[17]'")
        connection.commit()
    assert run("relay", "--burst", "--json").json == {"dispatched": 0, "refused": 1}
    said = run("outbox", "status")
    assert "1 row waits, the oldest for " in said.out
    assert "1 refused by the engine" in said.out
    assert "the row cannot be read" in said.out
    assert run("outbox", "status", "--json").json["errors"][0]["tries"] == 1
    assert "the engine refuses 1 of them" in run("doctor", columns=300).out


@pytest.mark.parametrize("url", ["sqlite:///{0}", "sqlite:///{1}/../{2}", "sqlite:///{3}"])
def test_an_outbox_in_the_file_of_the_jobs_is_refused(tmp_path: Path, url: str) -> None:
    file, link = tmp_path / "jobs.db", tmp_path / "link.db"
    link.symlink_to(file)
    given = url.format(file, tmp_path, f"{tmp_path.name}/jobs.db", link)
    with pytest.raises(InvalidOption, match=r"the very file that holds the jobs.*leave outbox= out"):
        Penstock(f"sqlite:///{file}", outbox=given)


def test_no_tables_are_made_in_a_file_that_holds_an_engine(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "engine.db"
    with Penstock(f"sqlite:///{file}"):
        pass
    said = run("effects", "apply", "--database", f"sqlite:///{file}")
    assert (said.code, "holds the jobs of an engine" in said.err) == (2, True)


def test_doctor_sees_the_outbox(run: Run, user_db: Path) -> None:
    assert "penstock outbox apply" in run("doctor", columns=300).out
    run("outbox", "apply")
    assert "empty: everything is dispatched" in run("doctor").out


@pytest.mark.parametrize(
    "url", ["redis://localhost", "mysql://localhost/shop", "sqlite://:memory:", "nonsense"]
)
def test_an_outbox_where_none_can_be_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PENSTOCK_OUTBOX", url)
    said = run("relay")
    assert said.code == 2
    assert "the outbox must be in your own database" in said.err
