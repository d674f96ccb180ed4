"""Choice of a figure's columns: x axis, metric, axes that distinguish curves, and axes held at one value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge, gt, le, lt
from typing import Any

from crossfade import quantities
from crossfade._crossfade import USUAL_METRIC
from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.tables import Cell, Table, label, read_cell
from crossfade.wording import METRICS_OF_COLUMNS, Label, curve_word, readable_unit

# Usual x axes of the field, in order of preference, for a sweep with three values or more.
USUAL_X = ["snr_db", "mean_snr_db", "fading_margin_db", "p_e", "fd_t"]
# Metrics to draw by default: the first of these that has values.
USUAL_METRICS = [
    *METRICS_OF_COLUMNS,
    "throughput_per_slot",
    USUAL_METRIC,
    "throughput_upper",
]
_FIRST_RESULT = re.compile(
    r"method|runs|frames|segments|wrong|ci95|.*_ci95(_low|_high)?|.*throughput_.*|transmissions_.*|.*goodput_bps|burst"
)
# Comparisons at the end of a column's name in --where.
COMPARISONS: dict[str, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "<": lt, ">": gt}
COMPARISON = re.compile(r"(.*?)(<=|>=|<|>)")
# Greatest number of curves that axes distinguish by default; further axes are held at one value.
MOST_CURVES = 12


@dataclass(frozen=True)
class Choice:
    """Columns of a figure.

    ``along`` is the axis along which a curve runs: ``x``, unless that is a metric. ``held`` are the axes of
    which only one value is shown.
    """

    x: str
    y: str
    by: list[str]
    panels: list[str]
    along: str
    held: dict[str, Cell] = field(default_factory=dict)


def choose(
    table: Table,
    x: str | None = None,
    y: str | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | Sequence[str] | None = None,
) -> Choice:
    """Columns to draw: the given ones, and for the others defaults that depend on the table.

    The default x axis is SNR, fading margin or packet error probability if the table has such an axis,
    otherwise the numeric axis with most values. Curves are distinguished by the other axes, as long as they
    give at most ``MOST_CURVES`` curves. An axis that is neither x nor distinguishes curves or panels is held
    at its first value.
    """
    if not table.rows:
        raise ResultsError("nothing to draw: the table has no rows")
    curves_by, apart = column_list(by), column_list(panels) or []
    for name in (x, y, *apart, *(curves_by or [])):
        if name is not None:
            table.cells(name)
    axes = [name for name in axis_columns(table) if name != y]
    for name in apart:
        if name in (x, y, *(curves_by or [])):
            raise ResultsError(f"column {name}: cannot tell panels apart and be drawn in them")
    if len(apart) > 2:
        raise ResultsError(f"panels = {','.join(apart)}: one axis across and one down, no more")
    told = [*apart, *(curves_by or [])]
    along = x if x in axes else usual_x(table, [name for name in axes if name not in told])
    x = x or along
    if y is None:
        y = next((name for name in USUAL_METRICS if can_be_drawn(table, name)), None)
        if y is None:
            raise ResultsError(f"nothing to draw: no usual metric; give --y ({table.suggestion()})")
    for name in (x, y):
        if name not in axes and not is_numeric(table.cells(name)):
            raise ResultsError(f"column {name}: holds words, and can only tell curves apart (--by)")
    taken = [along, *apart]
    others = [name for name in axes if name not in taken and len(set(table.cells(name))) > 1]
    if curves_by is None:
        curves_by = _usual_curves(table, others, taken)
    return Choice(x, y, curves_by, apart, along, _held(table, others, [*taken, *curves_by]))


def can_be_drawn(table: Table, name: str) -> bool:
    """True if a metric has values; bounds of the throughput are drawn as ``throughput_per_slot``."""
    of_bounds = name == "throughput_per_slot" and "throughput_upper" in table.columns
    return name in table.columns and has_values(table, "throughput_upper" if of_bounds else name)


def axis_columns(table: Table) -> list[str]:
    """Columns before the first result, which are the axes."""
    columns: list[str] = []
    for name in table.columns:
        if _FIRST_RESULT.fullmatch(name):
            break
        columns.append(name)
    return columns


def usual_x(table: Table, axes: Sequence[str]) -> str:
    """Default x axis among ``axes``: a usual one with three values, else the numeric one with most values.

    An axis of words is the last choice.
    """
    counts = {name: len(set(table.cells(name))) for name in axes}
    counts = {name: count for name, count in counts.items() if count > 1}
    numeric = [name for name in counts if is_numeric(table.cells(name))]
    most = max((counts[name] for name in numeric), default=0)
    for usual in USUAL_X:
        for name in numeric:
            if name.rsplit(".", 1)[-1] == usual and counts[name] >= min(3, most):
                return name
    if not counts:
        raise ResultsError(f"nothing to draw along: no axis with two values; give --x ({table.suggestion()})")
    return max(numeric or counts, key=lambda name: counts[name])


def _usual_curves(table: Table, others: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Axes that distinguish curves by default: as many as give at most ``MOST_CURVES`` curves."""
    chosen: list[str] = []
    for name in others:
        # An axis zipped with the x axis distinguishes no curves.
        if not _depends(table, name, [*taken, *chosen]) and _count(table, [*chosen, name]) <= MOST_CURVES:
            chosen.append(name)
    # An axis zipped with those that distinguish curves is part of the curves' names.
    return [name for name in others if name in chosen or (chosen and _depends(table, name, chosen))]


