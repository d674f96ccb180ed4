"""Map of a mesh: its nodes, the hops of its routes, and simultaneous exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crossfade.figures.style import PALETTE, Width, check_plot_file, figure, in_lines, made

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Greatest number of nodes whose numbers are drawn; more would hide each other.
MOST_NUMBERS = 120


def plot_map(
    path: str | Path | None,
    positions: Sequence[Sequence[float]],
    links: Sequence[Sequence[int]],
    exchanges: Sequence[Sequence[int]],
    *,
    range_m: float,
    interference_m: float,
    title: str = "",
    width: Width = "single",
) -> Figure:
    """Draw nodes at their positions, ``links`` as thin lines, ``exchanges`` as thick ones.

    Circles show the range of reception of the first node of the first exchange and, dashed, its range of
    interference.
    """
    from matplotlib.patches import Circle

    file = None if path is None else Path(path)
    if file is not None:
        check_plot_file(file)
    xs, ys = [place[0] for place in positions], [place[1] for place in positions]
    with figure(file, height=0.85, width=width) as drawn:
        axes = drawn.subplots()
        for first, second in links:
            axes.plot([xs[first], xs[second]], [ys[first], ys[second]], color="0.75", linewidth=0.8, zorder=1)
        for number, (first, second) in enumerate(exchanges):
            label = "largest set of exchanges" if number == 0 else None
            ends = ([xs[first], xs[second]], [ys[first], ys[second]])
            axes.plot(*ends, color=PALETTE[1], linewidth=2.4, zorder=2, label=label)
        if exchanges:
            centre = exchanges[0][0]
            for radius, style, label in ((range_m, "-", "range"), (interference_m, "--", "interference")):
                circle = Circle(
                    (xs[centre], ys[centre]), radius, fill=False, color="0.5", linewidth=0.7, linestyle=style
                )
                axes.add_patch(circle)
                axes.plot(
                    [], [], color="0.5", linewidth=0.7, linestyle=style, label=f"{label} of node {centre}"
                )
        axes.plot(xs, ys, linestyle="none", marker="o", markersize=4.0, color=PALETTE[0], zorder=3)
        if len(positions) <= MOST_NUMBERS:
            for node, (x, y) in enumerate(zip(xs, ys, strict=True)):
                axes.annotate(
                    str(node), (x, y), xytext=(2.5, 2.5), textcoords="offset points", fontsize="x-small"
                )
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.08)
        axes.set_xlabel("East (m)")
        axes.set_ylabel("North (m)")
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            drawn.legend(handles, labels, loc="outside lower center", ncols=2)
        if title:
            drawn.suptitle(in_lines(title, drawn), fontsize="medium")
    return made(drawn)
