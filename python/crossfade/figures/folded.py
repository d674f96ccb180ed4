"""Figures of quantities over the phase of a period, a panel for each quantity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crossfade.errors import ResultsError
from crossfade.figures.choice import number
from crossfade.figures.phases import COUNTED, SAMPLED, Measured, Period, fold
from crossfade.figures.style import PALETTE, Width, check_plot_file, figure, in_lines, made
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Label of each quantity in figures, and its factor to the label's unit.
NAMES: dict[str, tuple[str, float]] = {
    "goodput_bps": ("Goodput (Mbit/s)", 1e-6),
    "rtt_mean_s": ("Round trip (ms)", 1e3),
    "queue_packets": ("Queue (packets)", 1.0),
    "capacity_bps": ("Capacity (Mbit/s)", 1e-6),
    "retransmissions": ("Retransmissions", 1.0),
    "cwnd": ("Window (segments)", 1.0),
    "losses_per_s": ("Losses (1/s)", 1.0),
    "spurious_per_s": ("Spurious (1/s)", 1.0),
}
USUAL = ["goodput_bps", "rtt_mean_s"]
MOST_PANELS = 6
MOST_CURVES = 6


def quantities(y: Sequence[str] | None) -> list[str]:
    """Metrics to draw: the given ones, else goodput and round-trip time."""
    wanted = list(y or USUAL)
    for name in wanted:
        if name not in NAMES:
            raise ResultsError(f"column {name}: not to be folded ({', '.join([*SAMPLED, *COUNTED])} are)")
    if len(wanted) > MOST_PANELS:
        raise ResultsError(f"--y: {len(wanted)} panels are too many (at most {MOST_PANELS})")
    return wanted


def plot(
    measured: Measured,
    path: str | Path | None,
    period: Period,
    *,
    y: Sequence[str] | None = None,
    title: str = "",
    width: Width = "single",
) -> Figure:
    """Draw quantities over the phase: means as lines, bands from the 5th to the 95th percentile."""
    file = None if path is None else Path(path)
    if file is not None:
        check_plot_file(file)
    y = quantities(y)
    folded = fold(measured, period)
    curves = max(len({tuple(row[: folded.columns.index("quantity")]) for row in folded.rows}), 1)
    height = max(1.0, 0.25 + 0.55 * len(y) + 0.06 * min(curves, MOST_CURVES))
    with figure(file, height=height, width=width) as drawn:
        grid = drawn.subplots(len(y), 1, sharex=True, squeeze=False)[:, 0]
        for panel, name in zip(grid, y, strict=True):
            _draw(panel, folded, name)
        # The legend is below the panels, since names of several keys would cover them.
        named = [panel.get_legend_handles_labels() for panel in grid]
        handles, labels = max(named, key=lambda one: len(one[1]))
        if labels:
            drawn.legend(handles, labels, loc="outside lower center")
        grid[-1].set_xlabel(f"Time into {period.seconds:g} s (s)")
        grid[-1].set_xlim(0.0, period.seconds)
        if title:
            drawn.suptitle(in_lines(title, drawn), fontsize="medium")
    return made(drawn)


def _draw(panel: Axes, folded: Table, name: str) -> None:
    place = {column: index for index, column in enumerate(folded.columns)}
    curves: dict[tuple[Cell, ...], list[list[Cell]]] = {}
    for row in folded.rows:
        if row[place["quantity"]] == name:
            curves.setdefault(tuple(row[: place["quantity"]]), []).append(row)
    if not curves:
        raise ResultsError(f"nothing to draw: no sample has {name}")
    if len(curves) > MOST_CURVES:
        raise ResultsError(
            f"nothing to draw: {len(curves)} curves of {name} are too many (at most {MOST_CURVES}); "
            "--where flow=0 or link=forward takes some"
        )
    scale = NAMES[name][1]
    differing = [i for i in range(place["quantity"]) if len({key[i] for key in curves}) > 1]
    common = {i: _common([key[i] for key in curves]) for i in differing}
    for index, (key, rows) in enumerate(curves.items()):
        color = PALETTE[index % len(PALETTE)]
        words = [
            curve_word(folded.columns[i], _without(key[i], common[i]))
            for i in differing
            if key[i] not in (None, "")
        ]

        def column(of: str, rows: list[list[Cell]] = rows) -> list[float]:
            return [number(row[place[of]]) for row in rows]

        xs = column("phase_s")
        panel.plot(
            xs, [scale * value for value in column("mean")], color=color, label=", ".join(words) or None
        )
        if rows[0][place["p05"]] is not None:
            low, high = ([scale * value for value in column(of)] for of in ("p05", "p95"))
            panel.fill_between(xs, low, high, color=color, alpha=0.2, linewidth=0.0)
    panel.set_ylim(bottom=0.0)
    panel.set_ylabel(NAMES[name][0], fontsize="small")


def _common(cells: Sequence[Cell]) -> set[str]:
    """Parts of a column's tables of keys that all cells share, and that distinguish no curves."""
    parts = [set(_parts(cell)) for cell in cells if isinstance(cell, str)]
    return set.intersection(*parts) if parts and len(parts) == len(cells) else set()


def _without(cell: Cell, common: set[str]) -> Cell:
    if not isinstance(cell, str):
        return cell
    return " ".join(part for part in _parts(cell) if part not in common) or cell


def _parts(cell: str) -> list[str]:
    return re.split(r" (?=[\w.-]+=)", cell)
