"""Figures of sender events: state variables over time, or the time-sequence plot.

An events table has the columns of :func:`crossfade.events`; those before ``time_s`` are the axes of a sweep.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import ResultsError
from crossfade.figures import samples
from crossfade.figures.choice import COMPARISON, column_list, limit, number, relabelled
from crossfade.figures.choice import where as rows_where
from crossfade.figures.drawing import legend_clear
from crossfade.figures.style import PALETTE, Width, check_plot_file, figure, in_lines, made
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATE = ["cwnd", "ssthresh", "flight_size", "dupacks", "backoff"]
# Quantities of the kernel's sockets, and of the link at the same times.
LIVE = [
    "srtt_s",
    "delivery_rate_bps",
    "pacing_rate_bps",
    "retransmissions",
    "lost",
    "link_inside",
    "link_arrived",
    "link_lost",
    "link_dropped",
]
NAMES = {
    "cwnd": "Congestion window (segments)",
    "ssthresh": "Slow-start threshold (segments)",
    "flight_size": "Under way (segments)",
    "dupacks": "Duplicate acknowledgements",
    "backoff": "Back-off of the timeout",
    "seq": "Sequence number (segments)",
    "srtt_s": "Smoothed RTT (s)",
    "delivery_rate_bps": "Delivery rate (bit/s)",
    "pacing_rate_bps": "Pacing rate (bit/s)",
    "retransmissions": "Sent again (segments)",
    "lost": "Taken for lost (segments)",
    "link_inside": "Inside the link (packets)",
    "link_arrived": "Come out of the link (packets)",
    "link_lost": "Lost by the channel (packets)",
    "link_dropped": "Dropped by the queue (packets)",
}
CHOICES = [*STATE, "seq"]
# Marks of events on the curve of a state variable, and their labels.
MARKS = {"fast_retransmit": ("v", "fast retransmit"), "timeout": ("X", "timeout")}
# Greatest numbers of panels that are high enough to read, and of entries of a legend inside a panel.
MOST_PANELS = 6
MOST_IN_LEGEND = 10

Window = tuple[float, float]
"""A time window: its beginning and end in seconds."""
EVER = (-math.inf, math.inf)


@dataclass
class Timeline:
    """Events of one flow at one point."""

    axes: tuple[Cell, ...]
    flow: Cell
    # Index of each column in a row.
    place: dict[str, int]
    rows: list[list[Cell]] = field(default_factory=list)

    def times(self, *events: str) -> list[float]:
        """Times of the events of these kinds, or of all events."""
        return self.values("time_s", *events)

    def values(self, name: str, *events: str) -> list[float]:
        """Values of a variable right after the events of these kinds, or after all events."""
        index, kind = self.place[name], self.place["event"]
        return [number(row[index]) for row in self.rows if not events or row[kind] in events]


def is_events(table: Table) -> bool:
    """True if a table holds events rather than results."""
    return {"time_s", "event", "flow", "seq", "cwnd", "ssthresh"} <= set(table.columns)


def plot(
    table: Table,
    path: str | Path | None,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    title: str = "",
    width: Width = "single",
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Draw an events table, as :func:`crossfade.plot` does."""
    file = None if path is None else Path(path)
    if file is not None:
        check_plot_file(file)
    y = y or "cwnd"
    quantities = list(samples.QUANTITIES) if samples.has_samples(table) else []
    sampled = column_list(y) or []
    is_sampled = set(sampled) <= set(quantities)
    choices = [*CHOICES, *(name for name in LIVE if name in table.columns)]
    if y not in choices and not is_sampled:
        there = ", ".join([*choices, *quantities])
        raise ResultsError(f"column {y}: no curve over time; an events file has {there}")
    if x not in (None, "time_s"):
        raise ResultsError(f"column {x}: events are drawn over time_s")
    if not table.rows:
        raise ResultsError("nothing to draw: the table has no rows")
    if y in LIVE:
        of = table.columns.index(y)
        table = Table(table.columns, [row for row in table.rows if row[of] is not None])
    seen, where = _window(table, where or {})
    table = rows_where(table, where)
    axes_of_sweep = table.columns[: table.columns.index("time_s")]
    table = relabelled(table, [*axes_of_sweep, "flow"], labels or {})
    if is_sampled:
        return samples.plot(table, file, sampled, by=by, span=seen, title=title, width=width)
    if quantities:
        table = samples.without_links(table)
    names, panels = _panels(table, by, alone=y == "seq")
    if len(panels) > MOST_PANELS:
        raise ResultsError(
            f"nothing to draw: {len(panels)} panels are too many (at most {MOST_PANELS}); take fewer points, "
            f"or say what tells the curves of a panel apart (--by)"
        )
    with figure(file, height=max(1.0, 0.25 + 0.55 * len(panels)), width=width) as drawn:
        grid = drawn.subplots(len(panels), 1, sharex=True, squeeze=False)
        for axes, (key, timelines) in zip(grid[:, 0], panels, strict=True):
            if y == "seq":
                _draw_sequence(axes, timelines, seen)
            else:
                _draw_state(axes, timelines, y, [names[index] for index in _differing(timelines)], seen)
            if len(panels) > 1:
                axes.set_title(key, fontsize="medium", loc="left")
        grid[-1, 0].set_xlabel("Time (s)")
        last = max(number(time) for time in table.cells("time_s")) or 1.0
        grid[-1, 0].set_xlim(max(0.0, seen[0]), min(last, seen[1]))
        drawn.supylabel(NAMES[y], fontsize="medium")
        _legend(list(grid[:, 0]))
        if title:
            drawn.suptitle(in_lines(title, drawn), fontsize="medium")
    return made(drawn)


