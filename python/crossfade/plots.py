"""Figures: one style, one function, the same bytes for the same table.

Simulation is drawn as marks with 95 % interval bars, exact analysis as lines, bounds as bands (those a paper
prints as dotted lines), a formula as dashes. Where a curve is simulated only, a thin line joins its marks to
guide the eye; it states nothing between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import OutputError, ResultsError
from crossfade.files import cannot_write, check_writable
from crossfade.tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette ("Color Universal Design", 2008), told apart by colour-blind readers too; its yellow
# is left out, being too pale for thin lines on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">"]

# One column of a two-column journal page is about 3.5 inches wide.
STYLE: dict[str, Any] = {
    "figure.figsize": (3.5, 2.8),
    "figure.dpi": 300,
    "savefig.dpi": 300,
    "font.family": "DejaVu Sans",  # it comes with matplotlib: the same on every machine
    "font.size": 7.5,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "lines.linewidth": 1.0,
    "lines.markersize": 3.2,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "crossfade",  # otherwise the ids in an SVG are drawn at random
}

# What a file says about when and by what it was made: nothing, so that equal figures are equal files.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}

# What stands on an axis, by the last part of the column's name (channel.p_e is p_e).
NAMES = {
    "p_e": "Packet error probability $P_E$",
    "fd_t": "Normalised Doppler frequency $f_d T$",
    "fading_margin_db": "Fading margin (dB)",
    "mean_burst": "Mean error burst (packets)",
    "w_max": "Maximum window (packets)",
    "dupthresh": "Fast retransmit threshold $K$",
    "throughput_sim": "Throughput (packets per slot)",
    "throughput_per_slot": "Throughput (packets per slot)",
    "transmissions_per_slot": "Transmissions per slot",
    "energy_per_packet": "Energy (transmissions per delivered packet)",
    "goodput_bps": "Goodput (bit/s)",
    "ip_goodput_bps": "IP goodput (bit/s)",
    "link_goodput_bps": "Link goodput (bit/s)",
    "frame_error_rate": "Frame error rate",
    "residual_frame_error_rate": "Residual frame error rate",
    "frame_transmissions_per_frame": "Transmissions per frame",
    "rlp_throughput_bps": "Throughput of the link protocol (bit/s)",
    "hol_delay_mean_s": "Mean head-of-line delay (s)",
    "hol_delay_p95_s": "Head-of-line delay, 95th percentile (s)",
    "max_retransmissions": "Retransmissions of a frame, at most ($n$)",
    "margin_db": "Margin (dB)",
    "rtt_mean_s": "Mean round-trip time (s)",
    "queue_mean_packets": "Mean queue (packets)",
    "completion_time_s": "Completion time (s)",
    "completion_time_p95_s": "Completion time, 95th percentile (s)",
    "jain_fairness": "Jain's index of fairness",
    "link_utilisation": "Link utilisation",
    "access_delay": "Access delay, one way",
    "link.queue.limit": "Queue limit",
    "link.rate": "Rate of the link",
    "reverse.rate": "Rate of the way back",
}

# The units of a scenario's quantities: what they are counted in together, and how many of those one is.
_UNITS = {
    "bit/s": ("bit/s", 1.0),
    "kbit/s": ("bit/s", 1e3),
    "Mbit/s": ("bit/s", 1e6),
    "Gbit/s": ("bit/s", 1e9),
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "slots": ("slots", 1.0),
    "packets": ("packets", 1.0),
    "frames": ("frames", 1.0),
    "B": ("B", 1.0),
    "kB": ("B", 1e3),
    "MB": ("B", 1e6),
}
_QUANTITY = re.compile(r"([-+.0-9eE]+) *([A-Za-z/]+)")

# What a curve is called, by its value.
WORDS = {
    "old-tahoe": "OldTahoe",
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "cubic": "CUBIC",
    "red": "RED",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel",
    "iid": "i.i.d.",
}
# Columns whose numbers need their symbol beside them in the legend.
SYMBOLS = {
    "channel": "$f_d T$",
    "fd_t": "$f_d T$",
    "w_max": "$W_\\max$",
    "k": "$K$",
    "dupthresh": "$K$",
    "p_e": "$P_E$",
    "drops": "lost",
    "delayed_ack": "delayed ACK",
    "max_retransmissions": "$n$",
    "n": "$n$",
}

# In the order of drawing: what is simulated lies on top.
METHODS = [
    "analysis:paper-bounds",
    "analysis:bounds",
    "analysis:exact",
    "formula",
    "formula:square-root",
    "simulation",
]
METHOD_WORDS = {
    "analysis:paper-bounds": "bounds as printed",
    "analysis:bounds": "bounds",
    "analysis:exact": "exact",
    "formula": "formula (Padhye)",
    "formula:square-root": "square-root law",
    "simulation": "simulation",
}
LINES = {"analysis:paper-bounds": ":", "formula": "--", "formula:square-root": "-."}

# The metric to draw where none is asked for: the first of these that has values.
USUAL_METRICS = [
    "throughput_sim",
    "throughput_exact",
    "throughput_per_slot",
    "goodput_bps",
    "throughput_upper",
]
_FIRST_RESULT = re.compile(r"method|runs|ci95|.*_ci95|throughput_.*|transmissions_.*|.*goodput_bps")


def plot(
    table: Table,
    path: str,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | Sequence[str] | None = None,
    title: str = "",
    log_y: bool = False,
) -> None:
    """Draw a table; see :func:`crossfade.plot`."""
    file = Path(path)
    check_plot_file(file)
    table = with_ratio(table, y)
    x, y, curves_by = choose(table, x, y, by)
    table, unit = in_numbers(table, x)
    with figure(file) as drawn:
        axes = drawn.subplots()
        _draw(axes, table, x, y, curves_by)
        if unit:
            axes.set_xlabel(f"{axis_name(x)} ({unit})")
        if log_y:
            _make_log(axes, y)
        if title:
            axes.set_title(typeset(title), fontsize="medium", wrap=True)


@contextmanager
def figure(file: Path, height: float = 1.0) -> Iterator[Figure]:
    """An empty figure in the common style, ``height`` times as high as usual, and at the end its file."""
    check_plot_file(file)

    from matplotlib import rc_context, use  # here: it takes half a second that other commands need not wait
    from matplotlib.figure import Figure

    use("agg")
    with rc_context(rc=STYLE):  # type: ignore[arg-type]  # the stubs want every key spelled as a literal
        drawn = Figure(layout="constrained")
        drawn.set_figheight(drawn.get_figheight() * height)
        yield drawn
        try:
            drawn.savefig(file, metadata=METADATA[file.suffix.lower()])
        except OSError as reason:
            raise OutputError(cannot_write(file, reason)) from None


def check_plot_file(file: Path) -> None:
    """Raise ``OutputError`` for a file that no figure can be written to."""
    if file.suffix.lower() not in METADATA:
        raise OutputError(f"{file}: cannot be written (a figure ends in .png, .pdf or .svg)")
    check_writable(file)


def choose(
    table: Table, x: str | None, y: str | None, by: str | Sequence[str] | None
) -> tuple[str, str, list[str]]:
    """The columns to draw: those asked for, and for the others the usual ones of the table."""
    if not table.rows:
        raise ResultsError("nothing to draw: the table has no rows")
    axes = _axis_columns(table)
    if x is None:
        numeric = [
            name for name in axes if _is_numeric(table.cells(name)) and len(set(table.cells(name))) > 1
        ]
        if not numeric:
            raise ResultsError(
                f"nothing to draw along: no numeric axis; give --x (columns: {', '.join(table.columns)})"
            )
        x = max(numeric, key=lambda name: len(set(table.cells(name))))
    if y is None:
        y = next(
            (name for name in USUAL_METRICS if name in table.columns and any(_numbers(table, name))), None
        )
        if y is None:
            raise ResultsError(
                f"nothing to draw: no usual metric; give --y (columns: {', '.join(table.columns)})"
            )
    curves_by = column_list(by)
    if curves_by is None:
        curves_by = [name for name in axes if name != x and len(set(table.cells(name))) > 1]
    for name in (x, y):
        if not _is_numeric(table.cells(name)):
            raise ResultsError(f"column {name}: holds words, and can only tell curves apart (--by)")
    for name in curves_by:
        table.cells(name)
    return x, y, curves_by


def column_list(by: str | Sequence[str] | None) -> list[str] | None:
    """The columns that ``--by`` names, None where it does not say."""
    if isinstance(by, str):
        return [name.strip() for name in by.split(",") if name.strip()]
    return None if by is None else list(by)


def with_ratio(table: Table, y: str | None) -> Table:
    """The table, with a column more where ``y`` is the ratio of two (``a.goodput_bps/b.goodput_bps``).

    It is the ratio of the means. Its interval holds however the two depend on each other: the relative
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


