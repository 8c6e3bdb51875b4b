"""A user whose orders and jobs live in one database: to each order its job, and no job without its order."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any, NamedTuple

import psycopg

from conformance.kit import Place
from lent_kit import User
from penstock import JobHandle, Penstock

TABLE = "create table orders (id integer primary key)"


class Shop:
    """The app; `shipped` counts what its handler did in this process."""

    def __init__(self, place: Place) -> None:
        url = f"sqlite:///{place.address}" if place.kind == "sqlite" else place.address
        self.app = app = Penstock(url, schema=place.schema or None)
        self.shipped: Counter[int] = Counter()

        app.queue("orders", keep_completed=None)

        @app.task(queue="orders")
        async def ship(order: int) -> None:
            self.shipped[order] += 1

        self.ship = ship

    async def order(self, user: User, number: int, key: str | None = None) -> JobHandle[None]:
        """Put the job in and write the order, unless another order holds the key; in his transaction."""
        job = await self.ship.using(connection=user.raw, key=key).aenqueue(number)
        if not job.duplicate:
            await user.execute(f"insert into orders values ({number})")
        return job


class Seen(NamedTuple):
    """What the database holds at one moment: orders, and how many jobs each has."""

    orders: set[int]
    jobs: Counter[int]

    @property
    def differences(self) -> set[int]:
        """Orders without a job, jobs without an order, and orders with two."""
        return {n for n in self.orders | set(self.jobs) if self.jobs[n] != (n in self.orders)}


def make_table(place: Place) -> None:
    with closing(_connect(place)) as connection, connection:
        connection.execute("drop table if exists orders")
        connection.execute(TABLE)


def see(place: Place) -> Seen:
    """In one snapshot."""
    prefix = "penstock_" if place.kind == "sqlite" else f"{place.schema}."
    with closing(_connect(place)) as connection:
        connection.execute(
            "begin" if place.kind == "sqlite" else "set transaction isolation level repeatable read"
        )
        orders = {row[0] for row in connection.execute("select id from orders").fetchall()}
        jobs = connection.execute(
            f"select args from {prefix}jobs union all select args from {prefix}finished"
        ).fetchall()
    return Seen(orders, Counter(json.loads(args)["order"] for (args,) in jobs))


def _connect(place: Place) -> Any:
    return sqlite3.connect(place.address) if place.kind == "sqlite" else psycopg.connect(place.address)
