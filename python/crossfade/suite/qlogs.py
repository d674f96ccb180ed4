"""Qlog of a sender on the time axis of the link: congestion window above the link's deliveries and losses.

Both are drawn as SVG, for the page of a suite. The two clocks are matched at the first packet that the server
received, which is in the qlog and in the journal of the run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from crossfade import api
from crossfade.errors import ScenarioError
from crossfade.figures.choice import number
from crossfade.tables import Table

# Names of the congestion window in qlogs of several versions (draft-ietf-quic-qlog-quic-events).
WINDOWS = ("cwnd", "congestion_window")
WIDTH, HEIGHT, LEFT, GAP = 720, 110, 60, 26
EVERY_S = 0.05


@dataclass(frozen=True)
class Qlog:
    """Series of a qlog to draw: times in seconds of the qlog's clock, and congestion windows in bytes."""

    first_received_s: float
    window: Sequence[tuple[float, float]]


def read_qlog(path: Path) -> Qlog:
    """Read a qlog in JSON, or in a sequence of JSON texts; ``ScenarioError`` for other files."""
    first, window = math.nan, []
    for event in _events(path):
        time_s = float(event["time"]) / 1e3
        name = str(event.get("name", "")).rpartition(":")[2]
        data = event.get("data", {})
        if name in ("packet_received", "datagrams_received") and math.isnan(first):
            first = time_s
        found = (
            next((data[key] for key in WINDOWS if key in data), None) if name == "metrics_updated" else None
        )
        if found is not None:
            window.append((time_s, float(found)))
    if math.isnan(first) or not window:
        raise ScenarioError(f"{path}: a qlog without received packets and a congestion window")
    return Qlog(first, window)


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        if "\x1e" in text or path.suffix == ".sqlog":
            records = [json.loads(line) for line in text.replace("\x1e", "\n").splitlines() if line.strip()]
            yield from (record for record in records if "time" in record)
            return
        for trace in json.loads(text)["traces"]:
            yield from trace["events"]
    except (ValueError, KeyError, TypeError) as error:
        raise ScenarioError(f"{path}: no qlog ({error})") from None


def beside_link(qlog: Path, journal: Path) -> str:
    """Drawing of the congestion window, and below it of the link's goodput, losses and drops."""
    sender = read_qlog(qlog)
    events = Table.from_csv(api.journal_link_text(journal), str(journal)).records()
    packets = [(number(row["time_s"]), row) for row in events if row["event"] == "frame"]
    first = next((time_s for time_s, row in packets if row["link"] == "reverse"), None)
    forward = [(time_s, row["verdict"] == "good") for time_s, row in packets if row["link"] == "forward"]
    drops = [
        number(row["time_s"])
        for row in events
        if row["event"] == "queue" and row["link"] == "forward" and str(row["change"]).startswith("drop")
    ]
    if first is None or not forward:
        raise ScenarioError(f"{journal}: no packet went both ways")
    window = [(time_s - sender.first_received_s + first, value / 1e3) for time_s, value in sender.window]
    start, end = min(first, window[0][0]), max(forward[-1][0], window[-1][0])
    bad = [time_s for time_s, good in forward if not good]
    panels = [
        _panel("congestion window (kB), from the server's qlog", window, start, end, 0, []),
        _panel("packets through the link in 50 ms", _counts(forward), start, end, 1, [*bad, *drops]),
    ]
    whole = 2 * (HEIGHT + GAP) + 20
    label = "congestion window of the sender above the packets of the link, over the time of the link"
    ticks = "".join(
        f'<text x="{_x(at, start, end):.0f}" y="{whole - 4}" text-anchor="middle">{at:.3g} s</text>'
        for at in (start, (start + end) / 2.0, end)
    )
    return (
        f'<figure><svg width="{WIDTH}" height="{whole}" role="img" aria-label="{label}" font-size="11">'
        f"{''.join(panels)}{ticks}</svg><figcaption>Run of {escape(journal.parent.name)} over the time of "
        f"the link; red: {len(bad)} packets that the channel lost, {len(drops)} that the queue dropped."
        f"</figcaption></figure>\n"
    )


def _counts(forward: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    counts: dict[int, int] = {}
    for time_s, good in forward:
        counts[int(time_s / EVERY_S)] = counts.get(int(time_s / EVERY_S), 0) + good
    steps = range(min(counts), max(counts) + 1)
    return [((step + 0.5) * EVERY_S, float(counts.get(step, 0))) for step in steps]


def _x(at: float, start: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - 10) * (at - start) / max(end - start, 1e-9)


def _panel(
    title: str,
    curve: Sequence[tuple[float, float]],
    start: float,
    end: float,
    place: int,
    marks: Sequence[float],
) -> str:
    top = place * (HEIGHT + GAP) + GAP
    most = max(value for _, value in curve) or 1.0
    path = " ".join(
        f"{_x(time_s, start, end):.1f},{top + HEIGHT * (1.0 - value / most):.1f}" for time_s, value in curve
    )
    lines = "".join(
        f'<line x1="{_x(at, start, end):.1f}" x2="{_x(at, start, end):.1f}" y1="{top}" '
        f'y2="{top + HEIGHT}" stroke="#a11a1a" stroke-opacity="0.5"/>'
        for at in marks
    )
    return (
        f'<text x="{LEFT}" y="{top - 6}">{escape(title)}</text>'
        f'<text x="{LEFT - 4}" y="{top + 10}" text-anchor="end">{most:.3g}</text>'
        f'<text x="{LEFT - 4}" y="{top + HEIGHT}" text-anchor="end">0</text>'
        f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{top + HEIGHT}" y2="{top + HEIGHT}" stroke="#999"/>{lines}'
        f'<polyline points="{path}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>'
    )