def _window(table: Table, where: Mapping[str, Any]) -> tuple[Window, dict[str, Any]]:
    """Time window to show, and the other conditions on rows.

    Events before the window are kept: a congestion window has a value at its beginning, and a segment may
    have been sent before.
    """
    rest: dict[str, Any] = {}
    start, end = EVER
    for name, asked in where.items():
        found = COMPARISON.fullmatch(name)
        if found is None or found[1].strip() != "time_s":
            rest[name] = asked
        elif found[2].startswith("<"):
            end = min(end, limit(name, asked))
        else:
            start = max(start, limit(name, asked))
    times = [number(time) for time in table.cells("time_s")]
    if not any(start <= time <= end for time in times):
        raise ResultsError(
            f"nothing to draw: no event has such a time_s (there are {min(times):g} to {max(times):g})"
        )
    return (start, end), rest


def _panels(
    table: Table, by: str | Sequence[str] | None, alone: bool
) -> tuple[list[str], list[tuple[str, list[Timeline]]]]:
    """Axes of the sweep, and the timelines of each panel with its heading.

    The last axis that varies (or ``by``) distinguishes the curves of a panel; with ``alone`` each point has a
    panel of its own.
    """
    names = table.columns[: table.columns.index("time_s")]
    varying = [name for name in names if len(set(table.cells(name))) > 1]
    curves_by = column_list(by)
    if curves_by is None:
        curves_by = [] if alone else varying[-1:]
    for name in curves_by:
        if name not in [*names, "flow"]:
            raise ResultsError(
                f"column {name}: no axis of the events (axes: {', '.join(names) or 'none'}, flow)"
            )
    found: dict[tuple[Cell, ...], Timeline] = {}
    place = {name: index for index, name in enumerate(table.columns)}
    for row in table.rows:
        key = (*row[: len(names)], row[place["flow"]])
        if key not in found:
            found[key] = Timeline(key[:-1], key[-1], place)
        found[key].rows.append(row)
    panels: dict[str, list[Timeline]] = {}
    for timeline in found.values():
        told = [
            curve_word(name, value)
            for name, value in zip(names, timeline.axes, strict=True)
            if name in varying and name not in curves_by
        ]
        panels.setdefault(", ".join(told), []).append(timeline)
    return names, list(panels.items())


def _differing(timelines: Sequence[Timeline]) -> list[int]:
    """Indices of the axes that distinguish the curves."""
    return [i for i in range(len(timelines[0].axes)) if len({line.axes[i] for line in timelines}) > 1]


def _draw_state(
    axes: Axes, timelines: Sequence[Timeline], y: str, told_by: Sequence[str], seen: Window
) -> None:
    several_flows = len({timeline.flow for timeline in timelines}) > 1
    differing = _differing(timelines)
    highest = 0.0
    for index, timeline in enumerate(timelines):
        color = PALETTE[index % len(PALETTE)]
        words = [curve_word(name, timeline.axes[i]) for name, i in zip(told_by, differing, strict=True)]
        words += [f"flow {timeline.flow}"] if several_flows else []
        xs, ys = _steps(timeline, y)
        axes.plot(xs, ys, color=color, drawstyle="steps-post", linewidth=0.8, label=", ".join(words) or None)
        highest = max(highest, *_seen(xs, ys, seen))
        for event, (marker, _) in MARKS.items():
            axes.plot(
                timeline.times(event),
                timeline.values(y, event),
                linestyle="none",
                marker=marker,
                markersize=3.5,
                markerfacecolor=color,
                markeredgecolor="black",
                markeredgewidth=0.4,
            )
        if y == "cwnd" and not several_flows:  # thresholds of many flows hide their windows
            xs, thresholds = _steps(timeline, "ssthresh")
            axes.plot(
                xs,
                thresholds,
                color=color,
                linestyle=(0, (4, 2)),
                drawstyle="steps-post",
                linewidth=0.5,
                alpha=0.7,
            )
    # The limits follow the windows: the initial threshold may be far above them.
    axes.set_ylim(0.0, 1.08 * highest or 1.0)


