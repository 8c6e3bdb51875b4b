"""The SQL on the pages is run on a real PostgreSQL, as it is written."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from penstock import Penstock

DOCS = Path(__file__).parents[2] / "docs"


def sql_of(page: str) -> str:
    found = re.search(r"^ *```sql\n(.*?)^ *```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """A database of this test's own, so that the schema may bear its default name."""
    name = f"docs_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
        yield conninfo.make_conninfo(postgres_url, dbname=name)
        connection.execute(f"drop database {name} with (force)")
        connection.execute("drop role if exists app")


def url_of(info: str, user: str = "postgres") -> str:
    parts = conninfo.conninfo_to_dict(info)
    return f"postgresql://{user}@{parts['host']}:{parts['port']}/{parts['dbname']}"


def make(url: str) -> Penstock:
    app = Penstock(url)
    app.queue("email")

    @app.task(queue="email")
    async def send_receipt(order_id: int, to: str) -> str:
        return f"receipt {order_id} sent to {to}"

    return app


async def test_a_job_enqueued_from_sql_is_run(database: str) -> None:
    app = make(url_of(database))
    assert await app.migrate()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("create table orders (id int, email text)")
        connection.execute(sql_of("sql.md"))
    async with app:
        assert await app.worker().run(burst=True) == 1
        [queue] = [row for row in await app.ops.queues() if row.name == "email"]
        assert queue.counts["completed"] == 1


async def test_the_fields_on_the_page_are_those_the_function_reads(database: str) -> None:
    app = make(url_of(database))
    await app.migrate()
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "select prosrc from pg_proc where pronamespace = 'penstock'::regnamespace"
        ).fetchall()
    lists = [
        found
        for (source,) in rows
        for found in re.findall(r"json_to_recordset\(jobs\)[^(]*\(([^)]*)\)", source)
    ]
    read = {field.split()[0].strip('"') for field in max(lists, key=len).split(",")}
    assert {"task", "args", "key"} <= read
    told = set(re.findall(r"^\| `(\w+)` \|.*\|.*\|.*\|$", (DOCS / "sql.md").read_text(), re.MULTILINE))
    assert read - {"lane"} <= told


async def test_the_rights_on_the_page_are_enough_to_enqueue_and_work(database: str) -> None:
    owner = make(url_of(database))
    await owner.migrate()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("create role app login")
        connection.execute(sql_of("operating.md"))
    app = make(url_of(database, "app"))
    async with app:
        job = await app.tasks["send_receipt"].aenqueue(order_id=1, to="a")
        await app.worker().run(burst=True)
        assert await job.aresult(10) == "receipt 1 sent to a"
        await app.ops.pause("email")
