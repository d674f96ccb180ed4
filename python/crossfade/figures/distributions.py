"""Figures of distributions: the share of values at or below each value, with a band over runs.

The table has a row for each value (:func:`crossfade.runs.transfers`, or any table with a column of numbers),
or for each share (:func:`crossfade.runs.delays`). With a column ``run`` the curve is the mean over the runs,
and the band its pointwise 95 % Student interval. A transfer that was unfinished at the end of its run counts
as longer than all others: the curve is the share of all transfers that were observed to end.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade._crossfade import student_quantile
from crossfade.errors import CrossfadeWarning, ResultsError
from crossfade.figures.choice import MOST_CURVES, column_list, number, relabelled
from crossfade.figures.choice import where as rows_where
from crossfade.figures.drawing import legend_clear
from crossfade.figures.style import DASHES, PALETTE, Width, check_plot_file, figure, in_lines, made
from crossfade.tables import Cell, Table
from crossfade.wording import axis_name, curve_word, metric_name, readable_unit, with_unit

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    Floats = np.ndarray[Any, np.dtype[np.float64]]

# Number of places at which a distribution is evaluated.
PLACES = 400
TRANSFERS = {"run", "flow", "start_s", "completion_time_s"}
UNFINISHED = "unfinished_s"
DELAYS = {"run", "flow", "delay", "share", "value_s"}


@dataclass(frozen=True)
class Curve:
    """A distribution: its name, and the values of each run with the share that each stands for.

    ``shares`` are None if all values count alike. A value without an end is infinite, and the last.
    """

    name: str
    runs: list[tuple[Floats, Floats | None]]

    def ends(self) -> tuple[float, float]:
        """Smallest and largest finite value."""
        known = [float(value) for values, _ in self.runs for value in values if math.isfinite(value)]
        return min(known), max(known)


def is_transfers(table: Table) -> bool:
    """True if a table has a row for each transfer."""
    return set(table.columns) >= TRANSFERS


def is_delays(table: Table) -> bool:
    """True if a table has a row for each share of delays."""
    return set(table.columns) >= DELAYS


def plot(
    table: Table,
    path: str | Path | None,
    *,
    of: str | None = None,
    by: str | Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    title: str = "",
    log_x: bool | None = None,
    log_y: bool | None = None,
    width: Width = "single",
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Draw the distribution of a column; on a logarithmic y axis its complement, which shows the tail."""
    file = None if path is None else Path(path)
    if file is not None:
        check_plot_file(file)
    table = rows_where(table, where or {})
    if is_delays(table):
        known = [str(cell) for cell in dict.fromkeys(table.cells("delay"))]
        of = of or next(iter(known), "rtt_s")
        if of not in known:
            raise ResultsError(f"column {of}: no such delay (there are {', '.join(known) or 'none'})")
        table = rows_where(table, {"delay": of})
    of = of or "completion_time_s"
    curves = _curves(table, of, column_list(by), labels or {})
    words, unit = axis_name(of) if metric_name(of)[0] == of else metric_name(of)
    every = [end for curve in curves for end in curve.ends()]
    unit, factor = readable_unit(unit, every)
    with figure(file, width=width) as drawn:
        import numpy as np  # it comes with matplotlib, and takes a while to load

        axes = drawn.subplots()
        for index, curve in enumerate(curves):
            places, mean, half = _mean(curve, log_x is True)
            # The share below the smallest value is 0.
            places, mean, half = (
                np.insert(of, 0, first) for of, first in ((places, places[0]), (mean, 0.0), (half, 0.0))
            )
            up, low, high = mean, mean - half, mean + half
            if log_y:
                up, low, high = 1.0 - mean, 1.0 - high, 1.0 - low
            color = PALETTE[index % len(PALETTE)]
            dash = list(DASHES)[index // len(PALETTE) % len(DASHES)]
            axes.plot(places / factor, up, color=color, linestyle=dash, label=curve.name or None)
            if half.any():
                axes.fill_between(
                    places / factor,
                    low.clip(0.0, 1.0),
                    high.clip(0.0, 1.0),
                    color=color,
                    alpha=0.18,
                    linewidth=0,
                )
        axes.set_xlabel(with_unit(words, unit))
        axes.set_ylabel("Share above" if log_y else "Share (cumulative)")
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")
            axes.set_ylim(None, 1.0)
        else:
            axes.set_ylim(0.0, 1.02)
        if not log_x and not log_y and min(every) >= 0.0 and min(every) <= 0.6 * max(every):
            axes.set_xlim(left=0.0)
        if len(curves) > 1:
            legend_clear(axes, *axes.get_legend_handles_labels())
        if title:
            axes.set_title(in_lines(title, drawn), fontsize="medium")
    return made(drawn)


def _curves(table: Table, of: str, by: list[str] | None, labels: Mapping[str, str]) -> list[Curve]:
    """Curves of a table, distinguished by its axes (and flows) if ``by`` is not given."""
    import numpy as np  # it comes with matplotlib, and takes a while to load

    column = "value_s" if is_delays(table) else of
    cells = [number(cell) for cell in table.cells(column)]
    first = table.columns.index("run") if "run" in table.columns else 0
    # Users of a cell form one distribution, whichever flow they belong to.
    tells = "flow" in table.columns and "user" not in table.columns
    axes = [*table.columns[:first], *(["flow"] if tells else [])]
    for name in by or []:
        table.cells(name)
    varying = [name for name in axes if len(set(table.cells(name))) > 1]
    told = varying if by is None else by
    mixed = [name for name in varying if name not in told]
    if mixed and is_delays(table):
        raise ResultsError(
            f"nothing to draw: shares of several {', '.join(mixed)} are no distribution; --by tells them "
            "apart, --where takes one"
        )
    if mixed:
        warnings.warn(
            f"each curve holds all values of {', '.join(mixed)}; --by tells them apart, --where takes one",
            CrossfadeWarning,
            stacklevel=3,
        )
    table = relabelled(table, told, labels)
    keys = list(zip(*(table.cells(name) for name in told), strict=True)) if told else [()] * len(cells)
    runs: Sequence[Cell] = table.cells("run") if "run" in table.columns else [0] * len(cells)
    shares = [number(cell) for cell in table.cells("share")] if is_delays(table) else None
    found: dict[tuple[Cell, ...], dict[Cell, list[tuple[float, float]]]] = {}
    if column == "completion_time_s" and UNFINISHED in table.columns:
        left = [number(cell) for cell in table.cells(UNFINISHED)]
        cells = [value if math.isnan(seen) else math.inf for value, seen in zip(cells, left, strict=True)]
    for index, value in enumerate(cells):
        if value == value:
            pair = (value, 0.0 if shares is None else shares[index])
            found.setdefault(keys[index], {}).setdefault(runs[index], []).append(pair)
    ended = {key for key, runs in found.items() for values in runs.values() if min(values)[0] < math.inf}
    found = {key: runs for key, runs in found.items() if key in ended}
    if not found:
        raise ResultsError(f"nothing to draw: {of} has no value in these rows")
    if len(found) > MOST_CURVES:
        raise ResultsError(
            f"nothing to draw: {len(found)} curves are too many (at most {MOST_CURVES}); "
            f"--where takes a part, --by says what tells curves apart ({', '.join(told)})"
        )
    curves = []
    for key, of_runs in found.items():
        name = ", ".join(
            str(value) if column == "flow" else curve_word(column, value)
            for column, value in zip(told, key, strict=True)
        )
        pairs = [np.array(sorted(values)) for values in of_runs.values()]
        curves.append(Curve(name, [(p[:, 0], None if shares is None else p[:, 1]) for p in pairs]))
    return curves


def _mean(curve: Curve, is_log: bool) -> tuple[Floats, Floats, Floats]:
    """Places, mean over runs of the share at or below each, and half-width of the mean's interval."""
    import numpy as np

    low, high = curve.ends()
    is_log = is_log and low > 0.0
    places = np.geomspace(low, high, PLACES) if is_log else np.linspace(low, high, PLACES)
    places[-1] = high  # exactly, since rounding could leave it below the largest value
    each = np.array(
        [
            np.searchsorted(values, places, side="right") / len(values)
            if shares is None
            else np.interp(places, values, shares, left=0.0, right=1.0)
            for values, shares in curve.runs
        ]
    )
    runs = len(each)
    half = np.zeros(PLACES)
    if runs > 1:
        half = student_quantile(runs - 1) * each.std(axis=0, ddof=1) / np.sqrt(runs)
    return places, each.mean(axis=0), half
