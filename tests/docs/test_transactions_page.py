"""The files on the page about transactions, run on a real PostgreSQL as they are written."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from penstock import Penstock

PAGE = Path(__file__).parents[2] / "docs" / "transactions.md"

THROUGH_FASTAPI = """
import asyncio, httpx
from sqlalchemy import event
from api import api, engine

def refuse(connection):
    raise RuntimeError("the commit fails")

async def main():
    transport = httpx.ASGITransport(app=api, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.post("/orders/8/pay")).status_code == 404
        event.listen(engine.sync_engine, "commit", refuse)
        assert (await client.post("/orders/7/pay")).status_code == 500
        event.remove(engine.sync_engine, "commit", refuse)
        assert (await client.post("/orders/7/pay")).json()["job"]
    await engine.dispose()

asyncio.run(main())
"""

THROUGH_DJANGO = """
import os
from urllib.parse import urlsplit
import django
from django.conf import settings

url = urlsplit(os.environ["DATABASE_URL"])
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": url.path[1:], "USER": url.username,
    "HOST": url.hostname, "PORT": url.port}})
django.setup()
from django.test import RequestFactory
from views import pay

assert pay(RequestFactory().post("/"), 7).status_code == 200
"""

MODELS = """
from django.db import models

class Order(models.Model):
    paid = models.BooleanField()

    class Meta:
        app_label = "orders"
        db_table = "orders"
"""

PROGRAMS = {
    "psycopg": "import runpy; runpy.run_path('pay.py', run_name='__main__')",
    "asyncpg": "import runpy; runpy.run_path('pay_async.py', run_name='__main__')",
    "fastapi": THROUGH_FASTAPI,
    "django": THROUGH_DJANGO,
}


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """A database of this test's own, so that the schema may bear its default name."""
    name = f"docs_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
        parts = conninfo.conninfo_to_dict(postgres_url)
        yield f"postgresql://postgres@{parts['host']}:{parts['port']}/{name}"
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(code)
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


def jobs_of(database: str) -> int:
    with psycopg.connect(database) as connection:
        [count] = connection.execute(
            "select count(*) from penstock.jobs where key = 'receipt:7'"
        ).fetchone() or [0]
        return int(count)


@pytest.mark.parametrize("program", PROGRAMS)
async def test_the_order_is_paid_together_with_its_job(program: str, database: str, folder: Path) -> None:
    await Penstock(database).migrate()
    with psycopg.connect(database) as connection:
        connection.execute("create table orders (id int primary key, paid boolean not null)")
        connection.execute("insert into orders values (7, false)")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAMS[program]],
        cwd=folder,
        env={**os.environ, "DATABASE_URL": database, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert jobs_of(database) == 1
    with psycopg.connect(database) as connection:
        assert connection.execute("select paid from orders").fetchone() == (True,)