def _held(table: Table, others: Sequence[str], shown: Sequence[str]) -> dict[str, Cell]:
    """Axes that would still mix several points into one, each with its first value."""
    held: dict[str, Cell] = {}
    for name in others:
        if name not in shown and not _depends(table, name, shown):
            held[name] = table.cells(name)[0]
            table = where(table, {name: held[name]})
    return held


def _depends(table: Table, name: str, others: Sequence[str]) -> bool:
    """True if a column has one value for each combination of values of the others."""
    return _count(table, [*others, name]) == _count(table, others)


def _count(table: Table, names: Sequence[str]) -> int:
    return len(set(zip(*(table.cells(name) for name in names), strict=True))) if names else 1


def where(table: Table, wanted: Mapping[str, Any]) -> Table:
    """Rows in which columns have the given values; ``ResultsError`` names the values if no row is left.

    A number may be rounded to three digits, as printed. A name that ends with a comparison (``time_s<``)
    keeps the rows with a number on that side.
    """
    if not isinstance(wanted, Mapping):
        raise ResultsError(f"where = {shortened(repr(wanted))}: must be a mapping from columns to values")
    for name, asked in wanted.items():
        if not isinstance(name, str):
            raise ResultsError(f"where: {shortened(repr(name))} is no column")
        if (found := COMPARISON.fullmatch(name)) is not None:
            table = _compared(table, found[1].strip(), found[2], asked)
            continue
        cells, value = table.cells(name), label(asked)
        meant = _meant(value, list(dict.fromkeys(cells)))
        if meant is None:
            known = [str(cell) for cell in dict.fromkeys(cells)]
            shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise ResultsError(f"{name} = {value}: no row has that (values: {shown})")
        table = Table(
            table.columns, [row for row, cell in zip(table.rows, cells, strict=True) if cell == meant]
        )
    return table


def where_lines(
    read: Callable[[], tuple[list[str], Iterator[list[str]]]], wanted: Mapping[str, Any]
) -> tuple[list[str], Iterator[list[str]]]:
    """Like :func:`where`, for the lines of a CSV file, which are read twice and never kept."""
    columns, lines = read()
    names = {} if isinstance(wanted, Mapping) else wanted
    if isinstance(wanted, Mapping):
        # An invalid mapping gives the same error as for a table.
        names = {name: asked for name, asked in wanted.items() if not _compares(name)}
    if names:
        empty = Table(columns, [])
        for name in names if isinstance(names, Mapping) else ():
            if isinstance(name, str):
                empty.cells(name)
        places = [columns.index(name) for name in names if name in columns]
        written = list(dict.fromkeys(tuple([line[place] for place in places]) for line in lines))
        known = Table(list(names), [[read_cell(cell) for cell in cells] for cells in written])
        kept = {id(row) for row in where(known, names).rows}
        chosen = {cells for cells, row in zip(written, known.rows, strict=True) if id(row) in kept}
        lines = (line for line in read()[1] if tuple([line[place] for place in places]) in chosen)
    for name, asked in wanted.items():
        if (found := COMPARISON.fullmatch(name)) is not None:
            lines = _compared_lines(columns, lines, found[1].strip(), found[2], asked)
    return columns, lines


