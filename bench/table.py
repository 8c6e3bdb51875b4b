"""The figures as a table for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from bench.bars import bars_of
from bench.samples import OURS, RAW, Samples

_UNITS = {"pick-up": "ms", "idle, CPU": "%", "idle, server": "/s", "memory": "MB", "import": "ms"}
_WORDS = {True: "[green]holds[/]", False: "[red]misses[/]", None: "[dim]not measured[/]"}


def show(samples: Samples, console: Console) -> None:
    table = Table(title=f"{samples.engine}: medians; rates in jobs per second", title_justify="left")
    for column in ("", "Penstock", "raw limit", "of raw", "peers", "× peer", "bar", ""):
        table.add_column(column, justify="left" if column in ("", "bar", "peers") else "right")
    for what in samples.of(OURS):
        ours = samples.get(OURS, what)
        assert ours is not None
        raw = samples.get(RAW, what)
        peers = list(samples.peers(what))
        bars = bars_of(samples.engine, what)
        table.add_row(
            what,
            _figure(what, ours),
            _figure(what, raw) if raw else "",
            f"{ours / raw:.2f}" if raw else "",
            "\n".join(f"{name} {_figure(what, value)}" for name, value in peers),
            "\n".join(f"{ours / value:.1f}" for _, value in peers if value),
            "\n".join(bar.text for bar in bars),
            "\n".join(_WORDS[bar.holds(samples)] for bar in bars),
        )
    console.print(table)
    for note in samples.notes:
        console.print(note)


def _figure(what: str, value: float) -> str:
    unit = next((unit for start, unit in _UNITS.items() if what.startswith(start)), "")
    if unit:
        return f"{value:.1f} {unit}"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"