def in_numbers(table: Table, name: str) -> tuple[Table, str]:
    """The table with a column of quantities (``"64 kbit/s"``) as numbers, and their unit.

    The unit is that of the column where it has but one, else the common one (bit/s, s, B).
    """
    found = [_quantity(cell) for cell in table.cells(name)]
    quantities = [quantity for quantity in found if quantity is not None]
    if not quantities or _is_plain(table.cells(name)):
        return table, ""
    units = {unit for _, unit in quantities}
    unit = units.pop() if len(units) == 1 else _UNITS[units.pop()][0]
    values = [
        None if quantity is None else quantity[0] * _UNITS[quantity[1]][1] / _UNITS[unit][1]
        for quantity in found
    ]
    index = table.columns.index(name)
    rows = [[*row[:index], value, *row[index + 1 :]] for row, value in zip(table.rows, values, strict=True)]
    return Table(table.columns, rows), unit


def _quantity(cell: Cell) -> tuple[float, str] | None:
    match = _QUANTITY.fullmatch(cell) if isinstance(cell, str) else None
    return (float(match[1]), match[2]) if match and match[2] in _UNITS else None


def is_log_spaced(values: Sequence[float]) -> bool:
    """Whether the values are spaced by factors rather than by steps, over a decade or more."""
    points = sorted(set(values))
    if len(points) < 3 or points[0] <= 0.0 or points[-1] < 10.0 * points[0]:
        return False
    logs = [math.log(point) for point in points]
    return _unevenness(logs) < _unevenness(points)


