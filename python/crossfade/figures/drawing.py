"""Drawing of curves with matplotlib, with their axes and their legend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from crossfade.figures.axes import Axis
from crossfade.figures.curves import Curve, Part, drawing_order
from crossfade.figures.style import DASHES, LINES, MARKERS, PALETTE, SOLID, Look, has_marks, mark_of, scale
from crossfade.tables import Cell
from crossfade.wording import curve_word, look_of, method_words

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.transforms import Bbox

# Mark of a single run, if there are too few runs for an interval.
EACH: dict[str, Any] = {"linestyle": "none", "marker": "_", "markersize": 5.0, "markeredgewidth": 0.9}
# Greatest number of entries of a legend inside the axes; a longer one is below the figure.
MOST_INSIDE = 8
GREY = "#555555"
# Greatest number of points of a curve with marks; more would form a chain.
MOST_MARKS = 25
# Distance in points between curves that are moved apart since intervals overlap, and the greatest number of
# such curves: with more the outer ones would be so far off that steep ones seem to cross elsewhere.
APART, MOST_APART = 2.6, 5
# Arrow above a mark that is a lower bound.
BOUND: dict[str, Any] = {"linestyle": "none", "marker": r"$\uparrow$", "markersize": 6, "label": "at least"}


def larger_marks(look: dict[str, Any]) -> dict[str, Any]:
    """Look whose marks are scaled to the size of the figure's words."""
    return look | {name: scale() * look[name] for name in ("markersize", "markeredgewidth") if name in look}


@dataclass(frozen=True)
class Drawing:
    """Properties that the panels of a figure share."""

    x: Axis
    y: Axis
    by: Sequence[str]
    looks: dict[tuple[Cell, ...], Look]
    methods: Sequence[str]
    intervals: str
    markers: bool = True
    span: tuple[float, float] = (0.0, 0.0)
    """Smallest and largest x value of all panels, in the unit of the axis."""

    @property
    def dashes_tell_curves(self) -> bool:
        """True if lines may differ in their dashes, since all are of one method."""
        return len(self.methods) == 1 and not has_marks(self.methods[0])


def draw_curves(axes: Axes, curves: Sequence[Curve], drawing: Drawing) -> None:
    """Draw the curves of a panel."""
    apart = _apart(curves, drawing)
    for key, parts in curves:
        for part in parts:
            look = drawing.looks[key]
            if has_marks(part.method):
                beside = apart.get((key, part.method), 0.0)
                _draw_marks(axes, part, look, drawing, is_alone=len(parts) == 1, beside=beside)
            elif look_of(part.method) == "band" and part.lowers is not None:
                color = PALETTE[look.color]
                axes.fill_between(part.xs, part.lowers, part.ys, color=color, alpha=0.25, linewidth=0)
            else:
                _draw_lines(axes, part, look, drawing, is_alone=len(parts) == 1)
    _set_axis(axes, drawing.x, "x")
    if apart:
        _set_span(axes, drawing)
    _set_axis(axes, drawing.y, "y")


def _set_span(axes: Axes, drawing: Drawing) -> None:
    """Set the x limits by the values alone, since matplotlib takes offset marks for other values."""
    low, high = drawing.span
    is_log = drawing.x.is_log and low > 0.0
    if high <= low or drawing.x.limits != (None, None):
        return
    if is_log:
        margin = (high / low) ** 0.05
        axes.set_xlim(low / margin, high * margin)
    else:
        margin = 0.05 * (high - low)
        axes.set_xlim(low - margin, high + margin)


def as_line(part: Part, drawing: Drawing) -> bool:
    """True if marks of this part are drawn as a line, with its intervals as a band."""
    return not drawing.x.words and (not drawing.markers or len(part.xs) > MOST_MARKS)


