"""A plain table: columns by name, exact numbers, CSV in and out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import ResultsError

if TYPE_CHECKING:
    import numpy as np

Cell = float | int | str | None
"""A number, a word, or nothing (an interval where a value is exact, a metric that is undefined)."""


@dataclass
class Table:
    """Rows under named columns."""

    columns: list[str]
    rows: list[list[Cell]] = field(default_factory=list)

    @classmethod
    def of(cls, columns: Sequence[str], records: Iterable[Mapping[str, Cell]]) -> Table:
        """A table of records; a column that a record lacks stays empty there."""
        return cls(list(columns), [[record.get(column) for column in columns] for record in records])

    def records(self) -> list[dict[str, Cell]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def cells(self, name: str) -> list[Cell]:
        """One column, top to bottom; ``ResultsError`` names the nearest of the columns there are."""
        if name not in self.columns:
            raise ResultsError(f"column {name}: not in the table ({self.suggestion(name)})")
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def suggestion(self, name: str = "") -> str:
        """The columns that may have been meant, else the first ones; intervals go without saying."""
        names = [column for column in self.columns if not column.endswith("ci95")]
        meant = [column for column in names if name and column.rsplit(".", 1)[-1] == name.rsplit(".", 1)[-1]]
        meant = (meant or get_close_matches(name, names, n=3, cutoff=0.6))[:5]
        if meant:
            return f"did you mean {' or '.join(meant)}?"
        return f"columns: {', '.join(names[:12])}" + (f", ... {len(names) - 12} more" * (len(names) > 12))

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """One column as a numpy array: of float (NaN for empty cells) where it is numeric, else of object."""
        import numpy as np  # here, so that commands which need no arrays start without it

        cells = self.cells(name)
        if all(cell is None or isinstance(cell, int | float) for cell in cells):
            return np.array([np.nan if cell is None else float(cell) for cell in cells])
        return np.array(cells, dtype=object)

    def to_csv(self) -> str:
        """CSV text. A number is written in the shortest form that reads back as the same number."""
        lines: list[Sequence[Cell]] = [self.columns, *self.rows]
        return "".join(csv_line(line) + "\n" for line in lines)

    @classmethod
    def from_csv(cls, text: str, name: str = "table") -> Table:
        """The table of a CSV text with a header line; ``name`` stands in the error message."""
        try:
            lines = list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True))
        except csv.Error as error:
            raise ResultsError(f"{name}: not a CSV table ({error})") from None
        if not lines or not lines[0] or not all(lines[0]):
            raise ResultsError(f"{name}: not a CSV table (no header line)")
        header = lines[0]
        for column in header:
            if header.count(column) > 1:
                raise ResultsError(f"{name}: not a results table (column {column} stands twice)")
        rows = []
        for number, line in enumerate(lines[1:], start=2):
            if not line:  # a blank line, as editors leave at the end
                continue
            if len(line) != len(header):
                raise ResultsError(f"{name}:{number}: {len(line)} cells, expected {len(header)}")
            rows.append([_read(cell) for cell in line])
        return cls(header, rows)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Table:
        """The table in a CSV file."""
        from crossfade.files import read_text

        return cls.from_csv(read_text(Path(path), ResultsError), str(path))


def csv_line(cells: Iterable[Cell]) -> str:
    """Cells as a line of CSV, without the end of the line."""
    return ",".join(_quote(_write(cell)) for cell in cells)


def _write(cell: Cell) -> str:
    if cell is None:
        return ""
    return repr(cell) if isinstance(cell, float) else str(cell)


def _quote(text: str) -> str:
    # The csv module writes a lone carriage return without quotes and then cannot read it.
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def _read(text: str) -> Cell:
    if text == "":
        return None
    if text != text.strip() or "_" in text:  # Python would read these as numbers too; nobody else does
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