def _steps(timeline: Timeline, name: str) -> tuple[list[float], list[float]]:
    """Times at which a variable changes, and its new values, with the first and the last point."""
    points = list(zip(timeline.times(), timeline.values(name), strict=True))
    kept = [points[0], *(point for before, point in pairwise(points) if point[1] != before[1]), points[-1]]
    return [time for time, _ in kept], [value for _, value in kept]


def _seen(xs: Sequence[float], ys: Sequence[float], seen: Window) -> Iterator[float]:
    """Values of a step curve inside a time window, including the value at its beginning."""
    ends = [*xs[1:], math.inf]
    yield from (y for x, end, y in zip(xs, ends, ys, strict=True) if x <= seen[1] and end > seen[0])


def _draw_sequence(axes: Axes, timelines: Sequence[Timeline], seen: Window) -> None:
    """Draw transmissions, retransmissions, losses and acknowledgements of flows."""
    for index, timeline in enumerate(timelines):
        color = PALETTE[index % len(PALETTE)]
        first: list[tuple[float, float]] = []
        again: list[tuple[float, float]] = []
        highest = -1.0
        for time, seq in zip(timeline.times("send"), timeline.values("seq", "send"), strict=True):
            (first if seq > highest else again).append((time, seq))
            highest = max(highest, seq)
        dots: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0.0, "color": color}
        axes.plot(*_columns(first), marker=".", markersize=2.4, **dots, label=_flow_word(timeline, timelines))
        axes.plot(*_columns(again), marker="s", **{**dots, "markersize": 3.0, "color": "#000000"})
        missing = ("lost", "queue_drop")
        axes.plot(
            timeline.times(*missing),
            timeline.values("seq", *missing),
            linestyle="none",
            marker="x",
            markersize=4.0,
            markeredgewidth=0.8,
            color="#D55E00",
        )
        heard = ("ack", "duplicate_ack", "fast_retransmit", "recovery_end")
        axes.plot(
            timeline.times(*heard),
            timeline.values("seq", *heard),
            color=color,
            drawstyle="steps-post",
            linewidth=0.5,
            alpha=0.7,
        )
        timeouts = timeline.times("timeout")
        axes.plot(timeouts, timeline.values("seq", "timeout"), linestyle="none", marker="X", color="#000000")
    bottom, top = 0.0, None
    if seen != EVER:
        spans = (zip(line.times(), line.values("seq"), strict=True) for line in timelines)
        shown = [seq for span in spans for time, seq in span if seen[0] <= time <= seen[1] and seq == seq]
        bottom, top = (min(shown) - 1.0, max(shown) + 1.0) if shown else (0.0, None)
    axes.set_ylim(bottom, top)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _flow_word(timeline: Timeline, timelines: Sequence[Timeline]) -> str | None:
    return f"flow {timeline.flow}" if len(timelines) > 1 else None


def _legend(panels: Sequence[Axes]) -> None:
    """Draw the legend of the curves in the first panel, and below it that of the marks of all panels."""
    from matplotlib.lines import Line2D

    handles, labels = panels[0].get_legend_handles_labels()
    if len(handles) > MOST_IN_LEGEND:
        handles, labels = [], []
    for marker, text in _marks_drawn(panels):
        handles.append(Line2D([], [], color="#555555", marker=marker, linestyle="none"))
        labels.append(text)
    if handles:
        legend_clear(panels[0], handles, labels)


def _marks_drawn(panels: Sequence[Axes]) -> Iterator[tuple[str, str]]:
    import numpy as np  # it comes with matplotlib, and takes a while to load

    begin, end = panels[-1].get_xlim()
    times = [
        (line.get_marker(), np.asarray(line.get_xdata(), float)) for a in panels for line in a.get_lines()
    ]
    present = {marker for marker, xs in times if ((begin <= xs) & (xs <= end)).any()}
    meanings = [(".", "sent"), ("s", "retransmitted"), ("x", "lost or dropped"), *MARKS.values()]
    yield from ((marker, text) for marker, text in meanings if marker in present)