def _unevenness(points: Sequence[float]) -> float:
    steps = [b - a for a, b in pairwise(points)]
    mean = sum(steps) / len(steps)
    return sum((step - mean) ** 2 for step in steps) / mean**2


def _axis_columns(table: Table) -> list[str]:
    """The columns before the first result."""
    columns: list[str] = []
    for name in table.columns:
        if _FIRST_RESULT.fullmatch(name):
            break
        columns.append(name)
    return columns


def _is_numeric(cells: Sequence[Cell]) -> bool:
    """Whether the cells are numbers, or quantities of one kind."""
    quantities = [_quantity(cell) for cell in cells if cell is not None]
    kinds = {None if quantity is None else _UNITS[quantity[1]][0] for quantity in quantities}
    return _is_plain(cells) or (len(kinds) == 1 and None not in kinds)


def _is_plain(cells: Sequence[Cell]) -> bool:
    return all(cell is None or isinstance(cell, int | float) for cell in cells)


def _numbers(table: Table, name: str) -> list[bool]:
    return [isinstance(cell, int | float) and not math.isnan(cell) for cell in table.cells(name)]


@dataclass(frozen=True)
class Part:
    """One curve by one method: where it lies, and what is drawn there."""

    method: str
    xs: list[float]
    ys: list[float]
    # Half-widths of intervals, or the lower side of a band whose upper side is `ys`.
    beside: list[float] | None = None