def _compares(name: object) -> bool:
    return isinstance(name, str) and COMPARISON.fullmatch(name) is not None


def _compared_lines(
    columns: list[str], lines: Iterator[list[str]], name: str, sign: str, asked: Any
) -> Iterator[list[str]]:
    Table(columns).cells(name)
    place, value = columns.index(name), limit(f"{name}{sign}", asked)
    least, most, any_is_there = math.inf, -math.inf, False
    for line in lines:
        there = number(read_cell(line[place]))
        if COMPARISONS[sign](there, value):
            any_is_there = True
            yield line
        elif not any_is_there and not math.isnan(there):
            least, most = min(least, there), max(most, there)
    if not any_is_there:
        raise ResultsError(f"{name}{sign}{value:g}: no row has that ({_extent(least, most)})")


def _extent(least: float, most: float) -> str:
    return f"values: {least:.6g} to {most:.6g}" if least <= most else "it holds no numbers"


def _compared(table: Table, name: str, sign: str, asked: Any) -> Table:
    """Rows in which the number of a column is on the given side of a limit."""
    cells, value = table.cells(name), limit(f"{name}{sign}", asked)
    rows = [
        row for row, cell in zip(table.rows, cells, strict=True) if COMPARISONS[sign](number(cell), value)
    ]
    if not rows:
        known = [cell for cell in map(number, cells) if not math.isnan(cell)]
        extent = _extent(min(known, default=math.inf), max(known, default=-math.inf))
        raise ResultsError(f"{name}{sign}{value:g}: no row has that ({extent})")
    return Table(table.columns, rows)


def limit(condition: str, asked: Any) -> float:
    """Number with which ``condition`` compares; ``ResultsError`` if it is none."""
    try:
        value = float(asked)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ResultsError(f"{condition}{shortened(asked)}: must be compared with a number")
    return value


def _meant(value: Cell, known: Sequence[Cell]) -> Cell:
    """Known value that matches a given one; None if none does."""
    if value in known or str(value) in known:
        return value if value in known else str(value)
    try:
        wanted = float(value or "")
    except ValueError:
        return None
    near = [cell for cell in known if math.isclose(number(cell), wanted, rel_tol=5e-3)]
    return min(near, key=lambda cell: abs(number(cell) - wanted), default=None)


def held_note(table: Table, held: Mapping[str, Cell]) -> str:
    """Line that says at which values a figure holds axes, and how many values each has."""
    parts = [f"{name} = {value} (of {len(set(table.cells(name)))} values)" for name, value in held.items()]
    return f"the figure shows {', '.join(parts)}; --by and --panels show all, --where another"


def column_list(by: str | Sequence[str] | None) -> list[str] | None:
    """Names of columns in ``--by``, a list or a text with commas; None if it is not given."""
    if isinstance(by, str):
        return [name.strip() for name in by.split(",") if name.strip()]
    if by is None:
        return None
    if not isinstance(by, Sequence) or not all(isinstance(name, str) for name in by):
        raise ScenarioError(f"{shortened(repr(by))}: no column; must be its name, or a list of names")
    return list(by)


def prepared(table: Table, y: str | None) -> Table:
    """Table with an additional column if ``y`` is a ratio, or if only bounds give the throughput."""
    bounds = {"method", "throughput_lower", "throughput_upper"} <= set(table.columns)
    if bounds and "throughput_per_slot" not in table.columns:
        table = Table([*table.columns, "throughput_per_slot"], [[*row, None] for row in table.rows])
    return with_ratio(table, y)


def with_ratio(table: Table, y: str | None) -> Table:
    """Table with an additional column if ``y`` is a ratio of two (``a.goodput_bps/b.goodput_bps``).

    It is the ratio of the means. Its interval holds whatever the dependence of the two means: their relative
    half-widths add up.
    """
    if y is None or "/" not in y or y in table.columns:
        return table
    names = [name.strip() for name in y.split("/", 1)]

    def of(column: str) -> list[float]:
        return [number(cell) for cell in table.cells(column)]

    above, below = (of(name) for name in names)
    widths = [of(f"{name}_ci95") if f"{name}_ci95" in table.columns else [0.0] * len(above) for name in names]
    rows = []
    for row, a, b, width_a, width_b in zip(table.rows, above, below, *widths, strict=True):
        ratio = a / b if b else math.nan
        width = abs(ratio) * (width_a / a + width_b / b) if a and b else math.nan
        rows.append([*row, *(None if math.isnan(cell) else cell for cell in (ratio, width))])
    return Table([*table.columns, y, f"{y}_ci95"], rows)


