"""Figures of link events: frames, queues, slots, occupancy of the air, and delays of packets.

A link-events table has the columns of :func:`crossfade.runs.link_events`; those before ``time_s`` are the
axes of a sweep. Each kind of event has a kind of picture, and each link (and point of a sweep) a panel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import ResultsError
from crossfade.figures.choice import number
from crossfade.figures.choice import where as rows_where
from crossfade.figures.style import PALETTE, Width, check_plot_file, figure, in_lines, made
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Columns that may be drawn: the kind of event that has each, and the label of its axis.
DRAWN = {
    "attempt": ("frame", "Earlier attempts"),
    "snr_db": ("frame", "SNR (dB)"),
    "packets": ("queue", "Waiting (packets)"),
    "bytes": ("queue", "Waiting (B)"),
    "bin": ("slot", "Bin"),
    "node": ("air", "Node"),
    "delay": ("delay", "One-way delay (ms)"),
}
# Column of each kind of event that is drawn by default.
USUAL = ["bin", "node", "attempt", "packets", "delay"]
VERDICTS = {
    "good": (PALETTE[0], ".", "good"),
    "combined": (PALETTE[2], "D", "good with earlier copies"),
    "corrupt": (PALETTE[5], "^", "corrupt"),
    "lost": (PALETTE[1], "x", "lost"),
}
# Kinds of frames in an exchange; None on a medium with one kind.
FRAMES: dict[Cell, tuple[str, str]] = {
    None: (PALETTE[0], "on the air"),
    "rts": (PALETTE[3], "RTS"),
    "cts": (PALETTE[5], "CTS"),
    "data": (PALETTE[0], "DATA"),
    "ack": (PALETTE[2], "ACK"),
}
CHANGES = {"dropped": (PALETTE[1], "x", "dropped"), "marked": (PALETTE[3], "^", "marked")}
# Parts of a packet's delay from bottom to top: column, colour, and label.
PARTS = {
    "delay_air_s": ("0.75", "air"),
    "delay_grant_s": (PALETTE[0], "slot or grant"),
    "delay_queue_s": (PALETTE[2], "queue"),
    "delay_harq_s": (PALETTE[3], "HARQ"),
    "delay_rlc_s": (PALETTE[1], "RLC"),
    "delay_reordering_s": (PALETTE[5], "reordering"),
}
# Greatest number of packets that are drawn one by one; more are drawn as means over intervals.
MOST_BARS = 150
# Greatest numbers of panels, and of entries of a legend, that can be read.
MOST_PANELS = 6
MOST_IN_LEGEND = 12


@dataclass(frozen=True)
class Panel:
    """Events of one kind on one link at one point of a sweep."""

    heading: str
    y: str
    events: list[dict[str, Cell]]

    def of(self, name: str, **only: str) -> list[float]:
        """Values of a column in the events whose other cells are as given."""
        return [number(event[name]) for event in self.events if only.items() <= event.items()]


def is_link_events(table: Table) -> bool:
    """True if a table holds link events rather than results."""
    return {"time_s", "link", "event", "verdict", "bin", "end_s", "change"} <= set(table.columns)


def plot(
    table: Table,
    path: str | Path | None,
    *,
    x: str | None = None,
    y: str | None = None,
    where: Mapping[str, Any] | None = None,
    title: str = "",
    width: Width = "single",
) -> Figure:
    """Draw a link-events table, as :func:`crossfade.plot` does."""
    file = None if path is None else Path(path)
    if file is not None:
        check_plot_file(file)
    if y is not None and y not in DRAWN:
        raise ResultsError(f"column {y}: no picture of link events; there are {', '.join(DRAWN)}")
    if x not in (None, "time_s"):
        raise ResultsError(f"column {x}: link events are drawn over time_s")
    table = rows_where(table, where or {})
    panels = list(_panels(table, [y] if y is not None else USUAL))
    if not panels:
        raise ResultsError("nothing to draw: the table has no such events")
    if len(panels) > MOST_PANELS:
        raise ResultsError(
            f"nothing to draw: {len(panels)} panels are too many (at most {MOST_PANELS}); choose a link, "
            "a point (--where link=forward) or a column (--y)"
        )
    with figure(file, height=max(1.0, 0.25 + 0.55 * len(panels)), width=width) as drawn:
        grid = drawn.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        ends = []
        for axes, panel in zip(grid, panels, strict=True):
            ends.append(PICTURES[DRAWN[panel.y][0]](axes, panel))
            axes.set_ylabel(DRAWN[panel.y][1])
            if panel.heading:
                axes.set_title(panel.heading, fontsize="medium", loc="left")
        first, last = min(min(panel.of("time_s")) for panel in panels), max(ends)
        grid[-1].set_xlabel("Time (s)")
        grid[-1].set_xlim(first, last if last > first else first + 1.0)
        _legend(drawn, grid)
        if title:
            drawn.suptitle(in_lines(title, drawn), fontsize="medium")
    return made(drawn)


def _panels(table: Table, columns: Sequence[str]) -> Iterator[Panel]:
    """Panels for these columns, with headings that distinguish them."""
    names = table.columns[: table.columns.index("time_s")]
    varying = [name for name in names if len(set(table.cells(name))) > 1]
    groups: dict[tuple[Cell, ...], list[dict[str, Cell]]] = {}
    for record in table.records():
        # Deferrals are drawn in the panel of the transmissions.
        event = "air" if record["event"] == "defer" else record["event"]
        key = (*(record[name] for name in names), record["link"], event)
        groups.setdefault(key, []).append(record)
    several_links = len(set(table.cells("link"))) > 1
    for key, events in groups.items():
        point = [curve_word(name, events[0][name]) for name in varying]
        heading = ", ".join([*point, *([str(events[0]["link"])] if several_links else [])])
        for y in columns:
            column = "delay_air_s" if y == "delay" else y
            if DRAWN[y][0] == key[-1] and any(event.get(column) is not None for event in events):
                yield Panel(heading, y, events)


def _frames(axes: Axes, panel: Panel) -> float:
    """Draw each frame at its time of transmission, by its outcome; returns the last time."""
    for place, (verdict, (color, marker, words)) in enumerate(VERDICTS.items()):
        # Outcomes have rows of their own, since lost frames would hide the others.
        beside = 0.12 * (place - 1.5) if panel.y == "attempt" else 0.0
        xs = panel.of("time_s", verdict=verdict)
        ys = [value + beside for value in panel.of(panel.y, verdict=verdict)]
        if xs:
            size = 2.2 if marker == "." else 3.2
            axes.plot(xs, ys, linestyle="none", marker=marker, markersize=size, color=color, label=words)
    if panel.y == "attempt":
        axes.set_ylim(-0.5, max(panel.of("attempt")) + 0.5)
        axes.locator_params(axis="y", integer=True)
    return max(panel.of("time_s"))


def _queue(axes: Axes, panel: Panel) -> float:
    """Draw the queue length after each change (by node), drops and marks; returns the last time."""
    queues: dict[Cell, list[dict[str, Cell]]] = {}
    for event in panel.events:
        queues.setdefault(event["node"], []).append(event)
    for index, (node, events) in enumerate(queues.items()):
        times = [number(event["time_s"]) for event in events]
        lengths = [number(event[panel.y]) for event in events]
        label = f"node {number(node):g}" if len(queues) > 1 else None
        color = _color(index)
        axes.plot(times, lengths, drawstyle="steps-post", linewidth=0.7, color=color, label=label)
    for change, (color, marker, words) in CHANGES.items():
        xs, ys = panel.of("time_s", change=change), panel.of(panel.y, change=change)
        if xs:
            axes.plot(xs, ys, linestyle="none", marker=marker, color=color, label=words)
    axes.set_ylim(0.0, 1.08 * max(panel.of(panel.y)) or 1.0)
    return max(panel.of("time_s"))


def _slots(axes: Axes, panel: Panel) -> float:
    """Draw a map of slots and bins, in the colours of the users; returns the last time."""
    times = sorted(set(panel.of("time_s")))
    slot = min((b - a for a, b in pairwise(times)), default=1.0)
    users = sorted(set(panel.of("user")))
    for index, user in enumerate(users):
        mine = [event for event in panel.events if number(event["user"]) == user]
        rows: dict[float, list[tuple[float, float]]] = {}
        for event in mine:
            rows.setdefault(number(event["bin"]), []).append((number(event["time_s"]), slot))
        for place, (bin, spans) in enumerate(rows.items()):
            label = f"user {user:g}" if place == 0 else None
            axes.broken_barh(spans, (bin - 0.5, 1.0), color=_color(index), linewidth=0.0, label=label)
    axes.set_ylim(min(panel.of("bin")) - 0.5, max(panel.of("bin")) + 0.5)
    axes.locator_params(axis="y", integer=True)
    axes.grid(visible=False)
    return times[-1] + slot


def _air(axes: Axes, panel: Panel) -> float:
    """Draw transmissions by node, with nulled nodes, and deferrals of RTS frames; returns the last time."""
    nodes = sorted(set(panel.of("node")))
    rows = {node: row for row, node in enumerate(nodes)}
    frames = [event for event in panel.events if event["event"] == "air"]
    for kind, (color, words) in FRAMES.items():
        for node, row in rows.items():
            spans = [
                _span(event)
                for event in frames
                if event.get("kind") == kind and number(event["node"]) == node
            ]
            axes.broken_barh(spans, (row - 0.4, 0.8), color=color, linewidth=0.0)
        if any(event.get("kind") == kind for event in frames):
            axes.plot([], [], color=color, linewidth=4.0, label=words)
    nulls = [
        (number(event["time_s"]), rows[number(event["node"])], rows[nulled])
        for event in frames
        for nulled in map(float, str(event.get("nulled") or "").split())
        if nulled in rows
    ]
    for at, row, nulled_row in nulls:
        axes.plot([at, at], [row, nulled_row], color="black", linewidth=0.5, marker="_", markevery=[1])
    if nulls:
        axes.plot([], [], color="black", linewidth=0.5, marker="_", label="nulls")
    defers = [event for event in panel.events if event["event"] == "defer"]
    for node, row in rows.items():
        spans = [_span(event) for event in defers if number(event["node"]) == node]
        axes.broken_barh(spans, (row + 0.3, 0.15), color="0.6", linewidth=0.0)
    if defers:
        axes.plot([], [], color="0.6", linewidth=1.5, label="defers")
    axes.set_yticks(range(len(nodes)), [f"{node:g}" for node in nodes])
    axes.set_ylim(len(nodes) - 0.5, -0.5)  # the first hop on top
    return max(panel.of("end_s"))


def _delays(axes: Axes, panel: Panel) -> float:
    """Draw the parts of each packet's delay by departure time; for many packets, means of intervals."""
    import numpy as np

    times = np.array(panel.of("time_s"))
    parts = 1e3 * np.array([panel.of(column) for column in PARTS])
    if len(times) > MOST_BARS:
        edges = np.linspace(times[0], times[-1], MOST_BARS + 1)
        place = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, MOST_BARS - 1)
        counts = np.maximum(np.bincount(place, minlength=MOST_BARS), 1)
        parts = np.array([np.bincount(place, weights=part, minlength=MOST_BARS) for part in parts]) / counts
        lefts, width = edges[:-1], float(edges[1] - edges[0])
    else:
        gaps = np.diff(times)
        width = 0.7 * float(np.median(gaps[gaps > 0.0])) if (gaps > 0.0).any() else 0.7
        lefts = times - width / 2.0
    low = np.zeros(len(lefts))
    for (color, words), part in zip(PARTS.values(), parts, strict=True):
        axes.bar(lefts, part, width, low, align="edge", color=color, linewidth=0.0, label=words)
        low = low + part
    axes.set_ylim(0.0, 1.05 * float(low.max()) or 1.0)
    return float(lefts[-1]) + width


def _span(event: Mapping[str, Cell]) -> tuple[float, float]:
    start = number(event["time_s"])
    return start, number(event["end_s"]) - start


def _color(index: int) -> Any:
    """Colour of a user: from the palette, then from the circle of hues."""
    if index < len(PALETTE):
        return PALETTE[index]
    from matplotlib.colors import hsv_to_rgb

    return tuple(hsv_to_rgb((0.618 * index % 1.0, 0.55, 0.85)))


def _legend(drawn: Figure, panels: Iterable[Axes]) -> None:
    """Draw one legend of marks and colours below all panels, so that it covers no data."""
    found: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    if 0 < len(found) <= MOST_IN_LEGEND:
        columns = min(len(found), 4 if drawn.get_figwidth() > 5.0 else 2)
        drawn.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)


PICTURES: dict[str, Callable[[Axes, Panel], float]] = {
    "frame": _frames,
    "queue": _queue,
    "slot": _slots,
    "air": _air,
    "delay": _delays,
}
