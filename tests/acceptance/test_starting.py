"""A worker that cannot start says why and what to do next, in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.fleet import JOBS, Site, new_url
from servers import PostgresServer

SECRET = "hunter2"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, f"sqlite:///{tmp_path / 'jobs.db'}")


def refused(site: Site, *words: str, code: int, **env: str) -> str:
    """Run a command that cannot work; what it says to people."""
    done = site.run(*words, env=env)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "Traceback" not in said
    assert SECRET not in said
    return " ".join(said.split())


def test_an_app_that_is_not_there(site: Site) -> None:
    assert "there is no module 'nowhere'" in refused(site, "worker", "--app", "nowhere:app", code=1)


def test_no_app_at_all(site: Site) -> None:
    assert "--app module:app" in refused(site, "worker", code=2)


def test_an_app_that_raises(site: Site) -> None:
    (site.folder / "broken.py").write_text("raise RuntimeError('no licence file')\n")
    assert "no licence file" in refused(site, "worker", "--app", "broken:app", code=1)


def test_a_task_whose_types_are_there_for_the_type_checker_only(site: Site) -> None:
    (site.folder / "typed.py").write_text(
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "from penstock import Penstock\n"
        "if TYPE_CHECKING:\n    from decimal import Decimal\n"
        "app = Penstock()\n"
        "@app.task\ndef pay(amount: Decimal) -> None: ...\n"
    )
    said = refused(site, "worker", "--app", "typed:app", code=1)
    assert "'pay': the type of 'amount', 'Decimal', cannot be read" in said
    assert "outside 'if TYPE_CHECKING'" in said


def test_an_app_that_exits(site: Site) -> None:
    (site.folder / "script.py").write_text("import sys; sys.exit(0)\n")
    assert "script.py, line 1" in refused(site, "worker", "--app", "script:app", code=1)


def test_a_url_of_no_engine(site: Site) -> None:
    said = refused(site, "worker", "--app", JOBS, code=1, PENSTOCK_URL="mongodb://db")
    assert "there is no engine for mongodb://" in said
    assert "PENSTOCK_URL" in said


def test_postgres_without_the_schema_names_penstock_migrate(site: Site) -> None:
    url = new_url("postgres", site.folder)
    assert "penstock migrate" in refused(site, "worker", "--app", JOBS, code=1, PENSTOCK_URL=url)


def test_a_stopped_server_is_told_without_its_credentials(site: Site) -> None:
    server = PostgresServer()
    url = f"postgresql://ana:{SECRET}@127.0.0.1:{server.port}/postgres"
    server.discard()
    said = refused(site, "queues", "--app", JOBS, code=3, PENSTOCK_URL=url)
    assert "cannot be reached" in said or "refused" in said
    refused(site, "worker", "--app", JOBS, code=1, PENSTOCK_URL=url)
