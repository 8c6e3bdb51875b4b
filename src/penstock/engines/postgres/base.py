"""What every part of the engine stands on: a database, its statements and a clock."""

from __future__ import annotations

from typing import Any

from penstock.engines.postgres.address import check_hosts
from penstock.engines.postgres.catalog import catalog
from penstock.engines.postgres.database import Call, Database
from penstock.engines.postgres.pool import Pool
from penstock.engines.postgres.straight import Rows
from penstock.model.clock import Clock
from penstock.model.names import check_schema


class Base:
    """One schema of a database."""

    def __init__(self, url: str, schema: str, clock: Clock, pool_size: int) -> None:
        self.schema = check_schema(schema)
        self._sql = catalog(schema)
        self._clock = clock
        self._pool = Pool(url, pool_size)
        check_hosts(url)
        self._database = Database(self._pool)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._pool.address}, schema={self.schema!r})"

    async def _do(self, statement: str, /, **values: Any) -> Rows:
        """Run one statement that may be run twice without harm."""
        call = Call(self._sql[statement], {"now": self._clock.now(), **values})
        (rows,) = await self._database.run(call, repeatable=True)
        return rows

    async def _count(self, statement: str, /, **values: Any) -> int:
        count: int = (await self._do(statement, **values))[0][0]
        return count
