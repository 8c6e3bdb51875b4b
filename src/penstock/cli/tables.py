"""Tables of the user's own: what they need, how far they are, and work on them alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

import typer

from penstock.app import Penstock
from penstock.cli.common import AppOption, JsonOption, command, load
from penstock.cli.output import counted, print_json, print_plain, print_table, say
from penstock.cli.work import FormatOption, LevelOption, configure_logs
from penstock.model.errors import ActionRefused, EngineError, InvalidOption
from penstock.runtime import signals
from penstock.table.declared import Table
from penstock.table.migration import Step, check_ready, plan
from penstock.table.store import Store
from penstock.table.tally import EXACT, tallies
from penstock.table.values import Refused, Tally

HELP = "Work on tables of your own: what they need, how far they are."

T = TypeVar("T")
NameArgument = Annotated[str | None, typer.Argument(help="A declared table; all unless given")]
NamesArgument = Annotated[list[str] | None, typer.Argument(help="Declared tables; all unless given")]
ConcurrentlyOption = Annotated[
    bool, typer.Option("--concurrently", help="PostgreSQL: build indexes without keeping writers out")
]

group = typer.Typer(no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="table", help=HELP, rich_help_panel="Act")


@group.command("plan")
def show_plan(
    name: NameArgument = None,
    app: AppOption = None,
    concurrently: ConcurrentlyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the SQL that tables still need: columns, indexes; nothing is changed."""
    found = _each(app, name, lambda store: _plan(store, concurrently))
    if as_json:
        print_json([_steps_json(table, steps) for table, steps in found])
        return
    for table, steps in found:
        print_plain(_script(table, steps))


@group.command("apply")
def apply(
    name: NameArgument = None,
    app: AppOption = None,
    concurrently: ConcurrentlyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make what tables still need: columns, indexes."""
    found = _each(app, name, lambda store: _apply(store, concurrently))
    if as_json:
        print_json([_steps_json(table, steps) for table, steps in found])
        return
    for table, steps in found:
        done = counted(len(steps), "change") if steps else "nothing was missing"
        say(f"{table.name}: {done}. Work on it: {command('worker', app)}")


@group.command("status")
def status(name: NameArgument = None, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Count the rows of tables by status, the stuck and the oldest queued ones.

    Of a table of more than 10,000 rows the numbers are estimates, where no index tells them; that is said.
    """
    found = _each(app, name, _tallies)
    if as_json:
        print_json([_json(table, by_status) for table, by_status in found])
        return
    rows = [
        (table.name, tally.status or "(none)", _rows(tally), _note(table, tally))
        for table, by_status in found
        for tally in by_status
    ]
    print_table(("table", "status", "rows", ""), rows, "No rows.")


@group.command("work")
def work(
    names: NamesArgument = None,
    app: AppOption = None,
    grace: Annotated[float | None, typer.Option(min=0, help="Seconds running rows get to finish")] = None,
    log_level: LevelOption = "info",
    log_format: FormatOption = "console",
) -> None:
    """Work on the rows of tables, and on nothing else, in this one process.

    Ctrl-C or SIGTERM drains; a second one hands running rows back at once.
    """
    configure_logs(log_level, log_format)
    found = load(app)
    _declared(found, None)
    asyncio.run(work_on(found, names, grace))
    signals.ignore()


async def work_on(app: Penstock, names: list[str] | None = None, grace: float | None = None) -> None:
    """Until a signal asks to end."""
    worker = app.table_worker(names or None, grace=grace)
    told = 0

    def stop() -> None:
        nonlocal told
        told += 1
        worker.drain(now=told > 1)

    signals.answer_by(stop)
    await worker.run()


def _declared(app: Penstock, name: str | None) -> list[Table]:
    if name is not None:
        return [app.declared_table(name)]
    if not app.tables:
        raise InvalidOption("no table is declared; declare one with @app.table(NAME, output=…)")
    return list(app.tables.values())


def _each(ref: str | None, name: str | None, ask: Callable[[Store], T]) -> list[tuple[Table, T]]:
    app = load(ref)
    answers = []
    for table in _declared(app, name):
        store = app.table_store(table)
        try:
            answers.append((table, ask(store)))
        finally:
            store.close()
    return answers


def _plan(store: Store, concurrently: bool) -> list[Step]:
    return plan(store.table, store.shape(), store.dialect, concurrently=concurrently)


def _apply(store: Store, concurrently: bool) -> list[Step]:
    steps = _plan(store, concurrently)
    try:
        store.apply([step.sql for step in steps], together=not concurrently)
    except Refused as error:
        raise ActionRefused(f"{error}; find what is there twice with: {_twice(store.table)}") from error
    except EngineError as error:
        raise type(error)(
            f"{error}; see what was to be done: penstock table plan {store.table.name}"
        ) from error
    return steps


def _twice(table: Table) -> str:
    column = f'"{table.source_column}"'
    return f'select {column}, count(*) from "{table.output}" group by 1 having count(*) > 1'  # noqa: S608


def _tallies(store: Store) -> list[Tally]:
    shape = store.shape()
    check_ready(store.table, shape, store.dialect)
    store.prepare(shape)
    return tallies(store)


def _script(table: Table, steps: list[Step]) -> str:
    if not steps:
        return f"-- {table.name}: nothing is missing\n"
    return "\n".join(f"-- {table.name}: {step.why}\n{step.sql};\n" for step in steps)


def _steps_json(table: Table, steps: list[Step]) -> dict[str, Any]:
    return {"table": table.name, "steps": [asdict(step) for step in steps]}


def _rows(tally: Tally) -> str:
    return f"about {tally.rows:,}" if tally.about else f"{tally.rows:,}"


def _up_to(count: int) -> str:
    return f"{count:,}" if count <= EXACT else f"more than {EXACT:,}"


def _note(table: Table, tally: Tally) -> str:
    parts = []
    if tally.stuck:
        parts.append(f"{_up_to(tally.stuck)} stuck")
    if tally.delayed:
        parts.append(f"{_up_to(tally.delayed)} wait for their next attempt")
    if tally.status == table.words.queued and tally.first is not None:
        parts.append(f"first: {tally.first}")
    return ", ".join(parts)


def _json(table: Table, by_status: list[Tally]) -> dict[str, Any]:
    queued = next((t for t in by_status if t.status == table.words.queued), None)
    return {
        "table": table.name,
        "counts": {str(t.status): t.rows for t in by_status},
        "estimated": [str(t.status) for t in by_status if t.about],
        "stuck": sum(t.stuck for t in by_status),
        "delayed": sum(t.delayed for t in by_status),
        "oldest_queued": None if queued is None else queued.first,
    }