def relabelled(table: Table, columns: Sequence[str], labels: Mapping[str, str]) -> Table:
    """Table in which values of these columns have the labels that the user gave.

    A table of keys is matched by any of its items (``variant=sack``), or by several with commas.
    """

    for name in columns if labels else []:
        table = _replaced(table, name, [called(cell, labels) for cell in table.cells(name)])
    return table


def called(cell: Cell, labels: Mapping[str, str]) -> Cell:
    """Label that the user gave for a value, or the value; a table of keys is matched by any of its items.

    Several items with commas (``variant=sack, congestion=cubic``) match the tables that have all of them; the
    label with most items wins. ``profile=linux`` also matches ``rfc=profile=linux``.
    """
    items = {*re.split(r" (?=[\w.-]+=)", cell)} if isinstance(cell, str) else set()
    items |= {nested for item in items if "=" in (nested := item.partition("=")[2])}
    wanted = {text: [text] if text == str(cell) else re.split(" *, *", text) for text in labels}
    fitting = [text for text, parts in wanted.items() if text == str(cell) or {*parts} <= items]
    if not fitting:
        return cell
    return Label(labels[max(fitting, key=lambda text: (text == str(cell), len(wanted[text])))], cell)


def in_numbers(table: Table, name: str) -> tuple[Table, str]:
    """Table with a column of quantities (``"64 kbit/s"``) as numbers, and their unit.

    The unit is that of the column if it has only one, otherwise one in which the numbers are short.
    """
    cells = table.cells(name)
    if is_plain(cells):
        return table, ""
    values, unit = quantities.in_numbers([cell for cell in cells if cell is not None]) or ([], "")
    unit, factor = readable_unit(unit, values)
    numbers = iter(values)
    return _replaced(table, name, [c if c is None else next(numbers) / factor for c in cells]), unit


def in_places(table: Table, name: str) -> tuple[Table, list[str]]:
    """Table with a column of words as 0, 1, ... in order of appearance, and the labels of these places."""
    known = list(dict.fromkeys(table.cells(name)))
    places = _replaced(table, name, [known.index(cell) for cell in table.cells(name)])
    # The label of the axis has its symbol, so that the labels of its values need not.
    symbol = curve_word(name, 0).removesuffix("0")
    return places, [curve_word(name, value).removeprefix(symbol) for value in known]


def _replaced(table: Table, name: str, values: Sequence[Cell]) -> Table:
    index = table.columns.index(name)
    rows = [[*row[:index], value, *row[index + 1 :]] for row, value in zip(table.rows, values, strict=True)]
    return Table(table.columns, rows)


_ERROR_RATE = re.compile(r"(.*_)?(error_rate|fer|ber|ser|bler|per|residual)(_sim|_exact)?")


def is_error_rate(y: str, values: Sequence[float]) -> bool:
    """True if a metric is an error rate whose values span decades, which is drawn on logarithmic axes."""
    present = [value for value in values if value > 0.0]
    return bool(
        _ERROR_RATE.fullmatch(y.rsplit(".", 1)[-1]) and present and max(present) >= 30.0 * min(present)
    )


def is_numeric(cells: Sequence[Cell]) -> bool:
    """True if the cells are numbers, or quantities of one kind."""
    return is_plain(cells) or quantities.in_numbers([cell for cell in cells if cell is not None]) is not None


def is_plain(cells: Sequence[Cell]) -> bool:
    """True if the cells are numbers."""
    return all(cell is None or isinstance(cell, int | float) for cell in cells)


def has_values(table: Table, name: str) -> bool:
    """True if a column has a number in any row."""
    return any(not math.isnan(number(cell)) for cell in table.cells(name))


def number(cell: Cell) -> float:
    """A cell as a number; NaN for other cells."""
    return float(cell) if isinstance(cell, int | float) else math.nan
