"""Plain tables: named columns, exact numbers, CSV input and output."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import ResultsError, shortened

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Cell = float | int | str | None
"""A number, a word, or nothing (an interval where a value is exact, a metric that is undefined)."""

ENOUGH_RUNS = 5
"""Number of runs from which a 95 % interval is shown; with fewer its ends are unreliable."""
EACH_RUN = "_each_run"
"""Suffix of the column that has a metric in each run, as words, in tables that figures are drawn of."""

# Cells that a spreadsheet would take for a formula (https://owasp.org/www-community/attacks/CSV_Injection),
# and such cells after they were marked with an apostrophe.
_FORMULA = re.compile("'*[=+@\t\r-]")
_MARKED = re.compile("'+[=+@\t\r-]")
# Numbers with or without a unit (-5 dB), which are not formulas.
_QUANTITY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?( ?[A-Za-zµ%]+(/[A-Za-z]+)?)?")


@dataclass
class Table:
    """Table of rows under named columns, with exact numbers; a notebook shows it.

    Attributes
    ----------
    columns : list of str
        Names of the columns.
    rows : list of list
        One list per row: numbers, text, or None for an empty cell.

    Examples
    --------
    >>> import crossfade as cf
    >>> table = cf.store.Table(["P_E", "goodput"], [[0.01, 2.5], [0.1, None]])
    >>> table.to_pandas()["goodput"].isna().tolist()
    [False, True]
    """

    columns: list[str]
    rows: list[list[Cell]] = field(default_factory=list)

    @classmethod
    def of(cls, columns: Sequence[str], records: Iterable[Mapping[str, Cell]]) -> Table:
        """A table from mappings, one per row.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns.
        records : iterable of mapping
            Mappings from column to value, one per row; a column that is missing from one gives an empty cell.

        Returns
        -------
        Table
        """
        return cls(list(columns), [[record.get(column) for column in columns] for record in records])

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Table:
        """The table of a pandas DataFrame.

        Parameters
        ----------
        frame : pandas.DataFrame
            Source of the columns and rows; a missing value becomes an empty cell.

        Returns
        -------
        Table

        Raises
        ------
        ResultsError
            If ``frame`` is not a DataFrame.
        """
        if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
            raise ResultsError(f"{shortened(repr(frame))}: must be results, a DataFrame, a table or a path")
        if frame.index.nlevels > 1 or any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        rows = [[_of_frame(cell) for cell in row] for row in frame.itertuples(index=False, name=None)]
        return cls([str(name) for name in frame.columns], rows)

    def to_pandas(self) -> pd.DataFrame:
        """A pandas DataFrame, with a missing value for each empty cell.

        Returns
        -------
        pandas.DataFrame
            Columns are of ``int64`` (``Int64`` with empty cells), of ``float64``, or of objects.
        """
        import pandas as pd  # pandas is slow to import

        def column(cells: list[Cell]) -> Any:
            kinds = {type(cell) for cell in cells}
            if kinds == {int, type(None)}:
                return pd.array(cells, dtype="Int64")
            if float in kinds and kinds <= {int, float, type(None)}:
                return pd.Series(cells, dtype="float64")
            return pd.Series(cells, dtype=object if str in kinds or kinds == {type(None)} else None)

        places = range(len(self.columns))
        cells = [[row[place] for row in self.rows] for place in places]
        return pd.DataFrame({name: column(of) for name, of in zip(self.columns, cells, strict=True)})

    def _repr_html_(self) -> str:
        return str(self.to_pandas()._repr_html_())

    def records(self) -> list[dict[str, Cell]]:
        """The rows as dictionaries.

        Returns
        -------
        list of dict
            One dictionary per row, from column to cell.
        """
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def cells(self, name: str) -> list[Cell]:
        """Cells of one column, from top to bottom.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        list
            Numbers, text, or None for an empty cell.

        Raises
        ------
        ResultsError
            If there is no such column; the message names the nearest.
        """
        if name not in self.columns:
            raise ResultsError(f"column {shortened(name)}: not in the table ({self.suggestion(name)})")
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def suggestion(self, name: str = "") -> str:
        """Columns similar to a name, otherwise the first ones, as text for a message; columns of intervals
        are left out.

        Parameters
        ----------
        name : str
            Name that was asked for.

        Returns
        -------
        str
            Part of a message.
        """
        names = [column for column in self.columns if "ci95" not in column]
        meant = [column for column in names if name and column.rsplit(".", 1)[-1] == name.rsplit(".", 1)[-1]]
        meant = (meant or get_close_matches(name, names, n=3, cutoff=0.6))[:5]
        if meant:
            return f"did you mean {shortened(' or '.join(meant))}?"
        return f"columns: {shortened(', '.join(names[:12]))}" + (
            f", ... {len(names) - 12} more" * (len(names) > 12)
        )

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """One column as an array.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        numpy.ndarray
            One value per row: floats (NaN for empty cells) for a numeric column, otherwise objects.

        Raises
        ------
        ResultsError
            If there is no such column.
        """
        import numpy as np  # here, so that commands which need no arrays start without it

        cells = self.cells(name)
        if all(cell is None or isinstance(cell, int | float) for cell in cells):
            return np.array([np.nan if cell is None else float(cell) for cell in cells])
        return np.array(cells, dtype=object)

    def to_csv(self) -> str:
        """The table as CSV text, with each number in the shortest form that reads back exactly.

        Text that a spreadsheet would take for a formula gets an apostrophe in front, which :meth:`from_csv`
        removes.

        Returns
        -------
        str
            CSV text; the first line has the names of the columns.
        """
        lines: list[Sequence[Cell]] = [self.columns, *self.rows]
        return "".join(csv_line(line) + "\n" for line in lines)

    @classmethod
    def from_csv(cls, text: str, name: str = "table") -> Table:
        """The table of CSV text with a header line.

        Parameters
        ----------
        text : str
            CSV text.
        name : str
            Name of the source for error messages.

        Returns
        -------
        Table

        Raises
        ------
        ResultsError
            If the text is no table; the message names the line.
        """
        header, lines = csv_lines(io.StringIO(text), name)
        return cls(header, [[read_cell(cell) for cell in line] for line in lines])

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Table:
        """The table in a CSV file.

        Parameters
        ----------
        path : path
            CSV file, which may be compressed (``.gz``).

        Returns
        -------
        Table

        Raises
        ------
        ResultsError
            If the file cannot be read, or holds no table.
        """
        from crossfade.files import read_text

        return cls.from_csv(read_text(Path(path), ResultsError), str(path))


def csv_lines(text: Iterable[str], name: str) -> tuple[list[str], Iterator[list[str]]]:
    """Names of the columns of CSV text given line by line, and an iterator over its rows as lists of text."""
    lines = _csv_lines(text, name)
    header = [fused(cell) for cell in next(lines, [])]
    if not header or not all(header):
        raise ResultsError(f"{name}: not a CSV table (no header line)")
    if len(header) == 1 and " " in header[0].strip():
        raise ResultsError(f"{name}: not a CSV table (its first line is {shortened(header[0])})")
    seen: set[str] = set()
    for column in header:
        if column in seen:
            raise ResultsError(f"{name}: not a results table (column {shortened(column)} stands twice)")
        seen.add(column)
    return header, _whole_lines(lines, len(header), name)


def _csv_lines(text: Iterable[str], name: str) -> Iterator[list[str]]:
    def unmarked() -> Iterator[str]:
        lines = iter(text)
        for first in lines:
            yield first.removeprefix("\ufeff")
            break
        yield from lines

    try:
        yield from csv.reader(unmarked(), strict=True)
    except csv.Error as error:
        raise ResultsError(f"{name}: not a CSV table ({error})") from None


def _whole_lines(lines: Iterator[list[str]], columns: int, name: str) -> Iterator[list[str]]:
    for number, line in enumerate(lines, start=2):
        if len(line) == columns:
            yield line
        elif line:  # a blank line, as editors leave at the end, is allowed
            raise ResultsError(f"{name}:{number}: {len(line)} cells, expected {columns}")


def _of_frame(cell: Any) -> Cell:
    """A value of a DataFrame as a cell; a missing one becomes None."""
    found = cell.item() if hasattr(cell, "item") else cell
    if type(found).__name__ in ("NAType", "NaTType") or found != found:
        return None
    return label(found) if found is None or isinstance(found, str | int | float) else str(found)


def csv_line(cells: Iterable[Cell]) -> str:
    """Cells as a line of CSV, without a line break."""
    return ",".join(_quote(_write(cell)) for cell in cells)


def label(value: Any) -> Cell:
    """An axis value as one cell: a table of keys becomes ``markov fd_t=0.01``, a list its items with
    spaces.
    """
    if isinstance(value, Mapping):
        rest = [f"{key}={label(item)}" for key, item in value.items() if key != "model"]
        return " ".join([*([str(value["model"])] if "model" in value else []), *rest])
    if isinstance(value, list):
        return " ".join(str(label(item)) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, int | float | str):
        return value
    raise TypeError(f"no label for {value!r}")


LOPSIDED = 1.5
"""Factor by which an interval exceeds Student's half-width on one side from which on its two ends are
shown.
"""


def ends_shown(
    value: float, ci95: float | None, low: float | None, high: float | None
) -> tuple[float, float] | None:
    """Ends of an interval to show in place of ``value ± ci95``; None if ``value ± ci95`` describes it.

    Ends are shown for rare events, for skewed runs, and for an interval cut at a bound of its metric (0, or 1
    for a share).
    """
    if low is None or high is None or not low < high:
        return None
    sides = sorted([value - low, high - value])
    # Only a cut interval is narrower than Student's on one side.
    lopsided = ci95 is None or sides[1] > LOPSIDED * ci95 or sides[0] < ci95 * (1 - 1e-9)
    return (low, high) if lopsided or value in (low, high) else None


def format_estimate(
    value: float | None,
    ci95: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    at_least: bool = False,
) -> str:
    """A value as text, with as many digits as its interval justifies: two digits of the half-width.

    A lower bound (``at_least``) is shown with that of its interval: ``at least 12.1 (> 11.8)``. If the
    interval differs much from ``value ± ci95``, its ends are shown: for rare events, shares near 0 or 1, and
    skewed runs. If no event was seen, only one end is shown.
    """
    if value is None:
        return "-"
    if at_least or (low is not None and high is None):
        sign = "at least " if at_least else ""
        if low is None or value - low <= 0.0:
            return f"{sign}{value:.4g}"
        digits = max(0, 1 - _exponent(value - low))
        return f"{sign}{value:,.{digits}f} (> {low:,.{digits}f})"
    if ends := ends_shown(value, ci95, low, high):
        if ends[0] == value:
            return f"{value:.6g} (< {ends[1]:.2g})"
        if ends[1] == value:
            return f"{value:.6g} (> {ends[0]:.2g})"
        digits = max(0, 1 - _exponent(ends[1] - ends[0]))
        low_text, high_text = (f"{end:,.{digits}f}" for end in ends)
        return f"{value:,.{digits}f} ({low_text} to {high_text})"
    if ci95 is None:
        return f"{value:.6g}"
    if ci95 == 0.0:
        return f"{value:.6g} ± 0"
    decimals = max(0, 1 - _exponent(ci95))
    return f"{value:,.{decimals}f} ± {ci95:,.{decimals}f}" if decimals <= 9 else f"{value:.6g} ± {ci95:.2g}"


def _exponent(number: float) -> int:
    return int(f"{number:.1e}".split("e")[1])


def _write(cell: Cell) -> str:
    if cell is None:
        return ""
    return repr(cell) if isinstance(cell, float) else defused(cell) if isinstance(cell, str) else str(cell)


def defused(text: str) -> str:
    """Text as a CSV cell: if a spreadsheet would evaluate it as a formula, an apostrophe is put in front."""
    return f"'{text}" if _FORMULA.match(text) and not _QUANTITY.fullmatch(text) else text


def fused(cell: str) -> str:
    """The text from which :func:`defused` made a cell."""
    return cell[1:] if _MARKED.match(cell) and not _QUANTITY.fullmatch(cell[1:]) else cell


def _quote(text: str) -> str:
    # Python's csv module writes a lone carriage return without quotes, and then cannot read it.
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def read_cell(text: str) -> Cell:
    """Number or text in a CSV cell; None if it is empty."""
    if text == "":
        return None
    if text != text.strip() or "_" in text:  # only Python reads numbers with spaces or underscores
        return fused(text)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return fused(text)