def _draw(axes: Axes, table: Table, x: str, y: str, by: list[str]) -> None:
    curves: dict[tuple[Cell, ...], list[dict[str, Cell]]] = {}
    for record in table.records():
        if record[x] is not None:
            curves.setdefault(tuple(record[name] for name in by), []).append(record)
    drawn: set[str] = set()
    for key, records in curves.items():
        records.sort(key=lambda record: number(record[x]))
        look = _look(key, by, list(curves))
        text = ", ".join(curve_word(name, value) for name, value in zip(by, key, strict=True))
        parts = list(_parts(table, records, x, y))
        for part in parts:
            _draw_part(
                axes, part, look, text or None, is_alone=len(parts) == 1, names_curve=part is parts[-1]
            )
        drawn |= {part.method for part in parts}
    _finish(axes, table, x, y, drawn, with_legend=any(key for key in curves))


def _parts(table: Table, records: list[dict[str, Cell]], x: str, y: str) -> Iterator[Part]:
    """What a curve consists of, in the order of drawing: a mark lies above its line."""
    if "method" in table.columns:
        for method in METHODS:
            chosen = [record for record in records if str(record["method"]) == method]
            if chosen:
                yield from _part(table, chosen, method, x, y)
        return
    # A paper's table has a column a method.
    exact = f"{y.rsplit('_', 1)[0]}_exact" if y.endswith(("_sim", "_exact")) else None
    if y.endswith(("_sim", "_exact")) and {"throughput_lower", "throughput_upper"} <= set(table.columns):
        yield from _part(table, records, "analysis:bounds", x, "throughput_per_slot")
    if exact is not None and exact in table.columns:
        yield from _part(table, records, "analysis:exact", x, exact)
    if y != exact:
        yield from _part(table, records, "simulation", x, y)


def _part(table: Table, records: list[dict[str, Cell]], method: str, x: str, y: str) -> Iterator[Part]:
    """The part that has values, if any has."""

    def numbers(name: str, chosen: list[dict[str, Cell]]) -> list[float]:
        return [number(record[name]) for record in chosen]

    if method.endswith("bounds") and y == "throughput_per_slot":
        y, beside = "throughput_upper", _present(table, "throughput_lower")
    else:
        beside = _present(table, f"{y}_ci95", "ci95") if method == "simulation" else None
    if y not in table.columns:
        return
    present = [record for record in records if record[y] is not None]
    if present:
        sides = None
        if beside is not None and any(record[beside] is not None for record in present):
            sides = [0.0 if math.isnan(n) else n for n in numbers(beside, present)]
        yield Part(method, numbers(x, present), numbers(y, present), sides)


def _present(table: Table, *names: str) -> str | None:
    return next((name for name in names if name in table.columns), None)


def _draw_part(
    axes: Axes, part: Part, look: tuple[str, str, bool], text: str | None, is_alone: bool, names_curve: bool
) -> None:
    color, marker, filled = look
    label = text if names_curve else None
    if part.method == "simulation":
        if is_alone:
            axes.plot(part.xs, part.ys, color=color, linewidth=0.5, alpha=0.6)
        axes.errorbar(
            part.xs,
            part.ys,
            yerr=part.beside,
            fmt=marker,
            color=color,
            markerfacecolor=color if filled else "none",
            markeredgewidth=0.8,
            elinewidth=0.8,
            capsize=1.8,
            capthick=0.8,
            label=label,
        )
    elif part.method == "analysis:bounds" and part.beside is not None:
        axes.fill_between(part.xs, part.beside, part.ys, color=color, alpha=0.25, linewidth=0, label=label)
    else:
        style = LINES.get(part.method, "-")
        # Curves of one colour differ in their marks, which a line does not have: there the shade differs.
        shade = 1.0 if filled or not is_alone else 0.55
        axes.plot(part.xs, part.ys, color=color, linestyle=style, alpha=shade, label=label)
        if part.beside is not None:
            axes.plot(part.xs, part.beside, color=color, linestyle=style, alpha=shade)


