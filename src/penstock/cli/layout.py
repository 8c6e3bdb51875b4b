"""Columns that never wrap a cell: ids stay whole, whatever the width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

GAP = 2
LEAST = 24  # columns that the last cell must have to stay on its row


class Layout:
    """A header and rows, fitted into `room` columns; None is no limit."""

    def __init__(self, header: Sequence[Text], rows: Sequence[Sequence[Text]], room: int | None) -> None:
        self._table = [list(header), *(list(row) for row in rows)]
        self._room = room

    def drop(self, name: str) -> None:
        """Leave a column out where the row would not fit with it."""
        header = [cell.plain for cell in self._table[0]]
        if name in header and not self._fits():
            at = header.index(name)
            for row in self._table:
                del row[at]

    def lines(self) -> Iterator[Text]:
        apart = not self._last_fits()
        widths = self._widths()
        for row in self._table:
            *cells, last = row
            line = Text()
            for cell, width in zip(cells, widths, strict=True):
                line.append_text(_padded(cell, width)).append(" " * GAP)
            if not apart:
                line.append_text(self._cut(last, len(line)))
            line.rstrip()
            yield line
            if apart and last.plain and row is not self._table[0]:
                yield Text("  ").append_text(self._cut(last, GAP))

    def _widths(self) -> list[int]:
        """Of every column but the last, which takes what is left."""
        return [max(cell.cell_len for cell in column) for column in list(zip(*self._table, strict=True))[:-1]]

    def _taken(self) -> int:
        return sum(width + GAP for width in self._widths())

    def _longest(self) -> int:
        return max(row[-1].cell_len for row in self._table)

    def _fits(self) -> bool:
        """Whether a row fits, its last cell aside."""
        return self._room is None or self._taken() - GAP <= self._room

    def _last_fits(self) -> bool:
        return self._room is None or self._taken() + min(self._longest(), LEAST) <= self._room

    def _cut(self, cell: Text, taken: int) -> Text:
        cell = cell.copy()
        cell.plain = " ".join(cell.plain.split())
        if self._room is not None:
            cell.truncate(max(1, self._room - taken), overflow="ellipsis")
        return cell


def _padded(cell: Text, width: int) -> Text:
    room = " " * (width - cell.cell_len)
    return Text(room).append_text(cell) if cell.justify == "right" else cell.copy().append(room)
