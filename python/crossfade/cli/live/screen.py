"""Option ``--watch``: moving plots in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.live import Live as Refreshed
from rich.text import Text

from crossfade.cli import terminal
from crossfade.cli.live import braille
from crossfade.cli.live.watching import WAYS, Frame, Seen

WINDOW_S = 20.0
DRAW_S = 0.25
COLORS = ("cyan", "yellow", "magenta", "green", "red", "blue")
# Columns left of a plot, for the labels of its vertical axis and a separator.
MARGIN = 9
# Largest number of sockets with a line below the plots.
MOST_SOCKETS = len(COLORS)


class Screen:
    """The terminal's alternate screen during a run."""

    def __init__(self) -> None:
        self._console = terminal.console(stderr=True)
        self._refreshed = Refreshed(
            console=self._console, screen=True, auto_refresh=False, redirect_stdout=False
        )
        self._refreshed.start()
        self._drawn_s = float("-inf")

    def show(self, seen: Seen) -> None:
        """Draw the latest frames, at most every ``DRAW_S`` seconds."""
        frames, _ = seen.frames()
        if not frames or frames[-1].time_s < self._drawn_s + DRAW_S:
            return
        self._drawn_s = frames[-1].time_s
        width, height = self._console.size
        self._refreshed.update(as_one(picture(frames, width, height)), refresh=True)

    def close(self) -> None:
        """Return the terminal to its normal state."""
        self._refreshed.stop()

    def resume(self) -> None:
        """Take the terminal again after :meth:`close`."""
        self._refreshed.start(refresh=True)


def as_one(lines: Sequence[Text]) -> Text:
    """Join lines, each cut at the width, since a wrapped line would tear the plots."""
    return Text("\n", no_wrap=True, overflow="crop", end="").join(lines)


def picture(frames: Sequence[Frame], width: int, height: int) -> list[Text]:
    """Lines for a screen of this size."""
    now = frames[-1].time_s
    seen = (max(0.0, now - WINDOW_S), max(now, WINDOW_S))
    frames = [frame for frame in frames if frame.time_s >= seen[0]]
    names = list(dict.fromkeys(name for frame in frames for name in frame.sockets))[-MOST_SOCKETS:]

    def of_sockets(key: str, factor: float) -> list[braille.Curve]:
        return [
            [(f.time_s, factor * f.sockets[name][key]) for f in frames if name in f.sockets] for name in names
        ]

    def of_ways(key: str, factor: float) -> list[braille.Curve]:
        return [[(f.time_s, factor * f.ways[way][key]) for f in frames] for way in range(len(WAYS))]

    below = [_of_way(frames[-1], way) for way in range(len(WAYS))]
    below += [_of_socket(name, frames, COLORS[number]) for number, name in enumerate(names)]
    plots: list[tuple[str, list[braille.Curve]]] = [
        ("through the link (Mbit/s)", of_ways("rate_bps", 1e-6)),
        ("congestion window (segments)", of_sockets("cwnd", 1.0)),
        ("smoothed RTT (ms)", of_sockets("srtt_s", 1e3)),
    ]
    # Each plot has a title line, and a line of times ends the plots; last plots without room are left out.
    room = height - len(below) - 2
    plots = plots[: max(1, room // 4)]
    rows = max(2, room // len(plots) - 1)
    lines: list[Text] = []
    for title, curves in plots:
        lines += _plot(title, curves, width, rows, seen)
    ends = f"{'':{MARGIN}}{seen[0]:.0f} s"
    lines.append(Text(f"{ends}{f'{seen[1]:.0f} s':>{max(1, width - len(ends) - 1)}}", "dim"))
    return [*lines, *below][: max(1, height - 1)]


def _plot(
    title: str, curves: Sequence[braille.Curve], width: int, rows: int, seen: tuple[float, float]
) -> list[Text]:
    top = braille.nice_top(max((y for curve in curves for _, y in curve), default=0.0))
    lines = [Text(f"{'':{MARGIN}}{title}", "bold")]
    drawn = braille.plot(curves, max(10, width - MARGIN - 1), rows, seen, top)
    for row, cells in enumerate(drawn):
        value = f"{top:g}" if row == 0 else "0" if row == rows - 1 else ""
        line = Text().append(f"{value:>{MARGIN - 2}} \N{BOX DRAWINGS LIGHT VERTICAL}", "dim")
        for number, run in groupby(cells, lambda cell: cell[1]):
            color = None if number is None else COLORS[number % len(COLORS)]
            line.append("".join(character for character, _ in run), color)
        lines.append(line)
    return lines


def _of_way(frame: Frame, way: int) -> Text:
    found = frame.ways[way]
    words = f"{WAYS[way]}: {found['rate_bps'] / 1e6:.2f} Mbit/s, {found['inside']} inside"
    return Text(f"{words}, {found['lost']} lost, {found['dropped']} dropped", COLORS[way])


def _of_socket(name: str, frames: Sequence[Frame], color: str) -> Text:
    found = next(frame.sockets[name] for frame in reversed(frames) if name in frame.sockets)
    words = f"{name} {found['congestion']}: cwnd {found['cwnd']}, {found['srtt_s'] * 1e3:.1f} ms"
    words += f", {found['delivery_rate_bps'] / 1e6:.2f} Mbit/s, {found['retransmissions']} retransmitted"
    return Text(words, color)