def _finish(axes: Axes, table: Table, x: str, y: str, drawn: set[str], with_legend: bool) -> None:
    from matplotlib.ticker import EngFormatter

    axes.set_xlabel(axis_name(x))
    axes.set_ylabel(axis_name(y))
    if is_log_spaced([number(cell) for cell in table.cells(x) if cell is not None]):
        axes.set_xscale("log")
    if y.endswith("_bps") and "/" not in y:
        axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
    if y.startswith("throughput"):
        axes.set_ylim(0.0, 1.03)
    if with_legend or len(drawn) > 1:
        _legend(axes, drawn)


def _make_log(axes: Axes, y: str) -> None:
    """A logarithmic y axis with plain numbers, also at 2 and 5 where it spans less than three decades."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    axes.set_ylim(auto=True)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    is_rate = y.endswith("_bps") and "/" not in y
    words = EngFormatter(sep=" ") if is_rate else FuncFormatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(words)
    axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axes.yaxis.set_minor_formatter(words if high < 1000.0 * low else NullFormatter())


def _legend(axes: Axes, drawn: set[str]) -> None:
    """The curves; below them, where there are several methods, what each looks like."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles, labels = axes.get_legend_handles_labels()
    for method in METHODS if len(drawn) > 1 else []:
        if method not in drawn:
            continue
        if method == "simulation":
            handles.append(Line2D([], [], color="#555555", marker="o", linestyle="none"))
        elif method == "analysis:bounds":
            handles.append(Patch(color="#555555", alpha=0.25, linewidth=0))
        else:
            handles.append(Line2D([], [], color="#555555", ls=LINES.get(method, "-")))
        labels.append(METHOD_WORDS[method])
    axes.legend(handles, labels)


def axis_name(column: str) -> str:
    """What stands on the axis of a column."""
    if "/" in column:
        return " / ".join(name.strip() for name in column.split("/"))
    last = column.rsplit(".", 1)[-1]
    return NAMES.get(column) or NAMES.get(last, last.replace("_", " "))


def _look(key: tuple[Cell, ...], by: list[str], curves: list[tuple[Cell, ...]]) -> tuple[str, str, bool]:
    """Colour, marker and whether it is filled: with two columns the first has the colour, the second the
    marker.

    Only the first marker is filled, so that curves which coincide are seen to.
    """
    if len(by) == 2:
        firsts = list(dict.fromkeys(curve[0] for curve in curves))
        seconds = list(dict.fromkeys(curve[1] for curve in curves))
        first, second = firsts.index(key[0]), seconds.index(key[1])
    else:
        first = second = curves.index(key)
    return PALETTE[first % len(PALETTE)], MARKERS[second % len(MARKERS)], second == 0


def curve_word(column: str, value: Cell) -> str:
    """What a curve is called in the legend, by one column and its value."""
    if isinstance(value, str) and not value[:1].isdigit():  # a quantity is told by its key, as a number is
        return WORDS.get(value, value)
    last = column.rsplit(".", 1)[-1]
    return f"{SYMBOLS.get(last, last)} = {'none' if value is None else value}"


def typeset(title: str) -> str:
    """A title with the symbols that it spells out (f_d T) set as mathematics."""
    for spelled, symbol in {"f_d T": "$f_d T$", "W_max": "$W_\\max$", "P_E": "$P_E$"}.items():
        title = title.replace(spelled, symbol)
    return title


def number(cell: Cell) -> float:
    """A cell as a number, NaN where it is none."""
    return float(cell) if isinstance(cell, int | float) else math.nan