def _apart(curves: Sequence[Curve], drawing: Drawing) -> dict[tuple[tuple[Cell, ...], str], float]:
    """Horizontal offset in points of each curve by method, so that overlapping intervals stay visible.

    Nothing is moved if no two intervals at one place overlap, or on an axis of words, where curves are side
    by side. If marks lie on lines (exact analysis, bounds), only the methods of one curve are moved apart: on
    a steep line an offset mark would seem to be off the line.
    """
    if drawing.x.words or drawing.intervals != "bars":
        return {}
    marked = [
        (key, part)
        for key, parts in curves
        for part in parts
        if has_marks(part.method) and not as_line(part, drawing)
    ]
    at: dict[float, list[tuple[float, float]]] = {}
    for _, part in marked:
        for x, reading in zip(part.xs, part.readings, strict=True):
            low, high = reading.reach or (reading.value, reading.value)
            at.setdefault(x, []).append((low, high))
    overlap = any(
        first[0] <= second[1] and second[0] <= first[1] and (first[0] < first[1] or second[0] < second[1])
        for ends in at.values()
        for first, second in combinations(ends, 2)
    )
    if not overlap:
        return {}
    if len(marked) > MOST_APART:
        return {}
    has_lines = any(not has_marks(part.method) for _, parts in curves for part in parts)
    groups = [[one for one in marked if one[0] == key] for key, _ in curves] if has_lines else [marked]
    step = scale() * APART
    moved: dict[tuple[tuple[Cell, ...], str], float] = {}
    for group in groups:
        middle = 0.5 * (len(group) - 1)
        moved |= {(key, part.method): (place - middle) * step for place, (key, part) in enumerate(group)}
    return moved


def _draw_marks(
    axes: Axes, part: Part, look: Look, drawing: Drawing, *, is_alone: bool, beside: float
) -> None:
    from matplotlib.transforms import offset_copy

    color, larger = PALETTE[look.color], scale()
    figure = axes.get_figure(root=True)
    place = offset_copy(axes.transData, fig=figure, x=beside, units="points") if beside else axes.transData
    line = as_line(part, drawing)
    if line:
        axes.plot(part.xs, part.ys, color=color, linestyle=list(DASHES)[look.dash])
    elif is_alone and not drawing.x.words:
        axes.plot(part.xs, part.ys, color=color, linewidth=0.5 * larger, alpha=0.6, transform=place)
    ends = part.intervals if drawing.intervals != "none" else None
    if ends is not None and (line or (drawing.intervals == "bands" and not drawing.x.words)):
        lows, highs = zip(*ends, strict=True)
        axes.fill_between(part.xs, lows, highs, color=color, alpha=0.18, linewidth=0)
        ends = None
    reach = None
    if ends is not None:
        both = list(zip(part.ys, ends, strict=True))
        reach = ([max(y - low, 0.0) for y, (low, _) in both], [max(high - y, 0.0) for y, (_, high) in both])
    if not line:
        axes.errorbar(
            part.xs,
            part.ys,
            yerr=reach,
            fmt=mark_of(part.method, drawing.methods, list(MARKERS)[look.mark]),
            color=color,
            markerfacecolor=color if look.is_filled else "none",
            markeredgewidth=0.8 * larger,
            elinewidth=0.8 * larger,
            capsize=1.8 * larger,
            capthick=0.8 * larger,
            transform=place,
        )
    if each := part.runs if drawing.intervals != "none" else []:
        xs, ys = zip(*each, strict=True)
        axes.plot(xs, ys, color=color, transform=place, **larger_marks(EACH))
    if bounds := [(x, y.value) for x, y in zip(part.xs, part.readings, strict=True) if y.at_least]:
        above = offset_copy(axes.transData, fig=figure, x=beside, y=7.0, units="points")
        xs, ys = zip(*bounds, strict=True)
        axes.plot(xs, ys, color=color, transform=above, **larger_marks(BOUND))


def _draw_lines(axes: Axes, part: Part, look: Look, drawing: Drawing, is_alone: bool) -> None:
    line = _line(part.method, look, drawing, is_alone)
    axes.plot(part.xs, part.ys, **line)
    if part.lowers is not None:
        axes.plot(part.xs, part.lowers, **line)


def _line(method: str, look: Look, drawing: Drawing, is_alone: bool) -> dict[str, Any]:
    style = list(DASHES)[look.dash] if drawing.dashes_tell_curves else LINES.get(look_of(method), SOLID)[0]
    # Curves of one colour differ in their marks; lines, which have none, differ in shade.
    is_pale = is_alone and not look.is_filled and not drawing.dashes_tell_curves
    return {"color": PALETTE[look.color], "linestyle": style, "alpha": 0.55 if is_pale else 1.0}


