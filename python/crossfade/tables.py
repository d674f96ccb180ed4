"""A plain table: columns by name, exact numbers, CSV in and out."""

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

# What spreadsheets take for a formula (https://owasp.org/www-community/attacks/CSV_Injection); and how such
# cells are marked.
_FORMULA = re.compile("'*[=+@\t\r-]")
_MARKED = re.compile("'+[=+@\t\r-]")
# A number with or without its unit (-5 dB) is none.
_QUANTITY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?( ?[A-Za-zµ%]+(/[A-Za-z]+)?)?")


@dataclass
class Table:
    """Table of rows under named columns, with exact numbers; a notebook shows it.

    Attributes
    ----------
    columns : list of str
        Names of the columns.
    rows : list of list
        A list a row: numbers, words, or None where there is nothing.

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
        """A table of records.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns.
        records : iterable of mapping
            A mapping a row; a column that a record lacks stays empty there.

        Returns
        -------
        Table
        """
        return cls(list(columns), [[record.get(column) for column in columns] for record in records])

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Table:
        """The table of a DataFrame of pandas.

        Parameters
        ----------
        frame : pandas.DataFrame
            What is missing there is an empty cell.

        Returns
        -------
        Table

        Raises
        ------
        ResultsError
            If it is no DataFrame.
        """
        if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
            raise ResultsError(f"{shortened(repr(frame))}: must be results, a DataFrame, a table or a path")
        if frame.index.nlevels > 1 or any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        rows = [[_of_frame(cell) for cell in row] for row in frame.itertuples(index=False, name=None)]
        return cls([str(name) for name in frame.columns], rows)

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame of pandas, with a missing value in each empty cell.

        Returns
        -------
        pandas.DataFrame
            Columns are of ``int64`` (``Int64`` with empty cells), of ``float64``, or of objects.
        """
        import pandas as pd  # it takes a while to load

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
            A dictionary a row.
        """
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def cells(self, name: str) -> list[Cell]:
        """One column, top to bottom.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        list
            Numbers, words, or None where there is nothing.

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
        """The columns that may have been meant, else the first ones; intervals go without saying.

        Parameters
        ----------
        name : str
            What was asked for.

        Returns
        -------
        str
            A part of a message.
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
            A value a row; of float (NaN for empty cells) where it is numeric, else of object.

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
        """CSV text. A number is written in the shortest form that reads back as the same number.

        A word that a spreadsheet would take for a formula has an apostrophe before it, which :meth:`from_csv`
        takes away again.

        Returns
        -------
        str
            Lines of CSV, with names at first.
        """
        lines: list[Sequence[Cell]] = [self.columns, *self.rows]
        return "".join(csv_line(line) + "\n" for line in lines)

    @classmethod
    def from_csv(cls, text: str, name: str = "table") -> Table:
        """The table of a CSV text with a header line.

        Parameters
        ----------
        text : str
            Lines of CSV.
        name : str
            What stands in the error message.

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
            The file.

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
    """The names of the columns of a CSV text that comes line by line, and its rows as they are written."""
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
        elif line:  # not a blank line, as editors leave at the end
            raise ResultsError(f"{name}:{number}: {len(line)} cells, expected {columns}")


def _of_frame(cell: Any) -> Cell:
    """A value of a DataFrame as a cell."""
    found = cell.item() if hasattr(cell, "item") else cell
    if type(found).__name__ in ("NAType", "NaTType") or found != found:
        return None
    return label(found) if found is None or isinstance(found, str | int | float) else str(found)


def csv_line(cells: Iterable[Cell]) -> str:
    """Cells as a line of CSV, without the end of the line."""
    return ",".join(_quote(_write(cell)) for cell in cells)


def label(value: Any) -> Cell:
    """An axis value as one cell: a table of keys becomes ``markov fd_t=0.01``, a list its items."""
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
"""An interval that reaches so many times further than Student's on one side is shown by its ends."""


def ends_shown(
    value: float, ci95: float | None, low: float | None, high: float | None
) -> tuple[float, float] | None:
    """The ends of the interval that people see, where it is not ``value ± ci95``, otherwise None.

    They are those of rare events, of skewed runs, and of what ends where no metric can be (below 0, a
    share above 1).
    """
    if low is None or high is None or not low < high:
        return None
    sides = sorted([value - low, high - value])
    # An interval is nowhere narrower than Student's, unless it was cut.
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
    """A value for a person: as many digits as its interval is worth (two of the interval's own).

    A lower bound (``at_least``) is told with that of its interval: ``at least 12.1 (> 11.8)``. Where the
    interval is not much like ``value ± ci95``, its ends are given: those of rare events, shares at their
    ceiling and skewed runs. Of nothing seen it has one end.
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
    """A word as a cell of CSV: one that a spreadsheet would compute has an apostrophe before it."""
    return f"'{text}" if _FORMULA.match(text) and not _QUANTITY.fullmatch(text) else text


def fused(cell: str) -> str:
    """The word that :func:`defused` made a cell of."""
    return cell[1:] if _MARKED.match(cell) and not _QUANTITY.fullmatch(cell[1:]) else cell


def _quote(text: str) -> str:
    # The csv module writes a lone carriage return without quotes and then cannot read it.
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def read_cell(text: str) -> Cell:
    """The number or the word that is written in a cell of CSV."""
    if text == "":
        return None
    if text != text.strip() or "_" in text:  # Python would read these as numbers too; nobody else does
        return fused(text)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return fused(text)
