"""`app.table` and what belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack

from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.table.declared import Table, make_table
from penstock.table.options import TableOptions
from penstock.tasks.inherit import policy

if TYPE_CHECKING:
    from penstock.model.clock import Clock
    from penstock.table.context import RowContext, SyncRowContext
    from penstock.table.row import Row
    from penstock.table.store import Store
    from penstock.table.values import Output
    from penstock.table.worker import TableWorker
    from penstock.tasks.settings import Settings

AsyncHandler: TypeAlias = "Callable[[RowContext, Row], Coroutine[Any, Any, Output]]"
SyncHandler: TypeAlias = "Callable[[SyncRowContext, Row], Output]"
Handler = TypeVar("Handler", bound="AsyncHandler | SyncHandler")


class Tabling:
    """The part of an app that works on the user's own tables."""

    url: str
    settings: Settings
    _clock: Clock
    _tables: dict[str, Table]

    def table(self, table: str, /, **options: Unpack[TableOptions]) -> Callable[[Handler], Handler]:
        """Work on the rows of a table of yours: `async def process(ctx, row)`, or a plain `def`.

        What the handler returns, a mapping, becomes the row's output: a row of `output` whose `source_column`
        is the row's id, written together with the row's completion. `batch` rows are claimed at once, ordered
        by `order_by`, and `concurrency` of them run at once, as many as are claimed unless given. `poll` is
        the time between looks, and `wake` makes PostgreSQL tell of new rows. A row that was started longer
        ago than `stuck_after` is taken back, `max_stuck` times at most. `retry` is what errors lead to, as of
        a task. `url` and `schema` say where the table is, if not in the engine's database.
        """
        chosen = policy(options.get("retry"), self.settings.default_retry)

        def register(handler: Handler) -> Handler:
            made = make_table(table, handler, options, chosen)
            made.at(self.url)
            if made.name in self._tables:
                raise InvalidOption(f"table {made.name!r} is declared already; give one of them a name=")
            self._tables[made.name] = made
            return handler

        return register

    @property
    def tables(self) -> Mapping[str, Table]:
        """Every declared table, by name."""
        return MappingProxyType(self._tables)

    def table_store(self, table: Table) -> Store:
        """The rows of a declared table, to be closed by the caller."""
        from penstock.table.opening import open_store  # noqa: PLC0415 - when a table is in use

        return open_store(table, self.url, self._clock)

    def table_worker(
        self, tables: Iterable[str] | None = None, *, grace: Duration | None = None
    ) -> TableWorker:
        """Work on the rows of these tables, all unless given: `async with app.table_worker():`."""
        from penstock.table.worker import TableWorker  # noqa: PLC0415 - as above

        chosen = [self.declared_table(name) for name in (self._tables if tables is None else tables)]
        seconds = self.settings.grace if grace is None else in_seconds("grace", grace)
        return TableWorker(chosen, self.table_store, seconds)

    def declared_table(self, name: str) -> Table:
        """The table of this name; InvalidOption where none is declared under it."""
        if name not in self._tables:
            known = ", ".join(self._tables) or "none"
            raise InvalidOption(f"no table {name!r} is declared with @app.table; there is: {known}")
        return self._tables[name]
