"""Curves drawn with matplotlib, with their axes and their legend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crossfade.figures.axes import Axis
from crossfade.figures.curves import Curve, Part, drawing_order
from crossfade.figures.style import DASHES, LINES, MARKERS, PALETTE, SOLID, Look, has_marks, mark_of
from crossfade.tables import Cell
from crossfade.wording import curve_word, look_of, method_words

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.transforms import Bbox

# A longer legend would hide the curves, and stands below the figure.
MOST_INSIDE = 8
GREY = "#555555"
# Above a mark that is a lower bound: the truth is higher.
BOUND: dict[str, Any] = {"linestyle": "none", "marker": r"$\uparrow$", "markersize": 6, "label": "at least"}


@dataclass(frozen=True)
class Drawing:
    """What the panels of a figure have in common."""

    x: Axis
    y: Axis
    by: Sequence[str]
    looks: dict[tuple[Cell, ...], Look]
    methods: Sequence[str]
    intervals: str

    @property
    def dashes_tell_curves(self) -> bool:
        """Lines of a single method are free to differ in their dashes."""
        return len(self.methods) == 1 and not has_marks(self.methods[0])


def draw_curves(axes: Axes, curves: Sequence[Curve], drawing: Drawing) -> None:
    """Draw the curves of a panel."""
    for key, parts in curves:
        for part in parts:
            if has_marks(part.method):
                _draw_marks(axes, part, drawing.looks[key], drawing, is_alone=len(parts) == 1)
            elif look_of(part.method) == "band" and part.lowers is not None:
                color = PALETTE[drawing.looks[key].color]
                axes.fill_between(part.xs, part.lowers, part.ys, color=color, alpha=0.25, linewidth=0)
            else:
                _draw_lines(axes, part, drawing.looks[key], drawing, is_alone=len(parts) == 1)
    _set_axis(axes, drawing.x, "x")
    _set_axis(axes, drawing.y, "y")


def _draw_marks(axes: Axes, part: Part, look: Look, drawing: Drawing, is_alone: bool) -> None:
    color = PALETTE[look.color]
    if is_alone and not drawing.x.words:
        axes.plot(part.xs, part.ys, color=color, linewidth=0.5, alpha=0.6)
    ends = part.intervals if drawing.intervals != "none" else None
    if ends is not None and drawing.intervals == "bands" and not drawing.x.words:
        lows, highs = zip(*ends, strict=True)
        axes.fill_between(part.xs, lows, highs, color=color, alpha=0.18, linewidth=0)
        ends = None
    reach = None
    if ends is not None:
        both = list(zip(part.ys, ends, strict=True))
        reach = ([max(y - low, 0.0) for y, (low, _) in both], [max(high - y, 0.0) for y, (_, high) in both])
    axes.errorbar(
        part.xs,
        part.ys,
        yerr=reach,
        fmt=mark_of(part.method, drawing.methods, list(MARKERS)[look.mark]),
        color=color,
        markerfacecolor=color if look.is_filled else "none",
        markeredgewidth=0.8,
        elinewidth=0.8,
        capsize=1.8,
        capthick=0.8,
    )
    if bounds := [(x, y.value) for x, y in zip(part.xs, part.readings, strict=True) if y.at_least]:
        from matplotlib.transforms import offset_copy

        above = offset_copy(axes.transData, fig=axes.get_figure(root=True), y=7.0, units="points")
        xs, ys = zip(*bounds, strict=True)
        axes.plot(xs, ys, color=color, transform=above, **BOUND)


def _draw_lines(axes: Axes, part: Part, look: Look, drawing: Drawing, is_alone: bool) -> None:
    line = _line(part.method, look, drawing, is_alone)
    axes.plot(part.xs, part.ys, **line)
    if part.lowers is not None:
        axes.plot(part.xs, part.lowers, **line)


def _line(method: str, look: Look, drawing: Drawing, is_alone: bool) -> dict[str, Any]:
    style = list(DASHES)[look.dash] if drawing.dashes_tell_curves else LINES.get(look_of(method), SOLID)[0]
    # Curves of one colour differ in their marks, which a line does not have: there the shade differs.
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
    """On a logarithmic axis of short numbers those themselves, also at 2 and 5 where it spans few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if low < 1e-3 or high > 2e4:
        return
    axis = axes.xaxis if which == "x" else axes.yaxis
    words = FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(words)
    axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axis.set_minor_formatter(words if high < (30.0 if which == "x" else 1000.0) * low else NullFormatter())


def draw_legend(figure: Figure, panels: Sequence[Axes], curves: Sequence[Curve], drawing: Drawing) -> float:
    """The curves, and what each method looks like; where they would hide a curve, below the figure.

    Gives the height (in dots) of what stands below.
    """
    entries = [*_curve_entries(curves, drawing), *_method_entries(drawing), *_bound_entries(curves)]
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


def _curve_entries(curves: Sequence[Curve], drawing: Drawing) -> Iterator[tuple[Artist, str]]:
    from matplotlib.lines import Line2D

    if not drawing.by:
        return
    for key, look in drawing.looks.items():
        methods = list(dict.fromkeys(part.method for own, parts in curves if own == key for part in parts))
        if not methods:  # a curve without a value
            continue
        text = ", ".join(curve_word(name, value) for name, value in zip(drawing.by, key, strict=True))
        marks = any(has_marks(method) for method in methods)
        lines = [method for method in methods if not has_marks(method)]
        line = _line(lines[-1] if lines else "", look, drawing, is_alone=len(methods) == 1)
        if not lines:
            line |= {"linewidth": 0.5}
        if marks:
            color = PALETTE[look.color]
            line |= {"marker": list(MARKERS)[look.mark], "markeredgewidth": 0.8, "linestyle": "-"}
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


def _bound_entries(curves: Sequence[Curve]) -> Iterator[tuple[Artist, str]]:
    from matplotlib.lines import Line2D

    if any(reading.at_least for _, parts in curves for part in parts for reading in part.readings):
        yield Line2D([], [], color=GREY, **BOUND), "at least"


def _hides(legend: Legend, axes: Axes) -> bool:
    """Whether a legend lies on a curve, a mark or an interval."""
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