def _set_axis(axes: Axes, axis: Axis, which: str) -> None:
    if axis.words:
        lengths = [len(word) for word in axis.words]
        turned = sum(lengths) > 36 or len(lengths) * max(lengths) > 60
        axes.set_xticks(
            range(len(axis.words)),
            labels=list(axis.words),
            rotation=30 if turned else 0,
            horizontalalignment="right" if turned else "center",
        )
        axes.set_xlim(-0.5, len(axis.words) - 0.5)
    set_limits, set_scale = (
        (axes.set_xlim, axes.set_xscale) if which == "x" else (axes.set_ylim, axes.set_yscale)
    )
    if axis.is_log:
        set_scale("log")
    low, high = axis.limits
    if low is not None or high is not None:
        set_limits(low, high)
    if axis.is_log:
        _plain_numbers(axes, which)


def _plain_numbers(axes: Axes, which: str) -> None:
    """Label a logarithmic axis with short plain numbers, also at 2 and 5 if it spans few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    axis = axes.xaxis if which == "x" else axes.yaxis
    words = FuncFormatter(lambda value, _: number_word(value, low, high))
    axis.set_major_formatter(words)
    axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    # Less than two decades may contain only one power of ten.
    most = (60.0 if which == "x" else 1000.0) if is_short(low, high) else 30.0
    axis.set_minor_formatter(words if high < most * low else NullFormatter())


def is_short(low: float, high: float) -> bool:
    """True if the numbers of a logarithmic axis from ``low`` to ``high`` are short without powers of ten."""
    return low >= 1e-3 and high <= 2e4


def number_word(value: float, low: float, high: float) -> str:
    """Label of a number on a logarithmic axis: plain if all numbers from ``low`` to ``high`` are short."""
    return f"{value:g}" if is_short(low, high) else power(value)


def power(value: float) -> str:
    """Label of a number as a power of ten, with its factor."""
    digits, exponent = f"{value:.2e}".split("e")
    factor, raised = float(digits), f"10^{{{int(exponent)}}}"
    return f"${raised}$" if factor == 1.0 else f"${factor:g}\\times {raised}$"


def settle_ticks(panels: Sequence[Axes], drawing: Drawing) -> None:
    """Put a tick at each of the few values of the x axis, with labels as far as they have room."""
    from matplotlib.ticker import NullLocator

    axis = drawing.x
    if not axis.ticks or axis.words:
        return
    values = [tick / axis.factor for tick in axis.ticks]
    shown = [value for value in values if value > 0.0 or not axis.is_log]
    low, high = min(shown, default=1.0), max(shown, default=1.0)
    short = not axis.is_log or (low >= 1e-4 and high <= 2e5)
    words = [f"{value:.3g}" if short and "e" not in f"{value:.3g}" else power(value) for value in shown]
    before = [(panel, panel.xaxis.get_major_locator(), panel.xaxis.get_major_formatter()) for panel in panels]
    minor = [(panel.xaxis.get_minor_locator(), panel.xaxis.get_minor_formatter()) for panel in panels]
    for panel in panels:
        panel.set_xticks(shown, labels=words)
        panel.xaxis.set_minor_locator(NullLocator())
    figure = panels[0].get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    labelled = [panel for panel in panels if any(label.get_visible() for label in panel.get_xticklabels())]
    for panel in labelled:
        boxes = [label.get_window_extent() for label in panel.get_xticklabels() if label.get_text()]
        if any(left.x1 + 2.0 > right.x0 for left, right in pairwise(sorted(boxes, key=lambda box: box.x0))):
            break
    else:
        return
    for (panel, locator, formatter), (minor_locator, minor_formatter) in zip(before, minor, strict=True):
        panel.xaxis.set_major_locator(locator)
        panel.xaxis.set_major_formatter(formatter)
        panel.xaxis.set_minor_locator(minor_locator)
        panel.xaxis.set_minor_formatter(minor_formatter)


def draw_legend(figure: Figure, panels: Sequence[Axes], curves: Sequence[Curve], drawing: Drawing) -> float:
    """Draw the legend of curves and methods; below the figure if it would hide a curve.

    Returns the height (in dots) of a legend below the figure.
    """
    entries = [*_curve_entries(curves, drawing), *_method_entries(drawing), *_sign_entries(curves)]
    if not entries:
        return 0.0
    handles, labels = [handle for handle, _ in entries], [label for _, label in entries]
    if len(panels) == 1 and len(entries) <= MOST_INSIDE:
        legend = panels[0].legend(handles, labels)
        figure.draw_without_rendering()
        if not _hides(legend, panels[0]):
            return 0.0
        legend.remove()
    for columns in range(min(len(entries), 6), 0, -1):
        legend = figure.legend(handles, labels, loc="lower center", ncols=columns, borderaxespad=0.2)
        figure.draw_without_rendering()
        box = legend.get_window_extent()
        if columns == 1 or box.width <= 0.98 * figure.bbox.width:
            break
        legend.remove()
    return box.height


def draw_legend_onto(axes: Axes, curves: Sequence[Curve], drawing: Drawing) -> None:
    """Draw the legend into Axes of the user; below them if it would hide a curve."""
    entries = [*_curve_entries(curves, drawing), *_method_entries(drawing), *_sign_entries(curves)]
    if entries:
        legend_clear(axes, [handle for handle, _ in entries], [label for _, label in entries])


def legend_clear(axes: Axes, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Legend in a panel, or below it if it would hide a curve."""
    legend = axes.legend(handles, labels)
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    if not _hides(legend, axes):
        return
    legend.remove()
    if figure.get_layout_engine() is not None:
        columns = max(1, min(len(labels), 4 if figure.get_figwidth() > 5.0 else 2))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    else:
        axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)


