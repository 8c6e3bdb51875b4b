"""PostgreSQL's outbox: nobody waits for a lock, and no statement scans the table."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from conformance.kit import new
from outbox_kit import Home, ids, jobs, make_home
from penstock.model.clock import FakeClock
from penstock.outbox.store import Row, Verdict
from penstock.outbox.tables import sql

MANY = 20_000


@pytest.fixture
async def home(tmp_path: Path, clock: FakeClock) -> Home:
    made = make_home("postgresql", tmp_path, clock)
    await made.outbox.apply()
    return made


class Holding:
    """A dispatch that takes its rows and goes on when told."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.has_them = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, rows: Sequence[Row]) -> Verdict:
        self.rows = [row.seq for row in rows]
        self.has_them.set()
        await self.go_on.wait()
        return Verdict(self.rows, [], [])


async def test_relays_pass_by_what_others_hold_without_waiting(home: Home) -> None:
    home.write(*jobs(600))
    for key in ("a", "b"):
        home.write(*jobs(3), order=key)
    slow, quick, late = home.store(), home.store(), home.store()
    holding = Holding()
    task = asyncio.create_task(slow.serve(holding))
    await holding.has_them.wait()
    home.write(*jobs(3), order="c")
    home.write(new(), order="a")
    second = Holding()
    second.go_on.set()
    await asyncio.wait_for(quick.serve(second), 1)
    assert (len(holding.rows), len(second.rows)) == (506, 103), "the rest, and the line of c"
    third = Holding()
    third.go_on.set()
    await asyncio.wait_for(late.serve(third), 1)
    assert third.rows == [], "the line of a is held"
    holding.go_on.set()
    await task
    await late.serve(third)
    assert len(third.rows) == 1
    for store in (slow, quick, late):
        await store.close()


async def test_writers_never_wait_for_relays_nor_for_each_other(home: Home) -> None:
    home.write(*jobs(10), order="a")
    store, holding = home.store(), Holding()
    task = asyncio.create_task(store.serve(holding))
    await holding.has_them.wait()
    with closing(home.connect()) as one, closing(home.connect()) as other:
        for connection in (one, other):
            connection.execute("set lock_timeout = '100ms'")
            home.put(connection, new(), order="a")
        other.commit()
        one.commit()
    holding.go_on.set()
    await task
    await store.close()


async def test_a_relay_whose_connection_dies_has_marked_nothing(home: Home) -> None:
    them = jobs(3)
    home.write(*them)
    store, holding = home.store(), Holding()
    task = asyncio.create_task(store.serve(holding))
    await holding.has_them.wait()
    home.run(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid() and state = 'idle in transaction'"
    )
    holding.go_on.set()
    with pytest.raises(Exception, match="connection"):
        await task
    assert home.undispatched() == 3
    again = Holding()
    again.go_on.set()
    await store.serve(again)
    assert home.undispatched() == 0
    await store.close()


async def test_a_server_that_is_strict_by_default_is_no_obstacle(home: Home) -> None:
    """Its isolation would make an error of every row that another relay has marked meanwhile."""
    home.write(*jobs(1_200))
    home.run(
        "alter database " + home.url.rpartition("/")[2] + " set default_transaction_isolation = serializable"
    )
    home.run(
        "alter database " + home.url.rpartition("/")[2] + " set idle_in_transaction_session_timeout = '100ms'"
    )
    stores = [home.store() for _ in range(3)]
    holdings = [Holding() for _ in stores]
    tasks = [asyncio.create_task(s.serve(h)) for s, h in zip(stores, holdings, strict=True)]
    for holding in holdings:
        await holding.has_them.wait()
    await asyncio.sleep(0.3)
    for holding in holdings:
        holding.go_on.set()
    await asyncio.gather(*tasks)
    assert home.undispatched() == 0
    for store in stores:
        await store.close()


# -- plans -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Many rows dispatched, many waiting, many behind one order key, many refused; statistics as they are."""
    home = make_home("postgresql", tmp_path_factory.mktemp("crowded"), FakeClock())
    asyncio.run(home.outbox.apply())
    for columns, values in (
        ("dispatched_at", "now() - n * interval '1 s'"),
        ("tries", "0"),
        ("order_key", "'key-' || n % 10"),
        ("next_try_at, tries", "now() + interval '1 h', 1"),
    ):
        home.run(
            f"insert into penstock_outbox (id, destination, jobs, {columns}) "
            f"select gen_random_uuid(), '{home.destination}', '[]', {values} "
            f"from generate_series(1, {MANY}) n"
        )
    with psycopg.connect(home.url, autocommit=True) as connection:
        connection.execute("vacuum analyze penstock_outbox")
    return home


def plan(home: Home, name: str, **values: Any) -> str:
    """The plan of a statement in a session like the relay's, run and rolled back."""
    explain = f"explain (analyze, costs off, timing off, summary off) {sql('postgresql')[name]}"
    with psycopg.connect(home.url, options="-c enable_seqscan=off") as connection:
        rows = connection.execute(
            explain.encode(), {"now": None, "destination": home.destination, **values}
        ).fetchall()
        connection.rollback()
    return "\n".join(line for (line,) in rows)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("take", {"limit": 500, "bytes": 10**6}),
        ("order_keys", {"after": "", "limit": 200}),
        ("take_in_order", {"keys": [f"key-{n}" for n in range(10)], "limit": 500, "bytes": 10**6, "run": 50}),
        ("mark", {"seqs": list(range(MANY + 1, MANY + 501))}),
        ("prune", {"older_than": 3_600, "limit": 500}),
        ("refused", {"limit": 20}),
    ],
)
def test_no_statement_of_a_relay_touches_more_rows_than_it_takes(
    crowded: Home, name: str, values: dict[str, Any]
) -> None:
    text = plan(crowded, name, **values)
    assert "Seq Scan on penstock_outbox" not in text
    removed = r"Rows Removed by (?:Filter|Index Recheck): (\d+)"
    found = re.findall(rf"actual rows=([\d.]+) loops=(\d+)|{removed}", text)
    touched = [int(other) if other else float(rows) * int(loops) for rows, loops, other in found]
    assert max(touched) <= 1_000, text


def test_ids_are_unique(home: Home) -> None:
    them = jobs(3)
    home.write(*them, *jobs(1))
    home.write(*them)
    rows = home.run("select id::text from penstock_outbox order by seq")
    assert [row_id for (row_id,) in rows][:3] == ids(them)
    assert len(rows) == 4
