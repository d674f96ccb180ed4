"""Figures of a table: the same bytes for the same table.

Simulation is drawn as marks with 95 % intervals, exact analysis as lines, bounds as bands (those a paper
prints as dotted lines), a formula as dashes. Where a curve is simulated only, a thin line joins its marks to
guide the eye; it states nothing between them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crossfade.axes import places_beside, scaled, x_axis, y_axis
from crossfade.choosing import Choice, choose, held_note, prepared, where
from crossfade.curves import Curve, curves
from crossfade.drawing import Drawing, draw_curves, draw_legend
from crossfade.errors import CrossfadeWarning, ResultsError, ScenarioError
from crossfade.figurestyle import check_plot_file, figure, height_beside, looks, width_in_inches
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

<<<<<<< HEAD
INTERVALS = ["bars", "bands", "none"]
# More panels are too small to read.
MOST_PANELS = 12
=======
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
>>>>>>> w-engine


def plot(
    table: Table,
    path: str,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | None = None,
    only: Mapping[str, Cell] | None = None,
    title: str = "",
    log_x: bool | None = None,
    log_y: bool | None = None,
    intervals: str = "bars",
    width: str | float = "single",
) -> None:
    """Draw a table; see :func:`crossfade.plot`, whose ``where`` is ``only``."""
    file = Path(path)
    check_plot_file(file)
    if intervals not in INTERVALS:
        raise ScenarioError(f"intervals = {intervals}: must be one of {', '.join(INTERVALS)}")
    table = where(prepared(table, y), only or {})
    choice = choose(table, x, y, by, panels)
    if choice.held:
        warnings.warn(held_note(table, choice.held), CrossfadeWarning, stacklevel=2)
        table = where(table, choice.held)
    across, table = x_axis(table, choice, log_x)
    groups = _by_panel(table, choice)
    parts = [part for group in groups.values() for _, found in group for part in found]
    if not parts:
        raise ResultsError(f"nothing to draw: {choice.y} has no value in these rows")
    up = y_axis(choice.y, parts, log_y)
    if up.is_log:
        _warn_of_zeros([value for part in parts for value in part.ys])
    keys = list(dict.fromkeys(key for group in groups.values() for key, _ in group))
    beside = dict(zip(keys, places_beside(len(keys)), strict=True))
    groups = {
        value: [(key, [scaled(part, across, up, beside[key]) for part in found]) for key, found in group]
        for value, group in groups.items()
    }
    drawing = Drawing(
        across,
        up,
        choice.by,
        dict(zip(keys, looks(keys), strict=True)),
        list(dict.fromkeys(part.method for part in parts)),
        intervals,
    )
    with figure(file, _grid(len(groups), width_in_inches(width))[2], width) as drawn:
        _draw(drawn, groups, choice.panels, drawing, title)


def _draw(
    figure: Figure,
    groups: Mapping[Cell, Sequence[Curve]],
    panels_by: str | None,
    drawing: Drawing,
    title: str,
) -> None:
    """The panels, what they have in common, and below them the legend."""
    rows, columns, _ = _grid(len(groups), figure.get_figwidth())
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
    panels, unused = list(grid)[: len(groups)], list(grid)[len(groups) :]
    for axes, (value, group) in zip(panels, groups.items(), strict=True):
        draw_curves(axes, group, drawing)
        if panels_by is not None:
            axes.set_title(curve_word(panels_by, value), fontsize="medium", loc="left")
    for index, axes in enumerate(unused, start=len(groups)):
        axes.remove()
        panels[index - columns].tick_params(labelbottom=True)
    labels = _label(figure, panels, drawing, title)
    below = draw_legend(figure, panels, [curve for group in groups.values() for curve in group], drawing)
    if labels is not None:
        below += 1.5 * labels[0].get_window_extent().height
    _keep_room(figure, below)
    if labels is not None:
        _centre(labels, figure, panels)


def _by_panel(table: Table, choice: Choice) -> dict[Cell, list[Curve]]:
    """The curves of each panel; without panels, of the only one."""
    tables: dict[Cell, Table] = {None: table}
    if choice.panels is not None:
        values = [cell for cell in dict.fromkeys(table.cells(choice.panels)) if cell is not None]
        tables = {value: where(table, {choice.panels: value}) for value in values}
    if len(tables) > MOST_PANELS:
        raise ResultsError(
            f"nothing to draw: {choice.panels} has {len(tables)} values, too many for panels "
            f"(at most {MOST_PANELS})"
        )
    return {
        value: curves(found, choice.x, choice.y, choice.by, choice.along) for value, found in tables.items()
    }


def _grid(panels: int, width: float) -> tuple[int, int, float]:
    """Rows and columns of panels, and how many times as high as usual the figure is."""
    if panels == 1:
        return 1, 1, 1.0
    most = max(round(width / 2.4), 1 if panels <= 4 else 2)
    rows = -(-panels // most)
    columns = -(-panels // rows)
    height = max(0.55 * width / columns, 1.4)
    return rows, columns, (rows * height + 0.4) / height_beside(width)


def _label(figure: Figure, panels: Sequence[Axes], drawing: Drawing, title: str) -> tuple[Text, Text] | None:
    """Name the axes and the figure: of several panels once for all, by the texts that are given back."""
    if len(panels) == 1:
        panels[0].set_xlabel(drawing.x.label)
        panels[0].set_ylabel(drawing.y.label)
        if title:
            panels[0].set_title(typeset(title), fontsize="medium", wrap=True)
        return None
    if title:
        figure.suptitle(typeset(title), fontsize="medium", wrap=True)
    # Not a supxlabel: that would stand at the bottom of the figure, where the legend is.
    across = figure.text(0.5, 0.5, drawing.x.label, fontsize="medium", va="top", ha="center")
    return across, figure.supylabel(drawing.y.label, fontsize="medium")


def _keep_room(figure: Figure, height: float) -> None:
    """Make the figure higher by that many dots, and keep them free below the panels."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if height:
        share = height / (figure.bbox.height + height)
        figure.set_figheight(figure.get_figheight() / (1.0 - share))
        engine = figure.get_layout_engine()
        assert isinstance(engine, ConstrainedLayoutEngine)
        engine.set(rect=(0.0, share, 1.0, 1.0 - share))


def _centre(labels: tuple[Text, Text], figure: Figure, panels: Sequence[Axes]) -> None:
    """Put common labels beside the middle of the panels: the figure has a title and a legend too."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    around = Bbox.union([axes.get_position() for axes in panels])
    lowest = min(box.y0 for axes in panels if (box := axes.get_tightbbox()) is not None)
    across, up = labels
    across.set_position((0.5 * (around.x0 + around.x1), (lowest - 0.03 * figure.dpi) / figure.bbox.height))
    up.set_y(0.5 * (around.y0 + around.y1))


def _warn_of_zeros(values: Sequence[float]) -> None:
    zeros = sum(value <= 0.0 for value in values)
    if zeros:
        text = (
            f"{zeros} of {len(values)} values are 0 and have no place on the logarithmic y axis (--linear-y)"
        )
        warnings.warn(text, CrossfadeWarning, stacklevel=3)