def _curve_entries(curves: Sequence[Curve], drawing: Drawing) -> Iterator[tuple[Artist, str]]:
    from matplotlib.lines import Line2D

    if not drawing.by:
        return
    for key, look in drawing.looks.items():
        methods = list(dict.fromkeys(part.method for own, parts in curves if own == key for part in parts))
        if not methods:  # a curve without a value
            continue
        text = ", ".join(curve_word(name, value) for name, value in zip(drawing.by, key, strict=True))
        own = [part for of, parts in curves if of == key for part in parts if has_marks(part.method)]
        marks = any(not as_line(part, drawing) for part in own)
        lines = [method for method in methods if not has_marks(method)]
        line = _line(lines[-1] if lines else "", look, drawing, is_alone=len(methods) == 1)
        if not lines and marks:
            line |= {"linewidth": 0.5 * scale()}
        elif not lines:
            line |= {"linestyle": list(DASHES)[look.dash], "alpha": 1.0}
        if marks:
            color = PALETTE[look.color]
            line |= {"marker": list(MARKERS)[look.mark], "markeredgewidth": 0.8 * scale(), "linestyle": "-"}
            line |= {"markerfacecolor": color if look.is_filled else "none", "alpha": 1.0}
        if drawing.x.words:
            line |= {"linestyle": "none"}
        yield Line2D([], [], **line), text


def _method_entries(drawing: Drawing) -> Iterator[tuple[Artist, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    color = GREY if drawing.by else PALETTE[0]
    for method in sorted(drawing.methods, key=drawing_order) if len(drawing.methods) > 1 else []:
        handle: Artist
        if has_marks(method):
            handle = Line2D(
                [], [], color=color, marker=mark_of(method, drawing.methods, "o"), linestyle="none"
            )
        elif look_of(method) == "band":
            handle = Patch(color=color, alpha=0.25, linewidth=0)
        else:
            handle = Line2D([], [], color=color, ls=LINES.get(look_of(method), SOLID)[0])
        yield handle, method_words(method)


def _sign_entries(curves: Sequence[Curve]) -> Iterator[tuple[Artist, str]]:
    from matplotlib.lines import Line2D

    if any(reading.at_least for _, parts in curves for part in parts for reading in part.readings):
        yield Line2D([], [], color=GREY, **larger_marks(BOUND)), "at least"
    if any(part.runs for _, parts in curves for part in parts):
        yield Line2D([], [], color=GREY, **larger_marks(EACH)), "a run"


def _hides(legend: Legend, axes: Axes) -> bool:
    """True if a legend covers a curve, a mark or an interval."""
    box = legend.get_window_extent()
    for line in axes.lines:
        path = line.get_transform().transform_path(line.get_path())
        joined = line.get_linestyle() not in ("None", "none", "")
        if (joined and path.intersects_bbox(box, filled=False)) or _any_inside(box, path.vertices):
            return True
    for collection in axes.collections:
        for outline in collection.get_paths():
            if collection.get_transform().transform_path(outline).intersects_bbox(box, filled=True):
                return True
    return False


def _any_inside(box: Bbox, points: Any) -> bool:
    return any(box.contains(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y))
