"""Figures of samples of flows and links over time, a panel for each quantity.

A table of samples has the columns of :func:`crossfade.runs.samples`; those before ``time_s`` are the axes of
a sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crossfade.errors import ResultsError
from crossfade.figures.choice import column_list, number
from crossfade.figures.drawing import legend_clear
from crossfade.figures.style import PALETTE, Width, figure, in_lines, made
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Quantities of samples beside the sender's state: label in figures, and factor to the label's unit.
QUANTITIES: dict[str, tuple[str, float]] = {
    "goodput_bps": ("Goodput (Mbit/s)", 1e-6),
    "rtt_mean_s": ("Round trip (ms)", 1e3),
    "queue_packets": ("Queue (packets)", 1.0),
    "capacity_bps": ("Capacity (Mbit/s)", 1e-6),
    "retransmissions": ("Retransmissions", 1.0),
}
# Greatest numbers of panels that are high enough to read, and of curves that can be told apart.
MOST_PANELS = 6
MOST_CURVES = 12


def has_samples(table: Table) -> bool:
    """True if a table of events has the columns of samples."""
    return set(QUANTITIES) <= set(table.columns)


def without_links(table: Table) -> Table:
    """Table with the rows of flows only; rows of links have no sender."""
    flow = table.columns.index("flow")
    return Table(table.columns, [row for row in table.rows if row[flow] not in (None, "")])


def plot(
    table: Table,
    file: Path | None,
    y: Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    span: tuple[float, float],
    title: str = "",
    width: Width = "single",
) -> Figure:
    """Draw the quantities ``y`` one above the other, with a curve for each flow, link and point."""
    place = {name: index for index, name in enumerate(table.columns)}
    rows = [row for row in table.rows if row[place["event"]] == "sample"]
    if not rows:
        raise ResultsError("nothing to draw: there are no samples (run.sample says how far apart they are)")
    if len(y) > MOST_PANELS:
        raise ResultsError(f"--y: {len(y)} panels are too many (at most {MOST_PANELS})")
    axes = table.columns[: place["time_s"]]
    varying = [name for name in axes if len(set(table.cells(name))) > 1]
    for name in column_list(by) or []:
        if name not in (*axes, "flow", "link"):
            raise ResultsError(f"column {name}: no axis of the samples (axes: {', '.join(axes) or 'none'})")
    with figure(file, height=max(1.0, 0.25 + 0.55 * len(y)), width=width) as drawn:
        grid = drawn.subplots(len(y), 1, sharex=True, squeeze=False)[:, 0]
        for panel, name in zip(grid, y, strict=True):
            curves = _curves(rows, place, name, axes, varying)
            _draw(panel, name, curves, span)
        grid[-1].set_xlabel("Time (s)")
        last = max(number(row[place["time_s"]]) for row in rows)
        grid[-1].set_xlim(max(0.0, span[0]), min(last, span[1]))
        if title:
            drawn.suptitle(in_lines(title, drawn), fontsize="medium")
    return made(drawn)


Curve = tuple[list[float], list[float]]


def _curves(
    rows: Sequence[Sequence[Cell]],
    place: Mapping[str, int],
    name: str,
    axes: Sequence[str],
    varying: Sequence[str],
) -> dict[str, Curve]:
    """Series of a quantity for each flow and link at each point, keyed by the words that distinguish them."""
    found: dict[tuple[Cell, ...], Curve] = {}
    for row in rows:
        value = row[place[name]]
        if value in (None, ""):
            continue
        key = (*(row[place[axis]] for axis in varying), row[place["flow"]], row[place["link"]])
        xs, ys = found.setdefault(key, ([], []))
        xs.append(number(row[place["time_s"]]))
        ys.append(number(value) * QUANTITIES[name][1])
    if not found:
        raise ResultsError(f"nothing to draw: no sample has {name}")
    if len(found) > MOST_CURVES:
        raise ResultsError(
            f"nothing to draw: {len(found)} curves of {name} are too many (at most {MOST_CURVES}); "
            "--where flow=0 or link=forward takes some"
        )
    flows, links = ({key[place_] for key in found} - {None, ""} for place_ in (-2, -1))
    curves = {}
    for (*values, flow, link), curve in found.items():
        words = [curve_word(axis, value) for axis, value in zip(varying, values, strict=True)]
        if flow not in (None, "") and (len(flows) > 1 or links):
            words.append(f"flow {flow}")
        if link not in (None, "") and (len(links) > 1 or flows):
            words.append(f"link {link}")
        curves[", ".join(words)] = curve
    return curves


def _draw(panel: Axes, name: str, curves: Mapping[str, Curve], span: tuple[float, float]) -> None:
    highest = 0.0
    for index, (words, (xs, ys)) in enumerate(curves.items()):
        dashes = "-" if index < len(PALETTE) else "--"
        color = PALETTE[index % len(PALETTE)]
        panel.plot(xs, ys, dashes, color=color, linewidth=0.8, label=words or None)
        highest = max([highest, *(y for x, y in zip(xs, ys, strict=True) if span[0] <= x <= span[1])])
    panel.set_ylim(0.0, 1.08 * highest or 1.0)
    panel.set_ylabel(QUANTITIES[name][0], fontsize="small")
    if any(curves):
        legend_clear(panel, *panel.get_legend_handles_labels())
